import type { OutboxParts } from '../lambdas/outbox/outbox.ts';
import type { PlaneEvent } from '../lambdas/outbox/plane-events.ts';
import type { LedgerScan } from '../lambdas/ports/ledger-scan.ts';
import {
  type LedgerId,
  type LedgerStore,
  ledgerKey,
  StoreUnavailable,
} from '../lambdas/ports/ledger-store.ts';
import { silentLog } from '../lambdas/ports/log.ts';
import type { NotedSaga, SagaProjection } from '../lambdas/ports/saga-projection.ts';
import { NOTHING_NOTED, noted } from '../lambdas/projection/noted.ts';
import type { VirtualTime } from './virtual-time.ts';
import { never } from './virtual-time.ts';

/** What a projection holds, by ledger. */
export type MemoryProjection = Map<string, NotedSaga>;

/** Where faults meet the calls of one consumer. */
export interface OutboxSeam {
  readonly time: VirtualTime;
  /** The number of a call, from 1; nothing where the consumer is dead. */
  begin(): number | undefined;
  /** `error`: the call fails there. It never resolves where the consumer dies there. */
  moment(index: number, phase: 'before' | 'after'): Promise<'error' | undefined>;
  storesOut(): boolean;
  published(event: PlaneEvent): void;
}

/** The outbox's parts as one consumer reaches them: slow, at times out of reach, silent once it is dead. */
export function outboxParts(
  ledger: LedgerStore,
  projection: MemoryProjection,
  seam: OutboxSeam,
): OutboxParts {
  const store = async <R>(run: () => R | Promise<R>): Promise<R> => {
    const index = seam.begin();
    if (index === undefined) return never();
    if ((await seam.moment(index, 'before')) === 'error' || seam.storesOut())
      throw new StoreUnavailable('injected: no answer');
    const answer = await run();
    if ((await seam.moment(index, 'after')) === 'error')
      throw new StoreUnavailable('injected: the answer was lost');
    return answer;
  };
  const stores: SagaProjection = {
    noted: (id) => store(() => projection.get(ledgerKey(id))),
    note: (id, change) =>
      store(() => {
        const key = ledgerKey(id);
        projection.set(key, noted(projection.get(key) ?? NOTHING_NOTED, change));
      }),
  };
  return {
    ledger: {
      append: (id, record) => ledger.append(id, record),
      read: (id, afterSeq) => store(() => ledger.read(id, afterSeq)),
      head: (id) => store(() => ledger.head(id)),
    },
    projection: stores,
    publisher: {
      async publish(events) {
        const index = seam.begin();
        if (index === undefined) return never();
        const fails = (await seam.moment(index, 'before')) === 'error';
        const refused = fails ? events[index % events.length] : undefined;
        for (const event of events) if (event !== refused) seam.published(event);
        const silent = (await seam.moment(index, 'after')) === 'error';
        return events
          .filter((event) => silent || event === refused)
          .map(({ detail }) => ({ id: detail.id, code: 'ServiceUnavailable' }));
      },
    },
    clock: seam.time.world,
    log: silentLog,
  };
}

const PAGE = 3;

/** Every ledger there is, in small pages. */
export function memoryScan(ids: () => readonly LedgerId[]): LedgerScan {
  return {
    async page({ index, of }, cursor = '0') {
      const own = ids().filter((_, at) => at % of === index);
      const next = Number(cursor) + PAGE;
      const ledgers = own.slice(Number(cursor), next);
      return next < own.length ? { ledgers, cursor: String(next) } : { ledgers };
    },
  };
}
