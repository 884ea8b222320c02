import type { LedgerId, LedgerRecord } from '../lambdas/ports/ledger-store.ts';
import { StoreUnavailable } from '../lambdas/ports/ledger-store.ts';
import type { RegistryEntry } from '../lambdas/ports/registry.ts';
import type { Stores } from '../lambdas/ports/stores.ts';
import { never, type VirtualProcess, type VirtualTime } from './virtual-time.ts';

/** A writer that gets here goes round in circles, without time passing: it is held fast, to be seen. */
const MOST_EVENTS = 2_000;

/**
 * A store gives up on a request long before: the lease on running a saga again counts on that (three tries
 * of three seconds on DynamoDB).
 */
const FIRST_EVENT_MS = 10_000;

/** How a fault strikes a store call. */
export type StoreFault =
  /** The caller gets an error: before, nothing happened; after, the answer was lost. */
  | 'error'
  /** As `error`, and the store asks for less load. Only before. */
  | 'throttle'
  /** The worker dies there; its executions hear of it. */
  | 'crash'
  /** The whole process dies there, executions and all, and comes up again. */
  | 'restart'
  /** This call alone never returns. */
  | 'hang'
  /** This call alone takes much longer than any other: what it writes comes when much has changed. Only before. */
  | 'slow';

/** One moment of one store operation. */
export interface StoreMoment {
  /** Counts operations over all workers, from 1; both phases of one have the same. */
  readonly index: number;
  readonly store: keyof Stores;
  readonly operation: string;
  readonly writes: boolean;
  readonly phase: 'before' | 'after';
}

/** What stands between workers and stores. */
export interface StoreSeam {
  readonly time: VirtualTime;
  begin(): number;
  fault(moment: StoreMoment): StoreFault | undefined;
  /** Milliseconds; 0: at once. */
  latencyMs(): number;
  /** How long a slow call takes (milliseconds). */
  delayMs(): number;
  isOut(): boolean;
  crash(worker: VirtualProcess): void;
  restart(): void;
  appended(id: LedgerId, record: LedgerRecord): void;
  registered(entry: RegistryEntry): void;
}

/** The stores as one worker reaches them: slow, at times out of reach, and silent once it is dead. */
export function workerStores(stores: Stores, worker: VirtualProcess, seam: StoreSeam): Stores {
  const strike = (moment: StoreMoment, mostMs = Infinity): undefined | Promise<void> => {
    const fault = seam.fault(moment);
    switch (fault) {
      case undefined:
        return undefined;
      case 'error':
      case 'throttle':
        throw new StoreUnavailable('injected: no answer', { throttled: fault === 'throttle' });
      case 'crash':
        seam.crash(worker);
        return never();
      case 'restart':
        seam.restart();
        return never();
      case 'hang':
        return never();
      case 'slow':
        return seam.time.world.sleep(Math.min(seam.delayMs(), mostMs));
    }
  };

  const around = async <R>(
    store: keyof Stores,
    operation: string,
    writes: boolean,
    run: () => Promise<R>,
    mostMs?: number,
  ): Promise<R> => {
    if (worker.dead) return never();
    const index = seam.begin();
    const named = { index, store, operation, writes };
    const before = strike({ ...named, phase: 'before' }, mostMs);
    if (before !== undefined) await before;
    const latencyMs = seam.latencyMs();
    if (latencyMs > 0) await seam.time.world.sleep(latencyMs);
    // A request that was on its way is served even if its sender died meanwhile.
    if (seam.isOut()) {
      if (worker.dead) return never();
      throw new StoreUnavailable('injected: the store is out');
    }
    const answer = await run();
    const after = worker.dead ? never<never>() : strike({ ...named, phase: 'after' });
    if (after !== undefined) await after;
    return answer;
  };

  const { ledger, payloads, registry, budgets, breakers } = stores;
  return {
    ledger: {
      append: (id, record) =>
        around(
          'ledger',
          'append',
          true,
          async () => {
            const result = await ledger.append(id, record);
            if (result.kind === 'appended') seam.appended(id, record);
            if (record.seq > MOST_EVENTS) return never();
            return result;
          },
          record.seq === 1 ? FIRST_EVENT_MS : undefined,
        ),
      read: (id, afterSeq) => around('ledger', 'read', false, () => ledger.read(id, afterSeq)),
      head: (id) => around('ledger', 'head', false, () => ledger.head(id)),
    },
    payloads: {
      put: (id, text) => around('payloads', 'put', true, () => payloads.put(id, text)),
      get: (id, digest) => around('payloads', 'get', false, () => payloads.get(id, digest)),
      erase: (id) => around('payloads', 'erase', true, () => payloads.erase(id)),
    },
    registry: {
      add: (entry) =>
        around('registry', 'add', true, async () => {
          await registry.add(entry);
          seam.registered(entry);
        }),
      remove: (entry) => around('registry', 'remove', true, () => registry.remove(entry)),
      due: (untilMs, limit, cursor) =>
        around('registry', 'due', false, () => registry.due(untilMs, limit, cursor)),
    },
    budgets: {
      charge: (charge, budget) =>
        around('budgets', 'charge', true, () => budgets.charge(charge, budget)),
      giveBack: (id) => around('budgets', 'giveBack', true, () => budgets.giveBack(id)),
      isCharged: (id) => around('budgets', 'isCharged', false, () => budgets.isCharged(id)),
      usage: (tenant) => around('budgets', 'usage', false, () => budgets.usage(tenant)),
    },
    breakers: {
      append: (tool, record) =>
        around('breakers', 'append', true, () => breakers.append(tool, record)),
      head: (tool) => around('breakers', 'head', false, () => breakers.head(tool)),
    },
  };
}
