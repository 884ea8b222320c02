/**
 * Where the breakers of tools are kept: one small ledger for each tool. Provided by the same three
 * stores as sagas' ledgers; contract: `test/stores/breaker-ledger.contract.ts`.
 */
export interface BreakerLedger {
  /**
   * Adds the record if none has its `seq` in that tool's ledger, and only then. Durable before it
   * resolves. Records more than {@link KEPT_BREAKER_RECORDS} behind the last MAY be gone: each holds
   * all that the next writer needs.
   * @throws StoreUnavailable when the outcome of the write is unknown or it was refused for load
   */
  append(tool: string, record: BreakerRecord): Promise<BreakerAppendResult>;
  /** The last record, strongly consistent, or `undefined` where nothing ever failed. */
  head(tool: string): Promise<BreakerRecord | undefined>;
}

export interface BreakerRecord {
  readonly seq: number;
  /** The event as canonical JSON text. */
  readonly body: string;
  /** The writer's own random name for this write. */
  readonly nonce: string;
}

export type BreakerAppendResult =
  | { readonly kind: 'appended' }
  | { readonly kind: 'conflict'; readonly standing: BreakerRecord };

/** So many records of a tool stand at least: enough to see how a breaker came to be open. */
export const KEPT_BREAKER_RECORDS = 64;
