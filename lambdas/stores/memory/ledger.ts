import type { LedgerRecord, LedgerStore } from '../../ports/ledger-store.ts';
import { checkedRecord, checkedSeq, ledgerKey } from '../checks.ts';

/** Ledgers by `tenant/sagaId`; each list is ordered by `seq`. */
export type MemoryLedgers = Map<string, LedgerRecord[]>;

export function memoryLedger(ledgers: MemoryLedgers): LedgerStore {
  return {
    async append(ledger, record) {
      const key = ledgerKey(ledger);
      const fresh = Object.freeze(checkedRecord(record));
      const records = ledgers.get(key) ?? [];
      const at = firstAfter(records, fresh.seq - 1);
      const standing = records[at];
      if (standing?.seq === fresh.seq) return { kind: 'conflict', standing };
      records.splice(at, 0, fresh);
      ledgers.set(key, records);
      return { kind: 'appended' };
    },

    async read(ledger, afterSeq = 0) {
      const records = ledgers.get(ledgerKey(ledger)) ?? [];
      return records.slice(firstAfter(records, checkedSeq('afterSeq', afterSeq, 0)));
    },

    async head(ledger) {
      return ledgers.get(ledgerKey(ledger))?.at(-1);
    },
  };
}

/** Index of the first record with `seq > afterSeq`. */
function firstAfter(records: readonly LedgerRecord[], afterSeq: number): number {
  let low = 0;
  let high = records.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const record = records[middle];
    if (record !== undefined && record.seq <= afterSeq) low = middle + 1;
    else high = middle;
  }
  return low;
}
