import { AwsClient } from 'aws4fetch';
import { CliError } from './cli-error.ts';

/** Makes the request as it is sent: with what says who sends it. @throws CliError */
export type Authorise = (url: string, init: RequestInit) => Request | Promise<Request>;

export interface Environment {
  readonly [name: string]: string | undefined;
}

/**
 * How requests say who sends them: signed with AWS credentials (`--sigv4`, `COUNTERSTEP_AUTH=iam`, or a
 * host of API Gateway without a token beside it), with a bearer token, or not at all. Neither key nor
 * token is ever printed.
 */
export function authoriserOf(
  endpoint: string,
  env: Environment,
  sigv4: boolean | undefined,
): Authorise {
  const host = URL.canParse(endpoint) ? new URL(endpoint).hostname : '';
  const gatewayRegion = GATEWAY.exec(host)?.[1];
  const token = env.COUNTERSTEP_TOKEN || undefined;
  if (sigv4 === true || asked(env) || (token === undefined && gatewayRegion !== undefined)) {
    return signed(env, gatewayRegion);
  }
  if (token === undefined) return (url, init) => new Request(url, init);
  return (url, init) => {
    const request = new Request(url, init);
    request.headers.set('authorization', `Bearer ${token}`);
    return request;
  };
}

const GATEWAY = /\.execute-api\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$/;

function asked({ COUNTERSTEP_AUTH: auth = '' }: Environment): boolean {
  if (auth === '' || auth === 'iam') return auth === 'iam';
  throw new CliError(
    `COUNTERSTEP_AUTH is "${auth}"`,
    'set it to "iam" to have requests signed, or leave it out',
  );
}

/** What is missing is said when a request is to be sent: some commands send none. */
function signed(env: Environment, gatewayRegion: string | undefined): Authorise {
  let client: AwsClient | undefined;
  return (url, init) => {
    client ??= clientOf(env, gatewayRegion);
    return client.sign(url, init);
  };
}

function clientOf(env: Environment, gatewayRegion: string | undefined): AwsClient {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = env;
  if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) {
    throw new CliError(
      'requests to this endpoint are signed, and the environment holds no AWS credentials',
      'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY ("aws configure export-credentials --format env" prints them), or for an API that takes tokens COUNTERSTEP_TOKEN',
    );
  }
  const region = gatewayRegion ?? (env.AWS_REGION || env.AWS_DEFAULT_REGION);
  if (!region) {
    throw new CliError(
      'requests to this endpoint are signed, and its name does not say for which region',
      'set AWS_REGION to the region of the API',
    );
  }
  return new AwsClient({
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    ...(AWS_SESSION_TOKEN ? { sessionToken: AWS_SESSION_TOKEN } : {}),
    service: 'execute-api',
    region,
  });
}
