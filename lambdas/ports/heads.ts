import type { LedgerId } from './ledger-store.ts';

/**
 * The last event known of each saga, with what lists and reviews show of it.
 *
 * It is an anchor kept apart from the ledger: a chain whose tail was cut still verifies by itself,
 * but no longer reaches the head noted here. It is also a derived projection: it can be dropped
 * and rebuilt by reading every ledger (a cut made before the rebuild is then no longer seen).
 */
export interface Heads {
  /**
   * Notes the batch. Every entry is seen by `get` and `all` at once; the promise resolves when it
   * is durable, so callers on a fast path go on without waiting and handle a failure aside.
   * An anchor never moves back: an entry below the noted `seq`, or at it with another hash, is
   * ignored; one at it with the same hash replaces `json`.
   * @throws StoreUnavailable when it may be lost: note it again, or rebuild.
   */
  set(batch: readonly HeadEntry[]): Promise<void>;
  get(ledger: LedgerId): HeadEntry | undefined;
  /** Every entry, by tenant and saga id. Entries set while iterating may or may not be seen. */
  all(): Iterable<HeadEntry>;
  /** Drops everything, to be rebuilt. */
  clear(): Promise<void>;
}

export interface HeadEntry extends LedgerId {
  readonly seq: number;
  /** The hash of that event. */
  readonly hash: string;
  /** JSON text of what the projection keeps of the saga; the store does not look inside. */
  readonly json: string;
}
