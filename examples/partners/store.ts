import { open } from 'lmdb';
import type { FaultRow, Spoil } from './faults.ts';
import { strikes } from './faults.ts';
import type { CallRecord, EffectRow, SystemName } from './records.ts';

/** The first answer under an idempotency key. */
export interface KeyRow {
  readonly externalId: string;
  /** Digest of operation and body: another one under the same key is refused. */
  readonly fingerprint: string;
  readonly status: number;
  readonly spoil: Spoil | null;
}

/** What may be read and written within one transaction. */
export interface Tx {
  /** The next number of a durable counter, from 1. */
  next(counter: string): number;
  call(seq: number): CallRecord | undefined;
  putCall(call: CallRecord): void;
  calls(): CallRecord[];
  effect(externalId: string): EffectRow | undefined;
  putEffect(effect: EffectRow): void;
  effects(): EffectRow[];
  effectsOf(system: SystemName, correlationId: string): EffectRow[];
  key(system: SystemName, key: string): KeyRow | undefined;
  putKey(system: SystemName, key: string, row: KeyRow): void;
  faults(): FaultRow[];
  putFault(fault: FaultRow): void;
  clearFaults(): void;
  /** The oldest fault that strikes this call; its counters go down. */
  takeFault(call: CallRecord): FaultRow | undefined;
}

export interface PartnerStore {
  /** All or nothing, one at a time, on disk before it returns. A throw rolls back. */
  transact<T>(work: (tx: Tx) => T): T;
  /** How many calls are not decided yet, late commits to come among them. */
  openCalls(): number;
  close(): Promise<void>;
}

const WIDTH = 12;

/** Opens (or makes) the store in a folder. Calls a former process left undecided become `interrupted`. */
export function openPartnerStore(folder: string, now: () => number): PartnerStore {
  // Without overlappingSync a commit returns after its fsync, not before.
  const root = open({ path: folder, overlappingSync: false });
  const counters = root.openDB<number, string>({ name: 'counters' });
  const calls = root.openDB<CallRecord, number>({ name: 'calls' });
  const effects = root.openDB<EffectRow, string>({ name: 'effects' });
  const bySeq = root.openDB<string, number>({ name: 'effects-by-seq' });
  const byCorrelation = root.openDB<string, string[]>({ name: 'effects-by-correlation' });
  const keys = root.openDB<KeyRow, string[]>({ name: 'keys' });
  const faults = root.openDB<FaultRow, string>({ name: 'faults' });

  const undecided = new Set<number>();

  const found = (ids: Iterable<string>): EffectRow[] =>
    [...ids].map((id) => effects.get(id)).filter((row) => row !== undefined);

  const tx: Tx = {
    next(counter) {
      const value = (counters.get(counter) ?? 0) + 1;
      counters.put(counter, value);
      return value;
    },
    call: (seq) => calls.get(seq),
    putCall(call) {
      calls.put(call.seq, call);
      if (call.outcome === 'open') undecided.add(call.seq);
      else undecided.delete(call.seq);
    },
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
    clearFaults() {
      for (const { id } of tx.faults()) faults.remove(id);
    },
    takeFault(call) {
      for (const fault of tx.faults()) {
        if (!strikes(fault, call)) continue;
        if (fault.skip > 0) {
          faults.put(fault.id, { ...fault, skip: fault.skip - 1 });
          continue;
        }
        if (fault.times > 1) faults.put(fault.id, { ...fault, times: fault.times - 1 });
        else faults.remove(fault.id);
        return fault;
      }
      return undefined;
    },
  };

  const transact = <T>(work: (within: Tx) => T): T => root.transactionSync(() => work(tx));

  transact(() => {
    for (const call of tx.calls()) {
      if (call.outcome !== 'open') continue;
      tx.putCall({ ...call, outcome: 'interrupted', finishedAt: now() });
    }
  });

  return { transact, openCalls: () => undecided.size, close: () => root.close() };
}
