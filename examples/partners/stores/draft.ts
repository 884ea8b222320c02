import type { FaultRow } from '../faults.ts';
import type { CallRecord, EffectRow, SystemName } from '../records.ts';
import type { KeyRow, Tx } from '../store.ts';

/** Rows of one kind by key, as a transaction left them; `null`: removed. */
type Changed<Row> = readonly (readonly [key: string, row: Row | null])[];

/** What one transaction changed. Kinds that it did not touch are left out. */
export interface Changes {
  readonly counters?: Changed<number>;
  readonly calls?: Changed<CallRecord>;
  readonly effects?: Changed<EffectRow>;
  readonly keys?: Changed<KeyRow>;
  readonly faults?: Changed<FaultRow>;
}

/** All rows as the transactions so far left them, in the order in which they were first written. */
export class Rows {
  readonly counters = new Map<string, number>();
  readonly calls = new Map<string, CallRecord>();
  readonly effects = new Map<string, EffectRow>();
  readonly keys = new Map<string, KeyRow>();
  readonly faults = new Map<string, FaultRow>();

  apply(changes: Changes): void {
    applyTo(this.counters, changes.counters);
    applyTo(this.calls, changes.calls);
    applyTo(this.effects, changes.effects);
    applyTo(this.keys, changes.keys);
    applyTo(this.faults, changes.faults);
  }
}

function applyTo<Row>(rows: Map<string, Row>, changed: Changed<Row> = []): void {
  for (const [key, row] of changed) {
    if (row === null) rows.delete(key);
    else rows.set(key, row);
  }
}

/** Rows of one kind with a transaction's changes over them. */
class Layer<Row> {
  readonly #under: ReadonlyMap<string, Row>;
  readonly #changed = new Map<string, Row | null>();

  constructor(under: ReadonlyMap<string, Row>) {
    this.#under = under;
  }

  get(key: string): Row | undefined {
    const changed = this.#changed.get(key);
    return changed === undefined ? this.#under.get(key) : (changed ?? undefined);
  }

  set(key: string, row: Row | null): void {
    this.#changed.set(key, row);
  }

  all(): Row[] {
    return [...new Map<string, Row | null>([...this.#under, ...this.#changed]).values()].filter(
      (row) => row !== null,
    );
  }

  changed(): Changed<Row> {
    return [...this.#changed];
  }
}

/** A transaction over rows in memory: what it writes is kept beside them until it is appended. */
export class Draft implements Tx {
  readonly #counters: Layer<number>;
  readonly #calls: Layer<CallRecord>;
  readonly #effects: Layer<EffectRow>;
  readonly #keys: Layer<KeyRow>;
  readonly #faults: Layer<FaultRow>;

  constructor(rows: Rows) {
    this.#counters = new Layer(rows.counters);
    this.#calls = new Layer(rows.calls);
    this.#effects = new Layer(rows.effects);
    this.#keys = new Layer(rows.keys);
    this.#faults = new Layer(rows.faults);
  }

  next(counter: string): number {
    const value = (this.#counters.get(counter) ?? 0) + 1;
    this.#counters.set(counter, value);
    return value;
  }

  putCall(call: CallRecord): void {
    this.#calls.set(String(call.seq), call);
  }

  calls(): CallRecord[] {
    return this.#calls.all();
  }

  effect(externalId: string): EffectRow | undefined {
    return this.#effects.get(externalId);
  }

  putEffect(effect: EffectRow): void {
    this.#effects.set(effect.externalId, effect);
  }

  effects(): EffectRow[] {
    return this.#effects.all();
  }

  effectsOf(system: SystemName, correlationId: string): EffectRow[] {
    return this.effects().filter(
      (row) => row.system === system && row.correlationId === correlationId,
    );
  }

  key(system: SystemName, key: string): KeyRow | undefined {
    return this.#keys.get(JSON.stringify([system, key]));
  }

  putKey(system: SystemName, key: string, row: KeyRow): void {
    this.#keys.set(JSON.stringify([system, key]), row);
  }

  faults(): FaultRow[] {
    return this.#faults.all();
  }

  putFault(fault: FaultRow): void {
    this.#faults.set(fault.id, fault);
  }

  removeFault(id: string): void {
    this.#faults.set(id, null);
  }

  /** `undefined`: it wrote nothing. */
  changes(): Changes | undefined {
    const all = {
      counters: this.#counters.changed(),
      calls: this.#calls.changed(),
      effects: this.#effects.changed(),
      keys: this.#keys.changed(),
      faults: this.#faults.changed(),
    };
    const touched = Object.entries(all).filter(([, changed]) => changed.length > 0);
    return touched.length === 0 ? undefined : Object.fromEntries(touched);
  }
}
