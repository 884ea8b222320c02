import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import {
  HttpApi,
  HttpMethod,
  HttpStage,
  LogGroupLogDestination,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpIamAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { AttributeType, BillingMode, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import { type IRole, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Architecture, LoggingFormat, Runtime, SystemLogLevel } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { accept, wildcard } from './accept.ts';
import { BUNDLING } from './bundling.ts';

export interface ExamplePartnersProps {
  /** The file whose `handler` serves all partner systems. */
  readonly entry: string;
  /** What their callers may use, such as `/stock/reservations`: each with all that is below it. */
  readonly collections: readonly string[];
  /** Of each system that can be watched, such as `/stock/records`. */
  readonly records: readonly string[];
  /** Default: the API's own address. `{id}` stands for the API's id where another is given. */
  readonly address?: string;
}

/** A use of the partner systems by one tool: `GET` to ask, `POST` to change something. */
export interface PartnerUse {
  readonly collection: string;
  readonly methods: readonly ('GET' | 'POST')[];
}

const STAGE = '$default';

/** The longest that the function lets a call wait, and then some. Below what a gateway waits. */
const TIMEOUT = Duration.seconds(25);
const INTEGRATION_TIMEOUT = Duration.seconds(28);

/**
 * The outside systems of the examples as one function with its table, behind an HTTP API that takes
 * signed requests only. They are no part of a plane: they stand for systems of others. Who uses them, who
 * watches them and who breaks them is granted path by path.
 */
export class ExamplePartners extends Construct {
  readonly table: Table;
  readonly function: NodejsFunction;
  readonly api: HttpApi;
  /** Without a slash at its end. */
  readonly url: string;
  readonly #records: readonly string[];

  constructor(scope: Construct, id: string, props: ExamplePartnersProps) {
    super(scope, id);
    this.#records = props.records;
    this.table = new Table(this, 'Table', {
      partitionKey: { name: 'pk', type: AttributeType.STRING },
      sortKey: { name: 'sk', type: AttributeType.NUMBER },
      billingMode: BillingMode.PAY_PER_REQUEST,
      encryption: TableEncryption.AWS_MANAGED,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      removalPolicy: RemovalPolicy.RETAIN,
      deletionProtection: true,
    });
    this.function = this.#function(props.entry);
    this.api = this.#api(props);
    this.url = props.address?.replace('{id}', this.api.apiId) ?? this.api.apiEndpoint;
  }

  /** Lets a tool use what is below these collections. Faults are below none. */
  grantUse(role: IRole, uses: readonly PartnerUse[]): void {
    const calls = uses.flatMap(({ collection, methods }) =>
      methods.map((method) => this.#arn(method, `${collection}*`)),
    );
    grant(role, 'UsePartners', calls);
    const why = 'below a collection are its members, whose ids are not known before';
    accept(role, Object.fromEntries(calls.map((arn) => [wildcard(this, arn), why])));
  }

  /** Lets somebody see all records, and switch faults on and off. Never for what serves sagas. */
  grantAdmin(role: IRole): void {
    const seen = ['/health', '/faults', ...this.#records];
    grant(role, 'AdministerPartners', [
      ...seen.map((path) => this.#arn('GET', path)),
      this.#arn('POST', '/faults'),
      this.#arn('DELETE', '/faults'),
    ]);
  }

  #arn(method: string, path: string): string {
    return this.api.arnForExecuteApi(method, path, STAGE);
  }

  #function(entry: string): NodejsFunction {
    const logGroup = new LogGroup(this, 'Logs', { retention: RetentionDays.ONE_MONTH });
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      description: 'The partner systems of the examples',
    });
    logGroup.grantWrite(role);
    role.addToPolicy(
      new PolicyStatement({
        sid: 'Journal',
        actions: ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:Query'],
        resources: [this.table.tableArn],
      }),
    );
    return new NodejsFunction(this, 'Function', {
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      memorySize: 512,
      timeout: TIMEOUT,
      description: 'The partner systems of the examples',
      entry,
      bundling: BUNDLING,
      environment: { NODE_OPTIONS: '--enable-source-maps', PARTNERS_TABLE: this.table.tableName },
      role,
      logGroup,
      loggingFormat: LoggingFormat.JSON,
      systemLogLevelV2: SystemLogLevel.WARN,
    });
  }

  #api({ collections, records }: ExamplePartnersProps): HttpApi {
    const api = new HttpApi(this, 'Api', {
      description: 'The partner systems of the examples, for signed requests',
      createDefaultStage: false,
      defaultAuthorizer: new HttpIamAuthorizer(),
    });
    const integration = new HttpLambdaIntegration('Function', this.function, {
      scopePermissionToRoute: false,
      timeout: INTEGRATION_TIMEOUT,
    });
    for (const path of collections) {
      const methods = [HttpMethod.GET, HttpMethod.POST];
      api.addRoutes({ path, methods, integration });
      api.addRoutes({ path: `${path}/{proxy+}`, methods, integration });
    }
    for (const path of ['/health', ...records]) {
      api.addRoutes({ path, methods: [HttpMethod.GET], integration });
    }
    const methods = [HttpMethod.GET, HttpMethod.POST, HttpMethod.DELETE];
    api.addRoutes({ path: '/faults', methods, integration });
    const logGroup = new LogGroup(this, 'AccessLogs', { retention: RetentionDays.ONE_MONTH });
    new HttpStage(this, 'Stage', {
      httpApi: api,
      stageName: STAGE,
      autoDeploy: true,
      throttle: { rateLimit: 100, burstLimit: 200 },
      accessLogSettings: {
        destination: new LogGroupLogDestination(logGroup),
        format: AccessLogFormat.custom(JSON.stringify(LOGGED)),
      },
    });
    return api;
  }
}

function grant(role: IRole, sid: string, resources: string[]): void {
  role.addToPrincipalPolicy(
    new PolicyStatement({ sid, actions: ['execute-api:Invoke'], resources }),
  );
}

/** Nothing that callers write freely. */
const LOGGED = {
  requestId: '$context.requestId',
  time: '$context.requestTimeEpoch',
  routeKey: '$context.routeKey',
  status: '$context.status',
  error: '$context.error.message',
  caller: '$context.identity.userArn',
  latencyMs: '$context.responseLatency',
} as const;
