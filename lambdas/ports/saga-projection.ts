import type { SagaRow } from '../projection/row.ts';
import type { LedgerId } from './ledger-store.ts';
import type { Tampering } from './saga-index.ts';

/**
 * The writing side of a saga index: what the outbox notes of each saga. Provided by
 * `stores/dynamodb/saga-index.ts`; how a change meets what stands is `projection/noted.ts`.
 */
export interface SagaProjection {
  /**
   * What is noted. It may be a moment old: then a ledger is read that need not be, and an event may be
   * published again, no more. @throws StoreUnavailable
   */
  noted(id: LedgerId): Promise<NotedSaga | undefined>;
  /**
   * Notes a change and resolves once it is durable. An older record never replaces a newer one,
   * whoever writes beside. Repeating a change is harmless.
   * @param over what `noted` answered, or that nothing is: spares the store a reading where nobody
   *   wrote since
   * @throws StoreUnavailable
   */
  note(id: LedgerId, change: SagaChange, over?: NotedSaga): Promise<void>;
}

export interface NotedSaga {
  /** The last record known: it stays when the ledger's end is cut off. `seq` 0: none. */
  readonly head: { readonly seq: number; readonly hash?: string };
  /** Absent where event 1 was never seen. It may be behind `head` where records are gone. */
  readonly row?: SagaRow;
  /** Every transition up to this number was published; 0 where that is not known. */
  readonly published: number;
  /** By number of the record, one for each. */
  readonly tampered: readonly Tampering[];
  /** Where the store counts its writes of this saga: how many there were. */
  readonly revision?: number;
}

export interface SagaChange {
  readonly head?: NotedSaga['head'];
  readonly row?: SagaRow;
  readonly published?: number;
  readonly tampered?: readonly Tampering[];
  /** Writes list entries again although nothing changed: after the lists were damaged. */
  readonly repair?: true;
}
