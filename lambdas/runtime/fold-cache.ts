import type { SagaEvent } from '../../statemachines/rules/events.ts';
import type { SagaState } from '../../statemachines/rules/state.ts';
import { type LedgerId, ledgerKey } from '../ports/ledger-store.ts';

/** A folded ledger up to its last known record. */
export interface FoldedHead {
  readonly state: SagaState;
  readonly hash: string;
  /** The last few records, for a writer that looks for its own after a lost answer. */
  readonly recent: readonly { readonly nonce: string; readonly event: SagaEvent }[];
}

/**
 * Remembers folds, so that a warm process reads only what is new. A hint, never truth: every use
 * reads on from the remembered `seq`.
 */
export class FoldCache {
  readonly #heads = new Map<string, FoldedHead>();
  readonly #limit: number;

  constructor(limit = 512) {
    this.#limit = limit;
  }

  get(id: LedgerId): FoldedHead | undefined {
    return this.#heads.get(ledgerKey(id));
  }

  set(id: LedgerId, head: FoldedHead): void {
    const key = ledgerKey(id);
    const known = this.#heads.get(key);
    if (known !== undefined && known.state.seq > head.state.seq) return;
    this.#heads.delete(key);
    this.#heads.set(key, head);
    if (this.#heads.size <= this.#limit) return;
    const oldest = this.#heads.keys().next();
    if (oldest.done !== true) this.#heads.delete(oldest.value);
  }

  forget(id: LedgerId): void {
    this.#heads.delete(ledgerKey(id));
  }
}
