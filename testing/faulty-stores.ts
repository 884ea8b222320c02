import type { Stores } from '../lambdas/ports/stores.ts';

/** One moment of one store operation. */
export interface StoreCall {
  /** Counts operations over all stores, from 1; both phases of one have the same. */
  readonly index: number;
  readonly store: 'ledger' | 'payloads' | 'registry' | 'budgets' | 'breakers';
  readonly operation: string;
  /** `before`: nothing has happened yet. `after`: the effect stands, the answer is on its way. */
  readonly phase: 'before' | 'after';
  readonly args: readonly unknown[];
}

export interface FaultPlan {
  /**
   * Called at each moment. Throwing makes the operation fail: without effect in `before`, with
   * its effect done and the answer lost in `after`. It may also only look on, or stop a worker.
   */
  onCall(call: StoreCall): void | Promise<void>;
}

export interface FaultyStores extends Stores {
  /** Operations begun so far: a sweep runs once undisturbed, then fails each index in turn. */
  calls(): number;
}

/** The stores with a fault plan around every operation. An operation that fails has no `after`. */
export function faultyStores(stores: Stores, plan: FaultPlan): FaultyStores {
  let begun = 0;

  function around<A extends readonly unknown[], R>(
    store: StoreCall['store'],
    operation: string,
    run: (...args: A) => Promise<R>,
  ): (...args: A) => Promise<R> {
    return async (...args) => {
      begun += 1;
      const call = { index: begun, store, operation, args };
      await plan.onCall({ ...call, phase: 'before' });
      const answer = await run(...args);
      await plan.onCall({ ...call, phase: 'after' });
      return answer;
    };
  }

  const { ledger, payloads, registry, budgets, breakers } = stores;
  return {
    ledger: {
      append: around('ledger', 'append', (...args: Parameters<typeof ledger.append>) =>
        ledger.append(...args),
      ),
      read: around('ledger', 'read', (...args: Parameters<typeof ledger.read>) =>
        ledger.read(...args),
      ),
      head: around('ledger', 'head', (...args: Parameters<typeof ledger.head>) =>
        ledger.head(...args),
      ),
    },
    payloads: {
      put: around('payloads', 'put', (...args: Parameters<typeof payloads.put>) =>
        payloads.put(...args),
      ),
      get: around('payloads', 'get', (...args: Parameters<typeof payloads.get>) =>
        payloads.get(...args),
      ),
      erase: around('payloads', 'erase', (...args: Parameters<typeof payloads.erase>) =>
        payloads.erase(...args),
      ),
    },
    registry: {
      add: around('registry', 'add', (...args: Parameters<typeof registry.add>) =>
        registry.add(...args),
      ),
      remove: around('registry', 'remove', (...args: Parameters<typeof registry.remove>) =>
        registry.remove(...args),
      ),
      due: around('registry', 'due', (...args: Parameters<typeof registry.due>) =>
        registry.due(...args),
      ),
    },
    budgets: {
      charge: around('budgets', 'charge', (...args: Parameters<typeof budgets.charge>) =>
        budgets.charge(...args),
      ),
      giveBack: around('budgets', 'giveBack', (...args: Parameters<typeof budgets.giveBack>) =>
        budgets.giveBack(...args),
      ),
      isCharged: around('budgets', 'isCharged', (...args: Parameters<typeof budgets.isCharged>) =>
        budgets.isCharged(...args),
      ),
      usage: around('budgets', 'usage', (...args: Parameters<typeof budgets.usage>) =>
        budgets.usage(...args),
      ),
    },
    breakers: {
      append: around('breakers', 'append', (...args: Parameters<typeof breakers.append>) =>
        breakers.append(...args),
      ),
      head: around('breakers', 'head', (...args: Parameters<typeof breakers.head>) =>
        breakers.head(...args),
      ),
    },
    calls: () => begun,
  };
}
