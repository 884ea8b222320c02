import { Outbox, type OutboxParts, type OutboxReport } from '../../lambdas/outbox/outbox.ts';
import type { PlaneEvent } from '../../lambdas/outbox/plane-events.ts';
import { arrivalOf, type StreamRecord } from '../../lambdas/outbox/stream.ts';
import type { EventPublisher } from '../../lambdas/ports/event-publisher.ts';
import type { LedgerId, LedgerRecord } from '../../lambdas/ports/ledger-store.ts';
import { type Log, silentLog } from '../../lambdas/ports/log.ts';
import type { NotedSaga, SagaProjection } from '../../lambdas/ports/saga-projection.ts';
import { NOTHING_NOTED, noted } from '../../lambdas/projection/noted.ts';
import { type MemoryStores, memoryStores } from '../../lambdas/stores/memory/open.ts';

export const NOW = 1_800_000_000_000;

/** A projection in memory, over the rule that the one in DynamoDB keeps too. */
export class MemoryProjection implements SagaProjection {
  readonly sagas = new Map<string, NotedSaga>();

  async noted(id: LedgerId): Promise<NotedSaga | undefined> {
    return this.sagas.get(keyOf(id));
  }

  async note(id: LedgerId, change: Parameters<SagaProjection['note']>[1]): Promise<void> {
    this.sagas.set(keyOf(id), noted(this.sagas.get(keyOf(id)) ?? NOTHING_NOTED, change));
  }
}

/** A bus that remembers, and may refuse. */
export class MemoryBus implements EventPublisher {
  /** In the order in which they were taken, repeats included. */
  readonly taken: PlaneEvent[] = [];
  refuses: (event: PlaneEvent) => boolean = () => false;

  async publish(events: readonly PlaneEvent[]) {
    const refused = events.filter((event) => this.refuses(event));
    this.taken.push(...events.filter((event) => !refused.includes(event)));
    return refused.map(({ detail }) => ({ id: detail.id, code: 'ThrottlingException' }));
  }

  /** Types of one saga's events, each id once. */
  types(sagaId: string): string[] {
    const own = this.taken.filter(({ detail }) => detail.sagaId === sagaId);
    return [...new Map(own.map(({ type, detail }) => [detail.id, shortOf(type)])).values()];
  }
}

export function shortOf(type: string): string {
  return type.replace(/^counterstep\.(saga\.)?/, '');
}

/** An outbox over parts in memory. */
export class OutboxWorld {
  readonly stores: MemoryStores;
  readonly bus = new MemoryBus();
  readonly projection: SagaProjection;
  readonly parts: OutboxParts;
  readonly outbox: Outbox;
  ledgerReads = 0;

  constructor(given: { stores?: MemoryStores; projection?: SagaProjection; log?: Log } = {}) {
    this.stores = given.stores ?? memoryStores();
    this.projection = given.projection ?? new MemoryProjection();
    const { ledger } = this.stores;
    this.parts = {
      ledger: {
        ...ledger,
        append: (...given) => ledger.append(...given),
        head: (id) => ledger.head(id),
        read: (...given) => {
          this.ledgerReads += 1;
          return ledger.read(...given);
        },
      },
      projection: this.projection,
      publisher: this.bus,
      clock: { now: () => NOW },
      log: given.log ?? silentLog,
    };
    this.outbox = new Outbox(this.parts);
  }

  async append(id: LedgerId, records: readonly LedgerRecord[]): Promise<void> {
    for (const record of records) await this.stores.ledger.append(id, record);
  }

  take(...records: readonly StreamRecord[]): Promise<OutboxReport> {
    return this.outbox.take(records.map((record) => arrivalOf(record, NOW)));
  }
}

export function keyOf({ tenant, sagaId }: LedgerId): string {
  return `${tenant}/${sagaId}`;
}
