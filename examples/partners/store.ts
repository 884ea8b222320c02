import type { FaultRow, FaultRows, Spoil } from './faults.ts';
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
export interface Tx extends FaultRows {
  /** The next number of a durable counter, from 1. */
  next(counter: string): number;
  putCall(call: CallRecord): void;
  /** In the order of their numbers. */
  calls(): CallRecord[];
  effect(externalId: string): EffectRow | undefined;
  putEffect(effect: EffectRow): void;
  /** In the order of their numbers. */
  effects(): EffectRow[];
  effectsOf(system: SystemName, correlationId: string): EffectRow[];
  key(system: SystemName, key: string): KeyRow | undefined;
  putKey(system: SystemName, key: string, row: KeyRow): void;
  /** In the order in which they were switched on. */
  faults(): FaultRow[];
}

/** Where the partner systems keep what they know. */
export interface PartnerStore {
  /**
   * All or nothing, as if one at a time, durable before it resolves. A throw leaves nothing.
   * `work` MUST do nothing but read and write through `tx`: where another writer was faster, it runs
   * again on what that one left.
   */
  transact<T>(work: (tx: Tx) => T): Promise<T>;
  close(): Promise<void>;
}
