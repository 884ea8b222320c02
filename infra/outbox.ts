import { Duration } from 'aws-cdk-lib';
import { type BaseArchiveProps, EventBus, type IEventBus } from 'aws-cdk-lib/aws-events';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import { EventSourceMapping, StartingPosition } from 'aws-cdk-lib/aws-lambda';
import { SqsDlq } from 'aws-cdk-lib/aws-lambda-event-sources';
import type { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import { type IQueue, Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import {
  EVENT_BUS_VARIABLE,
  EVENT_SOURCE,
  EVENTS_VARIABLE,
} from '../statemachines/asl/environment.ts';
import { PUBLISHED_BY_DEFAULT, type Transition } from '../statemachines/transitions.ts';
import { accept } from './accept.ts';
import { ownEntry } from './bundling.ts';
import { type FunctionSettings, type SagaFunctionProps, sagaFunction } from './functions.ts';
import {
  grantLedgerStream,
  grantProjection,
  grantReadLedgers,
  grantScanLedgers,
} from './grants.ts';
import { STREAM_BATCH_SIZE, STREAM_WINDOW_SECONDS } from './stream-defaults.ts';

/** Both, since CDK's class does not fit its own interface under `exactOptionalPropertyTypes`. */
export type AnyEventBus = IEventBus | EventBus;

/** How the outbox reads the ledger's stream, and where it publishes. Names as CDK's own. */
export interface OutboxOptions {
  /** Where events go. Default: a bus of the plane's own. */
  readonly eventBus?: AnyEventBus;
  /**
   * What is published of sagas; each event costs. Default: all but `started`, which its caller knows.
   * That a ledger was tampered with is published always, and metrics count every transition.
   */
  readonly events?: readonly Transition[];
  /** Keeps what is published, to be replayed. Default: no archive; the ledgers hold it all. */
  readonly archive?: Partial<BaseArchiveProps>;
  /** Default 1,000. */
  readonly batchSize?: number;
  /** Default 5 s: what one saga does within it is noted once. Lists and events are as late. */
  readonly maxBatchingWindow?: Duration;
  /** Default 6 h, a quarter of what the stream keeps. */
  readonly maxRecordAge?: Duration;
  /** Default 30. */
  readonly retryAttempts?: number;
  /** Default 1. Records of one saga stay in order with any. */
  readonly parallelizationFactor?: number;
  /** Where the places of records end that were given up. Default: a queue that keeps them for 14 days. */
  readonly deadLetterQueue?: IQueue;
  /** The function's own. `entry`: a file whose `handler` is `outboxHandler({ … })`. */
  readonly functionProps?: SagaFunctionProps & { readonly entry?: string };
}

/** What a plane adds to the options. */
export interface OutboxProps extends OutboxOptions {
  readonly settings: FunctionSettings;
}

/** From the ledger's stream into the projection and onto the event bus. */
export class Outbox extends Construct {
  readonly eventBus: AnyEventBus;
  readonly fn: NodejsFunction;
  /**
   * Where the places of records end that could not be passed on: shard and sequence numbers, not the
   * records. What they say is in the ledger; a rebuild passes it on.
   */
  readonly undelivered: IQueue;
  readonly #settings: FunctionSettings;

  constructor(scope: Construct, id: string, props: OutboxProps) {
    super(scope, id);
    const { ledger, coordination } = props.settings.tables;
    this.#settings = props.settings;
    this.eventBus =
      props.eventBus ??
      new EventBus(this, 'Events', {
        // By the plane's name: with another prefix it has another bus than one that was retained.
        eventBusName: `${props.settings.plane}-events`,
        description: 'What becomes of sagas',
      });
    if (props.archive !== undefined) {
      this.eventBus.archive('Archive', {
        eventPattern: { source: [EVENT_SOURCE] },
        ...props.archive,
      });
    }
    this.undelivered = props.deadLetterQueue ?? undeliveredRecords(this);
    this.fn = sagaFunction(this, props.settings, {
      service: 'outbox',
      place: 'the outbox (prop `outbox.functionProps.entry`)',
      description: 'Notes what sagas do in the projection, and publishes it',
      timeout: OUTBOX_TIMEOUT,
      entryContent: 'export const handler = outboxHandler()',
      props: {
        entry: ownEntry('lambdas/outbox/outbox.lambda'),
        ...props.functionProps,
        environment: {
          ...props.functionProps?.environment,
          [EVENT_BUS_VARIABLE]: this.eventBus.eventBusName,
          [EVENTS_VARIABLE]: (props.events ?? PUBLISHED_BY_DEFAULT).join(','),
        },
      },
    });
    grantReadLedgers(this.fn, ledger);
    grantProjection(this.fn, coordination, { write: true });
    this.eventBus.grantPutEventsTo(this.fn, 'Publish');
    const stream = grantLedgerStream(this.fn, ledger);
    const mapping = new EventSourceMapping(this, 'Stream', {
      target: this.fn,
      eventSourceArn: stream,
      // From the beginning: a saga that starts while the stack is made is not passed over.
      startingPosition: StartingPosition.TRIM_HORIZON,
      batchSize: props.batchSize ?? STREAM_BATCH_SIZE,
      maxBatchingWindow: props.maxBatchingWindow ?? Duration.seconds(STREAM_WINDOW_SECONDS),
      parallelizationFactor: props.parallelizationFactor ?? 1,
      // A record that fails is narrowed down to and given up; those behind it wait for it until then.
      reportBatchItemFailures: true,
      bisectBatchOnError: true,
      retryAttempts: props.retryAttempts ?? RETRY_ATTEMPTS,
      maxRecordAge: props.maxRecordAge ?? Duration.hours(6),
      onFailure: new SqsDlq(this.undelivered),
    });
    // Lambda looks at the role's rights when the mapping is made.
    mapping.node.addDependency(this.fn.role ?? this.fn);
  }

  /**
   * Lets somebody rebuild the projection with `counterstep rebuild`: the one right in a plane to read
   * ledgers of all tenants. No function has it.
   */
  grantRebuild(grantee: IGrantable): void {
    const { ledger, coordination } = this.#settings.tables;
    grantScanLedgers(grantee, ledger);
    grantProjection(grantee, coordination, { write: true });
    this.eventBus.grantPutEventsTo(grantee, 'Publish');
  }
}

function undeliveredRecords(scope: Construct): Queue {
  const queue = new Queue(scope, 'Undelivered', {
    encryption: QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    retentionPeriod: Duration.days(14),
  });
  accept(queue, {
    'AwsSolutions-SQS3': 'it is itself where records end that could not be passed on',
  });
  return queue;
}

/** A batch waits at most 15 s for the bus in each of its few waves, and writes a few thousand items. */
const OUTBOX_TIMEOUT = Duration.minutes(2);

/**
 * While the bus takes nothing, each try lasts 15 s: 30 of them ride out seven minutes. A record that
 * our code cannot handle fails at once and is given up after as many, long before others expire.
 */
const RETRY_ATTEMPTS = 30;
