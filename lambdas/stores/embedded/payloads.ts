import type { Entropy } from '../../ports/entropy.ts';
import type { PayloadStore } from '../../ports/payload-store.ts';
import { checkedDigest, ledgerKey } from '../checks.ts';
import { openPayload, sealPayload } from '../payload-seal.ts';
import { payloadKey, payloadsOf } from './keys.ts';
import { durable, type OpenTable } from './table.ts';

/** What stands in place of an erased payload. A kept one is its salt, a line break, its text. */
const ERASED = 'erased';

/**
 * Erasing removes the text from the database. Freed pages of the data file keep old bytes until
 * they are written anew: where that matters, keep the folder on an encrypted disk.
 */
export function embeddedPayloads(open: OpenTable, entropy: Entropy): PayloadStore {
  return {
    async put(ledger, text) {
      const name = ledgerKey(ledger);
      const { digest, bytes, salt } = sealPayload(text, entropy);
      const key = payloadKey(name, digest);
      // A key that stands is this very payload, or the mark that it was erased: both stay.
      await open.during((table) =>
        durable(
          table.ifNoExists(key, () => {
            table.put(key, `${salt}\n${text}`);
          }),
        ),
      );
      return { digest, bytes };
    },

    async get(ledger, digest) {
      const stored = open.now().get(payloadKey(ledgerKey(ledger), checkedDigest(digest)));
      if (stored === undefined) return { kind: 'missing' };
      if (stored === ERASED) return { kind: 'erased' };
      const lineEnd = stored.indexOf('\n');
      if (lineEnd < 0) return { kind: 'damaged' };
      return openPayload(digest, {
        salt: stored.slice(0, lineEnd),
        text: stored.slice(lineEnd + 1),
      });
    },

    async erase(ledger) {
      const all = payloadsOf(ledgerKey(ledger));
      return open.during(async (table) => {
        const kept: Buffer[] = [];
        for (const { key, value } of table.getRange(all)) if (value !== ERASED) kept.push(key);
        if (kept.length === 0) return 0;
        await durable(
          table.batch(() => {
            for (const key of kept) table.put(key, ERASED);
          }),
        );
        return kept.length;
      });
    },
  };
}
