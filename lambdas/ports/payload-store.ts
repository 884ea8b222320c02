import type { LedgerId } from './ledger-store.ts';

/** The largest payload kept, in UTF-8 bytes of its canonical JSON. */
export const MAX_PAYLOAD_BYTES = 350 * 1024;

/**
 * Arguments and results too large or too sensitive for the ledger.
 * Provided by the same three stores; contract: `test/stores/payload-store.contract.ts`.
 */
export interface PayloadStore {
  /**
   * Keeps `text` under a digest salted with fresh randomness (the salt stands beside the payload).
   * Durable before it resolves. Storing the same text twice gives two digests.
   * @throws PayloadTooLarge above {@link MAX_PAYLOAD_BYTES}
   * @throws StoreUnavailable
   */
  put(ledger: LedgerId, text: string): Promise<PayloadRef>;
  /**
   * The text; `erased` once it was erased; `missing` if it never stood there.
   * The stored text is checked against its digest: a difference is `damaged`.
   */
  get(ledger: LedgerId, digest: string): Promise<PayloadAnswer>;
  /** Erases every payload of that saga, for good, leaving a mark per digest. Safe to repeat. */
  erase(ledger: LedgerId): Promise<number>;
}

export interface PayloadRef {
  /** SHA-256(salt ‖ text) in hex. */
  readonly digest: string;
  readonly bytes: number;
}

export type PayloadAnswer =
  | { readonly kind: 'found'; readonly text: string }
  | { readonly kind: 'erased' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'damaged' };

export class PayloadTooLarge extends Error {
  override readonly name = 'Counterstep.PayloadTooLarge';
  readonly bytes: number;
  constructor(bytes: number) {
    super(
      `payload of ${bytes} bytes is over the limit of ${MAX_PAYLOAD_BYTES}: keep the document elsewhere and pass a reference to it`,
    );
    this.bytes = bytes;
  }
}
