import type { LedgerId, LedgerRecord, LedgerStore } from '../../ports/ledger-store.ts';
import { StoreUnavailable } from '../../ports/ledger-store.ts';
import { checkedRecord, checkedSeq, ledgerKey, parseLedgerKey } from '../checks.ts';
import { afterLedger, FIRST_KEY, ledgerOf, recordKey, recordsAfter, seqOf } from './keys.ts';
import { durable, type OpenTable } from './table.ts';

export interface EmbeddedLedger extends LedgerStore {
  /** Every ledger that holds a record, by tenant and saga id: for rebuilding projections. */
  ledgers(): Iterable<LedgerId>;
}

export function embeddedLedger(open: OpenTable): EmbeddedLedger {
  return {
    async append(ledger, record) {
      const fresh = checkedRecord(record);
      const key = recordKey(ledgerKey(ledger), fresh.seq);
      return open.during(async (table) => {
        const appended = await durable(
          table.ifNoExists(key, () => {
            table.put(key, encoded(fresh));
          }),
        );
        if (appended) return { kind: 'appended' };
        const standing = table.get(key);
        if (standing === undefined) {
          throw new StoreUnavailable(
            `the append at seq ${fresh.seq} was refused, yet no record stands there: read the ledger again`,
          );
        }
        return { kind: 'conflict', standing: decoded(fresh.seq, standing) };
      });
    },

    async read(ledger, afterSeq = 0) {
      const range = recordsAfter(ledgerKey(ledger), checkedSeq('afterSeq', afterSeq, 0));
      const records: LedgerRecord[] = [];
      for (const { key, value } of open.now().getRange(range))
        records.push(decoded(seqOf(key), value));
      return records;
    },

    async head(ledger) {
      const name = ledgerKey(ledger);
      const range = { start: afterLedger(name), end: recordKey(name, 0) };
      const last = open.now().getRange({ ...range, reverse: true, limit: 1 });
      for (const { key, value } of last) return decoded(seqOf(key), value);
      return undefined;
    },

    *ledgers() {
      let start = FIRST_KEY;
      for (;;) {
        const first = [...open.now().getKeys({ start, limit: 1 })][0];
        if (first === undefined) return;
        const name = ledgerOf(first);
        yield parseLedgerKey(name);
        start = afterLedger(name);
      }
    },
  };
}

/**
 * One line with the chain, then the body as it is: it is the long part, and needs no escaping
 * there. JSON text holds no raw line break, so the first one ends the first line.
 */
function encoded(record: LedgerRecord): string {
  return `${JSON.stringify([record.prev, record.hash, record.nonce])}\n${record.body}`;
}

function decoded(seq: number, value: string): LedgerRecord {
  const lineEnd = value.indexOf('\n');
  const [prev, hash, nonce] = chainOf(value.slice(0, Math.max(0, lineEnd)));
  return { seq, body: value.slice(lineEnd + 1), prev, hash, nonce };
}

/** What cannot be read is no chain: whoever verifies the record finds it damaged, at its number. */
function chainOf(line: string): readonly [string, string, string] {
  try {
    const parts: unknown = JSON.parse(line);
    if (
      Array.isArray(parts) &&
      parts.length === 3 &&
      parts.every((part) => typeof part === 'string')
    ) {
      return parts as [string, string, string];
    }
  } catch {
    // Not JSON: damaged, as below.
  }
  return ['', '', ''];
}
