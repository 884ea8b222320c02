import { type RemovalPolicy, Stack } from 'aws-cdk-lib';
import {
  type IRole,
  PolicyDocument,
  PolicyStatement,
  Role,
  ServicePrincipal,
} from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import {
  CfnStateMachine,
  CfnStateMachineVersion,
  type IStateMachine,
  LogLevel,
  StateMachine,
} from 'aws-cdk-lib/aws-stepfunctions';
import { Construct } from 'constructs';
import { machineName } from '../statemachines/asl/machine-name.ts';
import type { AnySaga } from '../statemachines/language/saga.ts';
import { sha256Hex } from '../statemachines/ledger/hash.ts';
import type { SagaPlan } from '../statemachines/plan/plan.ts';
import { accept, wildcard } from './accept.ts';
import { KEPT, keep, logsOf } from './functions.ts';
import { machineArn } from './grants.ts';
import { deployedDefinition } from './machine.ts';

export interface SagaOptions {
  /**
   * What the machine writes to its log group. Default `ERROR`: the ledger says what happened. `ALL` tells
   * each step of an Express execution, which keeps no history; it can cost half as much as all the rest.
   */
  readonly logLevel?: LogLevel;
  /** Default `true`. */
  readonly tracingEnabled?: boolean;
  /**
   * Default: one that the construct makes, and keeps for the machine versions that were published with it.
   * A role of your own MUST go on calling every version of every function that the saga ever used.
   */
  readonly role?: IRole;
}

/** What a plane adds to the options. */
export interface SagaProps extends SagaOptions {
  readonly definition: AnySaga;
  readonly machinePrefix: string;
  readonly removalPolicy: RemovalPolicy;
  readonly logRetention: RetentionDays;
  readonly logEncryptionKey: IKey | undefined;
  readonly ledgerFunction: LambdaFunction;
  /** By name of the tool: those the definition uses. */
  readonly toolFunctions: ReadonlyMap<string, LambdaFunction>;
}

/**
 * The state machine of one saga definition, and its current version. Everything here carries the
 * saga's type in its id: with another type a new machine is made beside this one, which stays.
 */
export class Saga extends Construct {
  readonly definition: AnySaga;
  readonly stateMachine: IStateMachine;
  /**
   * What new sagas start with. Older ones go on with the versions that their ledgers name. Absent only
   * on a stand-in for AWS that has no versions (context {@link NO_VERSIONS}).
   */
  readonly version: CfnStateMachineVersion | undefined;

  constructor(scope: Construct, id: string, props: SagaProps) {
    super(scope, id);
    const { plan } = props.definition;
    const kind = new Construct(this, plan.sagaType === 'EXPRESS' ? 'Express' : 'Standard');
    const machine = stateMachine(kind, props);
    this.definition = props.definition;
    this.stateMachine = StateMachine.fromStateMachineArn(kind, 'StateMachine', machine.attrArn);
    this.version = unversioned(this) ? undefined : published(kind, machine, plan);
    keep(kind, props.removalPolicy);
  }

  /** The ARN that event 1 of a new saga names as its machine. */
  get versionArn(): string {
    return this.version?.attrArn ?? this.stateMachine.stateMachineArn;
  }
}

/**
 * Set to `none` for stand-ins whose CloudFormation lacks `AWS::StepFunctions::StateMachineVersion`
 * (LocalStack). Sagas there run on what their machine is today: MUST NOT be set for AWS, where it would
 * take away the pinning of sagas to the code they began with.
 */
export const NO_VERSIONS = 'counterstep:machineVersions';

function unversioned(scope: Construct): boolean {
  return scope.node.tryGetContext(NO_VERSIONS) === 'none';
}

function published(
  scope: Construct,
  machine: CfnStateMachine,
  plan: SagaPlan,
): CfnStateMachineVersion {
  const version = new CfnStateMachineVersion(scope, 'Version', {
    stateMachineArn: machine.attrArn,
    // Another revision, another version; the one before is retained.
    stateMachineRevisionId: machine.attrStateMachineRevisionId,
    description: `plan ${plan.digest}`,
  });
  version.applyRemovalPolicy(KEPT);
  return version;
}

function stateMachine(scope: Construct, props: SagaProps): CfnStateMachine {
  const { plan } = props.definition;
  const name = machineName(props.machinePrefix, plan.name, plan.sagaType);
  const logGroup = new LogGroup(scope, 'Logs', {
    // Under this prefix the account's log policy stays one line, however many machines there are.
    logGroupName: `/aws/vendedlogs/states/${name}`,
    ...logsOf(props),
  });
  const machine = new CfnStateMachine(scope, 'Machine', {
    stateMachineName: name,
    stateMachineType: plan.sagaType,
    roleArn: (props.role ?? machineRole(scope, props)).roleArn,
    ...deployedDefinition(plan, {
      ledger: props.ledgerFunction.currentVersion,
      tool: (tool) => props.toolFunctions.get(tool)?.currentVersion,
    }),
    tracingConfiguration: { enabled: props.tracingEnabled ?? true },
    loggingConfiguration: {
      level: props.logLevel ?? LogLevel.ERROR,
      // Ids and one time: there is nothing personal in it.
      includeExecutionData: true,
      destinations: [{ cloudWatchLogsLogGroup: { logGroupArn: logGroup.logGroupArn } }],
    },
  });
  accept(machine, {
    'AwsSolutions-SF1': 'the ledger says what happened, and a failure is logged',
  });
  return machine;
}

/**
 * May call exactly the saga's functions, in every version: a machine version calls the versions of
 * its day, with the role of its day. So another set of tools is another role, and the one before is
 * retained: a saga that began with a tool which the definition uses no longer still calls and undoes it.
 * Policies are part of the role, so that they are retained with it.
 */
function machineRole(scope: Construct, props: SagaProps): Role {
  const functions = [props.ledgerFunction, ...props.toolFunctions.values()];
  const invoked = functions.map((fn) => `${fn.functionArn}:*`);
  const statements = [
    new PolicyStatement({
      sid: 'Invoke',
      actions: ['lambda:InvokeFunction'],
      resources: invoked,
    }),
    // Neither log delivery nor tracing knows resources of its own.
    new PolicyStatement({ sid: 'Logs', actions: LOG_DELIVERY, resources: ['*'] }),
  ];
  if (props.tracingEnabled ?? true) {
    statements.push(new PolicyStatement({ sid: 'Trace', actions: TRACING, resources: ['*'] }));
  }
  const role = new Role(scope, `Role${toolSet(props)}`, {
    description: `State machine of saga ${props.definition.name}`,
    assumedBy: new ServicePrincipal('states.amazonaws.com', {
      conditions: {
        StringEquals: { 'aws:SourceAccount': Stack.of(scope).account },
        ArnLike: { 'aws:SourceArn': machineArn(scope, '*') },
      },
    }),
    inlinePolicies: { Machine: new PolicyDocument({ statements }) },
  });
  accept(role, {
    [wildcard(scope, '*')]: 'neither log delivery nor X-Ray knows resources of its own',
    ...Object.fromEntries(
      invoked.map((arn) => [
        wildcard(scope, arn),
        'a machine version calls the versions of its day',
      ]),
    ),
  });
  return role;
}

const SET_DIGITS = 8;

function toolSet({ toolFunctions }: SagaProps): string {
  return sha256Hex([...toolFunctions.keys()].sort().join(' ')).slice(0, SET_DIGITS);
}

const LOG_DELIVERY = [
  'logs:CreateLogDelivery',
  'logs:GetLogDelivery',
  'logs:UpdateLogDelivery',
  'logs:DeleteLogDelivery',
  'logs:ListLogDeliveries',
  'logs:PutResourcePolicy',
  'logs:DescribeResourcePolicies',
  'logs:DescribeLogGroups',
];

const TRACING = [
  'xray:PutTraceSegments',
  'xray:PutTelemetryRecords',
  'xray:GetSamplingRules',
  'xray:GetSamplingTargets',
];
