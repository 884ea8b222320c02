import { Duration, Names } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import {
  type CorsPreflightOptions,
  type DomainMappingOptions,
  HttpApi,
  HttpMethod,
  HttpStage,
  LogGroupLogDestination,
  type ThrottleSettings,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpIamAuthorizer, HttpJwtAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import type { Problem } from '../statemachines/language/problems.ts';
import { type FunctionSettings, logsOf } from './functions.ts';

/** One HTTP API before the function; named as in CDK's `HttpApiProps` and `HttpStageProps`. */
export interface HttpFrontProps {
  /** Of the whole API. Default: 100 requests a second, 200 at once. */
  readonly throttle?: ThrottleSettings;
  /** Default: none; no page of another origin may call. */
  readonly corsPreflight?: CorsPreflightOptions;
  /** A domain of your own, or one below it: without `mappingKey`, since links begin with `/v1/`. */
  readonly defaultDomainMapping?: DomainMappingOptions;
  /** Default `false`. With a domain of your own: whether that is the only way in. */
  readonly disableExecuteApiEndpoint?: boolean;
}

/** The API for people: tokens of an OpenID Connect issuer, checked by the gateway. */
export interface JwtFrontProps extends HttpFrontProps {
  /** The `iss` of the tokens, where the issuer's keys are found. */
  readonly issuer: string;
  /** Client ids whose tokens are taken (`aud`, or `client_id`). */
  readonly audience: string[];
  /** The claim that names the caller's one tenant. Default `tenant`. It MUST NOT be one that users write. */
  readonly tenantClaim?: string;
  /** The claim that lists roles; words that are no roles of ours are passed over. Default `roles`. */
  readonly rolesClaim?: string;
  /** Scopes of which a token needs one. Default: none are asked for. */
  readonly authorizationScopes?: string[];
}

export interface FrontParts {
  readonly fn: IFunction;
  readonly settings: FunctionSettings;
}

/** For services and agents: requests signed with IAM credentials. */
export function iamFront(scope: Construct, parts: FrontParts, props: HttpFrontProps): HttpApi {
  const api = new HttpApi(scope, 'Api', {
    ...common(scope, props),
    description: 'Sagas, for callers with IAM credentials',
    defaultAuthorizer: new HttpIamAuthorizer(),
  });
  serve(scope, api, parts, props, { caller: '$context.identity.userArn' });
  return api;
}

/** For people: requests with a token in the header `Authorization`, and nowhere else. */
export function jwtFront(scope: Construct, parts: FrontParts, props: JwtFrontProps): HttpApi {
  const { issuer, audience, authorizationScopes } = props;
  const api = new HttpApi(scope, 'Api', {
    ...common(scope, props),
    description: 'Sagas, for callers with a token',
    defaultAuthorizer: new HttpJwtAuthorizer('Authorizer', issuer, { jwtAudience: audience }),
    ...(authorizationScopes === undefined
      ? {}
      : { defaultAuthorizationScopes: authorizationScopes }),
  });
  serve(scope, api, parts, props, { caller: '$context.authorizer.claims.sub' });
  return api;
}

/** Below a path of its domain an API would answer with links that lead elsewhere. */
export function mappingProblems(place: string, props: HttpFrontProps): Problem[] {
  const { mappingKey = '' } = props.defaultDomainMapping ?? {};
  if (mappingKey === '') return [];
  return [
    {
      place,
      problem: `its \`defaultDomainMapping\` has the mapping key ${JSON.stringify(mappingKey)}, and every path and link of the API begins at the domain's root, with /v1/`,
      remedy: 'Leave out `mappingKey`, and give the API a domain name of its own',
    },
  ];
}

function common(scope: Construct, { corsPreflight, disableExecuteApiEndpoint }: HttpFrontProps) {
  return {
    apiName: Names.uniqueResourceName(scope, { maxLength: MAX_API_NAME, separator: '-' }),
    // The stage is made below, with what the default one lacks.
    createDefaultStage: false,
    disableExecuteApiEndpoint: disableExecuteApiEndpoint ?? false,
    ...(corsPreflight === undefined ? {} : { corsPreflight }),
  };
}

const MAX_API_NAME = 128;

/** The longest there is. The function's own timeout is shorter, so that the answer is always ours. */
const INTEGRATION_TIMEOUT = Duration.seconds(29);

const THROTTLE: ThrottleSettings = { rateLimit: 100, burstLimit: 200 };

function serve(
  scope: Construct,
  api: HttpApi,
  { fn, settings }: FrontParts,
  { throttle, defaultDomainMapping }: HttpFrontProps,
  caller: Readonly<Record<string, string>>,
): void {
  const integration = new HttpLambdaIntegration('Function', fn, {
    scopePermissionToRoute: false,
    timeout: INTEGRATION_TIMEOUT,
  });
  // No route takes OPTIONS: the gateway itself answers preflights, without asking who calls.
  const methods = [HttpMethod.GET, HttpMethod.POST];
  api.addRoutes({ path: '/v1/{proxy+}', methods, integration });
  api.addRoutes({ path: '/openapi.json', methods: [HttpMethod.GET], integration });
  const logGroup = new LogGroup(scope, 'AccessLogs', {
    ...logsOf(settings),
    removalPolicy: settings.removalPolicy,
  });
  new HttpStage(scope, 'Stage', {
    httpApi: api,
    stageName: '$default',
    autoDeploy: true,
    throttle: throttle ?? THROTTLE,
    ...(defaultDomainMapping === undefined ? {} : { domainMapping: defaultDomainMapping }),
    accessLogSettings: {
      destination: new LogGroupLogDestination(logGroup),
      format: AccessLogFormat.custom(JSON.stringify({ ...LOGGED, ...caller })),
    },
  });
}

/**
 * Nothing that callers write freely: headers and queries may hold secrets, and a path could break the
 * line. The function's own log has the rest under the same `requestId`.
 */
const LOGGED = {
  requestId: '$context.requestId',
  time: '$context.requestTimeEpoch',
  api: '$context.apiId',
  routeKey: '$context.routeKey',
  status: '$context.status',
  error: '$context.error.message',
  authorizerError: '$context.authorizer.error',
  integrationStatus: '$context.integration.status',
  latencyMs: '$context.responseLatency',
  integrationLatencyMs: '$context.integrationLatency',
  bytes: '$context.responseLength',
  sourceIp: '$context.identity.sourceIp',
} as const;
