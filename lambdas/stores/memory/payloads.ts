import type { Entropy } from '../../ports/entropy.ts';
import type { PayloadStore } from '../../ports/payload-store.ts';
import { checkedDigest, ledgerKey } from '../checks.ts';
import { openPayload, sealPayload } from '../payload-seal.ts';

/** Payloads by `tenant/sagaId`, then by digest. */
export type MemoryPayloads = Map<string, Map<string, MemoryPayload>>;

export type MemoryPayload =
  | { readonly kind: 'kept'; readonly salt: string; readonly text: string }
  | { readonly kind: 'erased' };

export function memoryPayloads(payloads: MemoryPayloads, entropy: Entropy): PayloadStore {
  return {
    async put(ledger, text) {
      const key = ledgerKey(ledger);
      const { digest, bytes, salt } = sealPayload(text, entropy);
      const ofSaga = payloads.get(key) ?? new Map<string, MemoryPayload>();
      if (!ofSaga.has(digest)) ofSaga.set(digest, { kind: 'kept', salt, text });
      payloads.set(key, ofSaga);
      return { digest, bytes };
    },

    async get(ledger, digest) {
      const wanted = checkedDigest(digest);
      const stored = payloads.get(ledgerKey(ledger))?.get(wanted);
      if (stored === undefined) return { kind: 'missing' };
      return stored.kind === 'erased' ? { kind: 'erased' } : openPayload(digest, stored);
    },

    async erase(ledger) {
      let erased = 0;
      const ofSaga = payloads.get(ledgerKey(ledger)) ?? new Map<string, MemoryPayload>();
      for (const [digest, stored] of ofSaga) {
        if (stored.kind === 'erased') continue;
        ofSaga.set(digest, { kind: 'erased' });
        erased += 1;
      }
      return erased;
    },
  };
}
