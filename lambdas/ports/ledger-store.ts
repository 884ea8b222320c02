/**
 * What the engine needs from the place where ledgers live. Provided by `stores/dynamodb`,
 * `stores/embedded` and `stores/memory`; all three pass `test/stores/ledger-store.contract.ts`.
 */
export interface LedgerStore {
  /**
   * Adds the record if no record has its `seq` in that ledger, and only then.
   * MUST be durable before it resolves. MUST NOT overwrite, whatever the caller does.
   * On a conflict it returns the record that stands there (the caller compares nonces:
   * a retried write may have met itself).
   * @throws StoreUnavailable when the outcome of the write is unknown or it was refused for load;
   *   the caller reads on from its last known `seq` and decides again.
   */
  append(ledger: LedgerId, record: LedgerRecord): Promise<AppendResult>;
  /** Every record with `seq > afterSeq`, in order, all pages, strongly consistent. */
  read(ledger: LedgerId, afterSeq?: number): Promise<readonly LedgerRecord[]>;
  /** The last record, strongly consistent, or `undefined` where there is no ledger. */
  head(ledger: LedgerId): Promise<LedgerRecord | undefined>;
}

/** One saga's ledger. Both parts are non-empty and hold no `/` in `tenant`. */
export interface LedgerId {
  readonly tenant: string;
  readonly sagaId: string;
}

/** The ledger's name as one text, for maps in memory. */
export function ledgerKey(id: LedgerId): string {
  return `${id.tenant}/${id.sagaId}`;
}

/** One ledger entry as stored. `body` is canonical JSON text, so nothing is lost in conversion. */
export interface LedgerRecord {
  readonly seq: number;
  readonly body: string;
  /** Hash of the record before; for `seq` 1 it hashes tenant and saga id. */
  readonly prev: string;
  /** SHA-256(prev ‖ body) in hex. */
  readonly hash: string;
  /** The writer's own random name for this write. */
  readonly nonce: string;
}

export type AppendResult =
  | { readonly kind: 'appended' }
  | { readonly kind: 'conflict'; readonly standing: LedgerRecord };

/** The store did not answer, or refused for load. The write may or may not stand. */
export class StoreUnavailable extends Error {
  override readonly name = 'Counterstep.StoreUnavailable';
  /** True where the store asked for less load: back off before the next try. */
  readonly throttled: boolean;
  constructor(message: string, options: { cause?: unknown; throttled?: boolean } = {}) {
    super(message, { cause: options.cause });
    this.throttled = options.throttled ?? false;
  }
}
