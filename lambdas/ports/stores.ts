import type { BreakerLedger } from './breaker-ledger.ts';
import type { LedgerStore } from './ledger-store.ts';
import type { PayloadStore } from './payload-store.ts';
import type { Registry } from './registry.ts';
import type { TenantBudgets } from './tenant-budgets.ts';

/** The places the engine keeps anything in, opened together. */
export interface Stores {
  readonly ledger: LedgerStore;
  readonly payloads: PayloadStore;
  readonly registry: Registry;
  readonly budgets: TenantBudgets;
  readonly breakers: BreakerLedger;
}
