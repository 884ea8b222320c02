import { PUBLISHED_BY_DEFAULT, type Transition } from '../../statemachines/transitions.ts';
import { Outbox } from '../outbox/outbox.ts';
import { type RebuildProgress, type RebuildReport, rebuild } from '../outbox/rebuild.ts';
import { selected } from '../outbox/selected.ts';
import { systemClock } from '../ports/clock.ts';
import type { EventPublisher } from '../ports/event-publisher.ts';
import type { Log } from '../ports/log.ts';
import { dynamoLedger } from '../stores/dynamodb/ledger.ts';
import { dynamoLedgerScan } from '../stores/dynamodb/ledger-scan.ts';
import { dynamoClient } from '../stores/dynamodb/open.ts';
import { dynamoSagaIndex } from '../stores/dynamodb/saga-index.ts';
import { eventBus } from './event-bus.ts';

export interface RebuildOptions {
  readonly ledgerTable: string;
  readonly coordinationTable: string;
  /**
   * Publishes what the outbox is not known to have published, from `since` (epoch milliseconds) on.
   * Without it only the projection is brought up. `events`: as the plane's outbox has them.
   */
  readonly publish?: {
    readonly eventBus: string;
    readonly since: number;
    readonly events?: readonly Transition[];
  };
  /** Parts of the table gone through at once. */
  readonly segments: number;
  readonly progress: RebuildProgress;
  readonly log: Log;
}

/**
 * Rebuilds the projection of a deployed plane, with the caller's own credentials: they need what
 * `Outbox.grantRebuild` of `counterstep/cdk` grants.
 * @throws StoreUnavailable, and then goes on from there when called again
 */
export async function rebuildDeployed(options: RebuildOptions): Promise<RebuildReport> {
  const { progress, log, segments, publish } = options;
  const client = dynamoClient();
  try {
    const outbox = new Outbox({
      ledger: dynamoLedger(client, options.ledgerTable, 'partiql'),
      projection: dynamoSagaIndex({ client, table: options.coordinationTable }),
      ...(publish === undefined ? {} : { publisher: publisherOf(publish) }),
      clock: systemClock,
      log,
    });
    const scan = dynamoLedgerScan({ client, table: options.ledgerTable });
    const since = publish === undefined ? {} : { publishSince: publish.since };
    const parts = { scan, outbox, progress, clock: systemClock, log, ...since };
    return await rebuild(parts, segments);
  } finally {
    client.destroy();
  }
}

function publisherOf({
  eventBus: bus,
  events = PUBLISHED_BY_DEFAULT,
}: NonNullable<RebuildOptions['publish']>): EventPublisher {
  return selected(eventBus({ bus }), events);
}
