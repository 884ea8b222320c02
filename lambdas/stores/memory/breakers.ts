import {
  type BreakerLedger,
  type BreakerRecord,
  KEPT_BREAKER_RECORDS,
} from '../../ports/breaker-ledger.ts';
import { checkedBreakerRecord, checkedTool } from '../checks.ts';

/** Records by tool, ordered by `seq`. */
export type MemoryBreakers = Map<string, BreakerRecord[]>;

export function memoryBreakers(breakers: MemoryBreakers): BreakerLedger {
  return {
    async append(tool, record) {
      const name = checkedTool(tool);
      const fresh = Object.freeze(checkedBreakerRecord(record));
      const records = breakers.get(name) ?? [];
      const standing = records.find(({ seq }) => seq === fresh.seq);
      if (standing !== undefined) return { kind: 'conflict', standing };
      const next = [...records, fresh].sort((a, b) => a.seq - b.seq);
      breakers.set(name, next.slice(-KEPT_BREAKER_RECORDS));
      return { kind: 'appended' };
    },

    async head(tool) {
      return breakers.get(checkedTool(tool))?.at(-1);
    },
  };
}
