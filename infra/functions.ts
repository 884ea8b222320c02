import { type Duration, RemovalPolicies, RemovalPolicy } from 'aws-cdk-lib';
import {
  ManagedPolicy,
  PolicyDocument,
  PolicyStatement,
  Role,
  ServicePrincipal,
} from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import {
  Architecture,
  CfnFunction,
  LoggingFormat,
  Runtime,
  SystemLogLevel,
  Tracing,
} from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction, type NodejsFunctionProps } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { PLANE_VARIABLE, TABLE_VARIABLES } from '../statemachines/asl/environment.ts';
import { accept, wildcard } from './accept.ts';
import { bundlerProblems, bundlingWith, entryProblems } from './bundling.ts';
import { refuse } from './problems.ts';
import type { SagaTables } from './tables.ts';

/**
 * As in CDK's own `NodejsFunctionProps`, but for what a plane decides itself: entry and timeout,
 * role, log group and versions. Logs are JSON by default, and of Lambda's own lines only those that
 * tell of trouble are kept (`systemLogLevelV2`).
 */
export type SagaFunctionProps = Omit<
  NodejsFunctionProps,
  | 'applicationLogLevel'
  | 'code'
  | 'currentVersionOptions'
  | 'entry'
  | 'initialPolicy'
  | 'logFormat'
  | 'logGroup'
  | 'logRetention'
  | 'role'
  | 'systemLogLevel'
  | 'timeout'
>;

/** What all functions of a plane share. */
export interface FunctionSettings {
  /** The plane's name in its metrics. */
  readonly plane: string;
  readonly tables: SagaTables;
  readonly removalPolicy: RemovalPolicy;
  readonly logRetention: RetentionDays;
  readonly logEncryptionKey: IKey | undefined;
  readonly defaults: SagaFunctionProps;
}

export interface FunctionOptions {
  /** Names the function in its log lines. */
  readonly service: string;
  /** For messages: `tool "reserve-stock"`. */
  readonly place: string;
  /** Any text; what IAM or Lambda would not take is left out or replaced. */
  readonly description: string;
  readonly timeout: Duration;
  /** One line that the entry file should hold, for the message where it is missing. */
  readonly entryContent: string;
  readonly props: SagaFunctionProps & { readonly entry: string };
}

/** One Lambda function with a role of its own, a log group of its own, and retained versions. */
export function sagaFunction(
  scope: Construct,
  settings: FunctionSettings,
  options: FunctionOptions,
): NodejsFunction {
  const { place, props } = options;
  const given = { ...settings.defaults, ...props };
  const bundling = bundlingWith(settings.defaults.bundling, props.bundling);
  refuse([
    ...entryProblems(place, props.entry, options.entryContent),
    ...bundlerProblems(place, bundling),
  ]);
  const tracing = given.tracing ?? Tracing.ACTIVE;
  const traced = tracing !== Tracing.DISABLED;
  const logGroup = new LogGroup(scope, 'Logs', logsOf(settings));
  const role = new Role(scope, 'Role', {
    assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
    description: roleDescription(options.description),
    ...(traced ? { inlinePolicies: { Trace: tracePolicy() } } : {}),
  });
  // Accepted for this policy alone: what a user grants on every resource is still found.
  if (traced && role.node.defaultChild) {
    accept(role.node.defaultChild, {
      [wildcard(scope, '*')]: 'X-Ray knows no resources of its own; these two actions only send',
    });
  }
  logGroup.grantWrite(role);
  if (given.vpc !== undefined) {
    role.addManagedPolicy(
      ManagedPolicy.fromAwsManagedPolicyName('service-role/AWSLambdaVPCAccessExecutionRole'),
    );
  }
  const { tables } = settings;
  const fn = new NodejsFunction(scope, 'Function', {
    runtime: Runtime.NODEJS_24_X,
    architecture: Architecture.ARM_64,
    memorySize: 512,
    timeout: options.timeout,
    description: cut(options.description, MAX_FUNCTION_DESCRIPTION),
    ...logging(given),
    ...given,
    // Set below: here it would add its grant to the policy that is the user's too.
    tracing: Tracing.DISABLED,
    bundling,
    environment: {
      NODE_OPTIONS: '--enable-source-maps',
      POWERTOOLS_SERVICE_NAME: options.service,
      ...settings.defaults.environment,
      ...props.environment,
      [PLANE_VARIABLE]: settings.plane,
      [TABLE_VARIABLES.ledger]: tables.ledger.tableName,
      [TABLE_VARIABLES.payloads]: tables.payloads.tableName,
      [TABLE_VARIABLES.coordination]: tables.coordination.tableName,
    },
    role,
    logGroup,
    currentVersionOptions: { removalPolicy: KEPT },
  });
  const resource = fn.node.defaultChild;
  if (traced && resource instanceof CfnFunction) resource.tracingConfig = { mode: tracing };
  keep(scope, settings.removalPolicy);
  return fn;
}

/** How long logs are kept, and by which key. */
export function logsOf({
  logRetention,
  logEncryptionKey,
}: Pick<FunctionSettings, 'logRetention' | 'logEncryptionKey'>) {
  return {
    retention: logRetention,
    ...(logEncryptionKey === undefined ? {} : { encryptionKey: logEncryptionKey }),
  };
}

/** Limits of Lambda and IAM, in UTF-16 units. */
const MAX_FUNCTION_DESCRIPTION = 256;
const MAX_ROLE_DESCRIPTION = 1_000;

/** IAM takes Latin-1 only, and would refuse the whole deployment for one typographic quote. */
function roleDescription(text: string): string {
  return cut(text.replace(/[^\t\n\r\x20-\x7e\xa1-\xff]/gu, '?'), MAX_ROLE_DESCRIPTION);
}

/** Never between the two halves of one character. */
function cut(text: string, most: number): string {
  return text.slice(0, most).replace(/[\ud800-\udbff]$/, '');
}

/**
 * Each invocation starts and ends, and metrics count both: two lines of Lambda's about it would be most of
 * what a function logs. What ends badly is told at level WARN.
 */
function logging({ loggingFormat = LoggingFormat.JSON }: SagaFunctionProps): SagaFunctionProps {
  if (loggingFormat !== LoggingFormat.JSON) return {};
  return { loggingFormat, systemLogLevelV2: SystemLogLevel.WARN };
}

function tracePolicy(): PolicyDocument {
  const actions = ['xray:PutTraceSegments', 'xray:PutTelemetryRecords'];
  return new PolicyDocument({
    statements: [new PolicyStatement({ sid: 'Trace', actions, resources: ['*'] })],
  });
}

/**
 * Retained, unless the deployment that made it is rolled back. Plain `RETAIN` would then leave
 * names and versions behind that stop the next deployment ("a version for this function exists").
 */
export const KEPT = RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE;

/** Published, then pinned by machine versions and ledgers: kept whatever becomes of the rest. */
const VERSIONS = ['AWS::Lambda::Version', 'AWS::StepFunctions::StateMachineVersion'];

/** A function or machine that leaves the app stays deployed by default: open sagas run on it. */
export function keep(scope: Construct, removalPolicy: RemovalPolicy): void {
  const policy = removalPolicy === RemovalPolicy.DESTROY ? removalPolicy : KEPT;
  RemovalPolicies.of(scope).apply(policy, { excludeResourceTypes: VERSIONS });
}
