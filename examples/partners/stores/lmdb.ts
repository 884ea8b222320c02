import { open } from 'lmdb';
import type { FaultRow } from '../faults.ts';
import type { CallRecord, EffectRow } from '../records.ts';
import type { KeyRow, PartnerStore, Tx } from '../store.ts';

const WIDTH = 12;

/**
 * Opens (or makes) the store in a folder, for one process. Calls a former process left undecided become
 * `interrupted`.
 */
export function openLmdbStore(folder: string, now: () => number): PartnerStore {
  // Without overlappingSync a commit returns after its fsync, not before.
  const root = open({ path: folder, overlappingSync: false });
  const counters = root.openDB<number, string>({ name: 'counters' });
  const calls = root.openDB<CallRecord, number>({ name: 'calls' });
  const effects = root.openDB<EffectRow, string>({ name: 'effects' });
  const bySeq = root.openDB<string, number>({ name: 'effects-by-seq' });
  const byCorrelation = root.openDB<string, string[]>({ name: 'effects-by-correlation' });
  const keys = root.openDB<KeyRow, string[]>({ name: 'keys' });
  const faults = root.openDB<FaultRow, string>({ name: 'faults' });

  const found = (ids: Iterable<string>): EffectRow[] =>
    [...ids].map((id) => effects.get(id)).filter((row) => row !== undefined);

  const tx: Tx = {
    next(counter) {
      const value = (counters.get(counter) ?? 0) + 1;
      counters.put(counter, value);
      return value;
    },
    putCall: (call) => void calls.put(call.seq, call),
    calls: () => [...calls.getRange().map(({ value }) => value)],
    effect: (externalId) => effects.get(externalId),
    putEffect(effect) {
      effects.put(effect.externalId, effect);
      bySeq.put(effect.seq, effect.externalId);
      if (effect.correlationId === null) return;
      const order = String(effect.seq).padStart(WIDTH, '0');
      byCorrelation.put([effect.system, effect.correlationId, order], effect.externalId);
    },
    effects: () => found(bySeq.getRange().map(({ value }) => value)),
    effectsOf: (system, correlationId) =>
      found(
        byCorrelation
          .getRange({
            start: [system, correlationId, '0'],
            end: [system, correlationId, '9'.repeat(WIDTH + 1)],
          })
          .map(({ value }) => value),
      ),
    key: (system, key) => keys.get([system, key]),
    putKey: (system, key, row) => void keys.put([system, key], row),
    faults: () => [...faults.getRange().map(({ value }) => value)],
    putFault: (fault) => void faults.put(fault.id, fault),
    removeFault: (id) => void faults.remove(id),
  };

  const transact = <T>(work: (within: Tx) => T): T => root.transactionSync(() => work(tx));

  transact(() => {
    for (const call of tx.calls()) {
      if (call.outcome !== 'open') continue;
      tx.putCall({ ...call, outcome: 'interrupted', finishedAt: now() });
    }
  });

  return { transact: async (work) => transact(work), close: () => root.close() };
}
