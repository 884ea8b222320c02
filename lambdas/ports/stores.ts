import type { LedgerStore } from './ledger-store.ts';
import type { PayloadStore } from './payload-store.ts';
import type { Registry } from './registry.ts';

/** The three places the engine keeps anything in, opened together. */
export interface Stores {
  readonly ledger: LedgerStore;
  readonly payloads: PayloadStore;
  readonly registry: Registry;
}
