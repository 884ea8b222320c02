import { EVENT_BUS_VARIABLE, EVENTS_VARIABLE } from '../../statemachines/asl/environment.ts';
import {
  PUBLISHED_BY_DEFAULT,
  type Transition,
  transitionsIn,
} from '../../statemachines/transitions.ts';
import { counted } from '../outbox/counted.ts';
import { Outbox, type OutboxParts, type OutboxReport } from '../outbox/outbox.ts';
import { selected } from '../outbox/selected.ts';
import { arrivalOf, type StreamBatch } from '../outbox/stream.ts';
import { systemClock } from '../ports/clock.ts';
import { dynamoLedger } from '../stores/dynamodb/ledger.ts';
import { dynamoClient } from '../stores/dynamodb/open.ts';
import { dynamoSagaIndex } from '../stores/dynamodb/saga-index.ts';
import { storeClock } from '../stores/dynamodb/store-clock.ts';
import type { LambdaHandler } from './context.ts';
import type { LambdaMetrics } from './emf-metrics.ts';
import { eventBus } from './event-bus.ts';
import { type Environment, metricsOf, tablesFrom } from './host.ts';
import { type LambdaLog, powertoolsLog } from './powertools-log.ts';

export interface OutboxHandlerOptions {
  /** Default: DynamoDB and EventBridge, by the function's environment. */
  readonly parts?: OutboxHandlerParts;
  /** Told what became of each batch, beside the metrics. */
  readonly observed?: (report: OutboxReport) => void;
}

export interface OutboxHandlerParts extends OutboxParts {
  readonly log: LambdaLog;
  readonly metrics?: LambdaMetrics;
}

/** A partial batch response: Lambda hands over again everything from the first of these on. */
export interface BatchAnswer {
  readonly batchItemFailures: readonly { readonly itemIdentifier: string }[];
}

/**
 * The Lambda handler behind the stream of the ledger table. Deploy it with `ReportBatchItemFailures`;
 * without that, Lambda takes a batch with failures for done.
 * @throws Error while the function starts, where its environment does not fit
 */
export function outboxHandler(
  options: OutboxHandlerOptions = {},
): LambdaHandler<StreamBatch, BatchAnswer> {
  const parts = options.parts ?? deployedParts(process.env);
  const { metrics, publisher } = parts;
  const counting =
    metrics === undefined || publisher === undefined
      ? {}
      : { publisher: counted(publisher, metrics) };
  const outbox = new Outbox({ ...parts, ...counting });
  return async ({ Records }) => {
    parts.log.begin({});
    if (!Array.isArray(Records)) {
      throw new TypeError('this function is called by the stream of the ledger table, in batches');
    }
    const now = parts.clock.now();
    const report = await outbox.take(Records.map((record) => arrivalOf(record, now)));
    parts.log.info('passed on', { ...report, failed: report.failed.length });
    options.observed?.(report);
    metrics?.gauge('OutboxLag', report.lagMs / 1000);
    metrics?.flush();
    return {
      batchItemFailures: report.failed.map((itemIdentifier) => ({ itemIdentifier })),
    };
  };
}

function deployedParts(env: Environment): OutboxHandlerParts {
  const tables = tablesFrom(env);
  const bus = env[EVENT_BUS_VARIABLE];
  if (bus === undefined || bus === '') {
    throw new Error(
      `the environment variable ${EVENT_BUS_VARIABLE} is missing: deploy this function with a SagaPlane (counterstep/cdk), which sets it, or set it to the bus's name`,
    );
  }
  const client = dynamoClient();
  const clock = storeClock(client, systemClock);
  return {
    // It only reads; how records are appended does not matter.
    ledger: dynamoLedger(client, tables.ledger, 'partiql'),
    projection: dynamoSagaIndex({ client, table: tables.coordination }),
    publisher: selected(eventBus({ bus, clock }), published(env[EVENTS_VARIABLE])),
    clock,
    log: powertoolsLog(),
    metrics: metricsOf(env, clock),
  };
}

function published(names: string | undefined): readonly Transition[] {
  if (names === undefined) return PUBLISHED_BY_DEFAULT;
  return transitionsIn(names.split(',').filter((name) => name !== ''));
}
