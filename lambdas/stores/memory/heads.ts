import type { HeadEntry, Heads } from '../../ports/heads.ts';
import { ledgerKey } from '../checks.ts';
import { checkedHead, movesOn } from '../head-rule.ts';

export function memoryHeads(): Heads {
  const heads = new Map<string, HeadEntry>();
  return {
    async set(batch) {
      for (const entry of batch.map(checkedHead)) {
        const key = ledgerKey(entry);
        if (movesOn(heads.get(key), entry)) heads.set(key, entry);
      }
    },
    get: (ledger) => heads.get(ledgerKey(ledger)),
    all: () => [...heads].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, entry]) => entry),
    async clear() {
      heads.clear();
    },
  };
}
