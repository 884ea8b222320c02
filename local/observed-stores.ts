import type { LedgerId, LedgerRecord } from '../lambdas/ports/ledger-store.ts';
import type { Stores } from '../lambdas/ports/stores.ts';

/** Tells `seen` of every append that stands, as the ledger's stream does on AWS. */
export function observedStores(
  stores: Stores,
  seen: (id: LedgerId, record: LedgerRecord) => void,
): Stores {
  return {
    ...stores,
    ledger: {
      read: (id, afterSeq) => stores.ledger.read(id, afterSeq),
      head: (id) => stores.ledger.head(id),
      append: async (id, record) => {
        const result = await stores.ledger.append(id, record);
        if (result.kind === 'appended') seen(id, record);
        return result;
      },
    },
  };
}
