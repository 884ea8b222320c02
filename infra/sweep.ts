import { Duration } from 'aws-cdk-lib';
import { Rule, Schedule } from 'aws-cdk-lib/aws-events';
import { LambdaFunction as LambdaTarget } from 'aws-cdk-lib/aws-events-targets';
import { SqsDestination } from 'aws-cdk-lib/aws-lambda-destinations';
import type { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import { type IQueue, Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { COMPENSATED, INCIDENT } from '../statemachines/asl/error-names.ts';
import { accept } from './accept.ts';
import { ownEntry } from './bundling.ts';
import { type FunctionSettings, type SagaFunctionProps, sagaFunction } from './functions.ts';
import {
  grantAppend,
  grantCensus,
  grantDrives,
  grantGivingBack,
  grantRegistry,
  machineArn,
} from './grants.ts';

export interface SweepOptions {
  /** Of the function, beside what the plane gives all its functions. */
  readonly functionProps?: SagaFunctionProps;
  /** Where calls end that failed or were never delivered. Default: a queue that keeps them for 14 days. */
  readonly deadLetterQueue?: IQueue;
}

/** What a plane adds to the options. */
export interface SweepProps extends SweepOptions {
  readonly settings: FunctionSettings;
  readonly machinePrefix: string;
}

/** Finds, each minute, every saga that somebody must look at, and counts those that are open. */
export class Sweep extends Construct {
  readonly fn: NodejsFunction;
  /** Where calls end that failed or were never delivered. The next minute's pass does their work. */
  readonly undelivered: IQueue;

  constructor(scope: Construct, id: string, props: SweepProps) {
    super(scope, id);
    const { settings, machinePrefix } = props;
    const { ledger, coordination } = settings.tables;
    this.undelivered = props.deadLetterQueue ?? undeliveredCalls(this);
    this.fn = sagaFunction(this, settings, {
      service: 'sweep',
      place: 'the sweep',
      description: 'Finds sagas that are due, and grants their next drive',
      timeout: SWEEP_TIMEOUT,
      entryContent: 'export const handler = sweepHandler()',
      props: {
        ...props.functionProps,
        entry: ownEntry('lambdas/sweep/sweep.lambda'),
        // The next minute's sweep does all that this one did not.
        retryAttempts: 0,
        maxEventAge: Duration.minutes(1),
        onFailure: new SqsDestination(this.undelivered),
      },
    });
    grantAppend(this.fn, ledger);
    grantRegistry(this.fn, coordination, { read: true });
    grantCensus(this.fn, coordination);
    grantGivingBack(this.fn, coordination);
    grantDrives(this.fn, this, machinePrefix);
    const target = new LambdaTarget(this.fn, {
      deadLetterQueue: this.undelivered,
      retryAttempts: 0,
      maxEventAge: Duration.minutes(1),
    });
    new Rule(this, 'EachMinute', {
      description: 'Calls the sweep',
      schedule: Schedule.rate(Duration.minutes(1)),
      targets: [target],
    });
    // Only saves time: a drive that vanished is found when its saga is due. Express tells nothing.
    new Rule(this, 'EndedBadly', {
      description: 'Tells the sweep of executions that ended before their saga did',
      eventPattern: {
        source: ['aws.states'],
        detailType: ['Step Functions Execution Status Change'],
        detail: {
          stateMachineArn: [{ prefix: machineArn(this, `${machinePrefix}-`) }],
          $or: [
            { status: ['TIMED_OUT', 'ABORTED'] },
            // Not those whose saga came to its end: a burst of them would crowd out the minute's pass.
            {
              status: ['FAILED'],
              error: [{ 'anything-but': [COMPENSATED, INCIDENT] }, { exists: false }],
            },
          ],
        },
      },
      targets: [target],
    });
  }
}

function undeliveredCalls(scope: Construct): Queue {
  const queue = new Queue(scope, 'Undelivered', {
    encryption: QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    retentionPeriod: Duration.days(14),
  });
  accept(queue, {
    'AwsSolutions-SQS3': 'it is itself where undelivered calls of the sweep end',
  });
  return queue;
}

/** Many due sagas take one pass longer; passes may overlap, each grant is an append of its own. */
const SWEEP_TIMEOUT = Duration.minutes(5);
