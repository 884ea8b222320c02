import {
  type BreakerLedger,
  type BreakerRecord,
  KEPT_BREAKER_RECORDS,
} from '../../ports/breaker-ledger.ts';
import { StoreUnavailable } from '../../ports/ledger-store.ts';
import { checkedBreakerRecord, checkedTool } from '../checks.ts';
import { afterLedger, recordKey, seqOf } from './keys.ts';
import { durable, type OpenTable } from './table.ts';

export function embeddedBreakers(open: OpenTable): BreakerLedger {
  return {
    async append(tool, record) {
      const name = checkedTool(tool);
      const fresh = checkedBreakerRecord(record);
      const key = recordKey(name, fresh.seq);
      return open.during(async (table) => {
        const appended = await durable(
          table.ifNoExists(key, () => {
            table.put(key, encoded(fresh));
            const old = fresh.seq - KEPT_BREAKER_RECORDS;
            if (old > 0) table.remove(recordKey(name, old));
          }),
        );
        if (appended) return { kind: 'appended' };
        const standing = table.get(key);
        if (standing === undefined) {
          throw new StoreUnavailable(
            `the append at seq ${fresh.seq} was refused, yet no record stands there: read the breaker again`,
          );
        }
        return { kind: 'conflict', standing: decoded(fresh.seq, standing) };
      });
    },

    async head(tool) {
      const name = checkedTool(tool);
      const range = { start: afterLedger(name), end: recordKey(name, 0) };
      for (const { key, value } of open.now().getRange({ ...range, reverse: true, limit: 1 })) {
        return decoded(seqOf(key), value);
      }
      return undefined;
    },
  };
}

/** JSON text holds no raw line break, so the first one ends the nonce. */
function encoded(record: BreakerRecord): string {
  return `${JSON.stringify(record.nonce)}\n${record.body}`;
}

function decoded(seq: number, value: string): BreakerRecord {
  const lineEnd = value.indexOf('\n');
  return {
    seq,
    body: value.slice(lineEnd + 1),
    nonce: JSON.parse(value.slice(0, lineEnd)) as string,
  };
}
