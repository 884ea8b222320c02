import { createHash } from 'node:crypto';

/** What the checker is given, and how it reads it. It shares no code with the engine. */

/** A ledger entry as stored. */
export interface StoredRecord {
  readonly seq: number;
  readonly body: string;
  readonly prev: string;
  readonly hash: string;
}

export interface LedgerName {
  readonly tenant: string;
  readonly sagaId: string;
}

/** One call as the partner saw it. */
export interface CallFact {
  /** True time in epoch milliseconds. */
  readonly at: number;
  readonly operation: string;
  /** False: it only reads. */
  readonly writes: boolean;
  readonly correlationId: string;
  readonly key: string;
  /** `nothing`: the caller was clearly told that nothing was done. `lost`: it was told nothing. */
  readonly answer: 'done' | 'nothing' | 'lost';
  /** What a question was answered. */
  readonly told?: 'committed' | 'absent' | 'pending' | 'unknown';
  /** The arguments as they came, where JSON holds them unchanged. */
  readonly args?: unknown;
  /** What it was told that the call may cost at most: `null` where it was told nothing, absent where it keeps no note. */
  readonly costLimit?: CostFact | null;
}

/** An amount in the minor unit of its currency. */
export interface CostFact {
  readonly costMinor: number;
  readonly currency: string;
}

export type Ids = Readonly<Record<string, string>>;

/** One effect as it stands in the partner's books. */
export interface EffectFact {
  readonly id: string;
  readonly at: number;
  readonly correlationId: string;
  readonly key: string;
  /** Id of the effect that this one undoes. */
  readonly reverses?: string;
  /** Ids by which the partner knows it, as it told them. Absent: it keeps no note. */
  readonly ids?: Ids;
  /** What it took for it, as it told whoever called: `null` where it took nothing, absent where it keeps no note. */
  readonly cost?: CostFact | null;
  /** Made by a person at the partner, beside the engine. */
  readonly byHand?: true;
}

/** What one partner says about itself. */
export interface PartnerFacts {
  readonly name: string;
  /** What it can do about repeats, as its contract declares. */
  readonly dedupe: 'key' | 'lookup' | 'none';
  /** How long it remembers a key (milliseconds). Absent: for good. */
  readonly keyTtlMs?: number;
  /** The call that its contract declares to undo or contain what it does. Absent: there is none, or it does not say. */
  readonly recovery?: { readonly estimate?: CostFact };
  readonly calls: readonly CallFact[];
  /** Ids that it told of calls which it accepted, to settle them later. Absent: it keeps no note. */
  readonly accepted?: readonly { readonly correlationId: string; readonly ids: Ids }[];
  readonly effects: readonly EffectFact[];
}

export interface Event {
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  readonly state: string;
  readonly drive: string;
  readonly epoch: number;
  readonly dueAt?: number;
  readonly [member: string]: unknown;
}

/** One step and action, as the events tell it. */
export interface Ledgered {
  readonly step: string;
  readonly action: string;
  readonly claims: Event[];
  /** Nonces of attempts whose outcome stands, with the event. */
  readonly outcomes: Map<string, Event>;
  committed: Event | undefined;
  correlationId: string | undefined;
}

export type Actions = Map<string, Ledgered>;

export interface StepFact {
  readonly name: string;
  readonly effect: string;
  /** Absent: the step declared before it. */
  readonly after?: readonly string[];
  readonly checkpoint?: true;
}

export const FINAL = ['completed', 'compensated', 'incident'];

/** How far two clocks may differ, by the protocol. */
export const SKEW_MS = 2_000;

export function stepsOf(events: readonly Event[]): readonly StepFact[] {
  return (events[0]?.steps ?? []) as readonly StepFact[];
}

export function nonceOf(event: Event): string {
  return `${String(event.attempt)}:${String(event.attemptNonce)}`;
}

export function number(value: unknown): number {
  return typeof value === 'number' ? value : Number.NaN;
}

export function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

/** Sorted members, no white space: enough for what JSON.parse gives back. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.keys(value).sort();
  const texts = members.map(
    (name) => `${JSON.stringify(name)}:${canonical((value as Record<string, unknown>)[name])}`,
  );
  return `{${texts.join(',')}}`;
}

/** Whether nothing is owed for the step any more, by the events before `before`. */
export function isRecovered(
  step: string,
  before: number,
  events: readonly Event[],
  actions: Actions,
): boolean {
  const stands = (event: Event | undefined): boolean => event !== undefined && event.seq < before;
  for (const action of ['compensate', 'supersede', 'contain']) {
    if (stands(actions.get(`${step}/${action}`)?.committed)) return true;
  }
  const resolved = events.some(
    (event) => event.decision === 'resolve' && event.step === step && event.seq < before,
  );
  const forward = actions.get(`${step}/forward`)?.committed;
  // Its contract says that nothing of it is to be undone.
  return resolved || !stands(forward) || undoOf(forward)?.kind === 'skipped';
}

/** What a commit keeps for its undo. */
export function undoOf(
  commit: Event | undefined,
): { readonly kind?: string; readonly value?: unknown } | undefined {
  const undo = commit?.undo;
  return typeof undo === 'object' && undo !== null ? undo : undefined;
}

const opened = new WeakMap<readonly StoredRecord[], readonly Event[]>();

/** The events that the records hold, each parsed once. */
export function eventsIn(records: readonly StoredRecord[]): readonly Event[] {
  const known = opened.get(records);
  if (known?.length === records.length) return known;
  const events = records.map((record) => JSON.parse(record.body) as Event);
  opened.set(records, events);
  return events;
}
