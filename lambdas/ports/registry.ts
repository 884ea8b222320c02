import type { LedgerId } from './ledger-store.ts';

/**
 * The list of sagas somebody must look at, by due time. Entries are only added and removed;
 * duplicates are harmless. Contract: `test/stores/registry.contract.ts`.
 */
export interface Registry {
  /** Durable before it resolves. Adding the same entry twice is one entry. */
  add(entry: RegistryEntry): Promise<void>;
  /** Removing an entry that is not there is fine. */
  remove(entry: RegistryEntry): Promise<void>;
  /**
   * Entries with `dueAt <= untilMs`, oldest first within a shard, at most `limit` over all shards.
   * `after` continues behind that entry's position (opaque cursor from the last answer).
   */
  due(untilMs: number, limit: number, cursor?: string): Promise<RegistryPage>;
}

export interface RegistryEntry extends LedgerId {
  /** Epoch milliseconds. */
  readonly dueAt: number;
}

export interface RegistryPage {
  readonly entries: readonly RegistryEntry[];
  /** Absent on the last page. */
  readonly cursor?: string;
}
