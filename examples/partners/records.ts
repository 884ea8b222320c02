/** What the partner systems keep about themselves and serve at `GET /{system}/records`. */

export const SYSTEMS = [
  'stock',
  'erp',
  'courier',
  'payments',
  'customers',
  'documents',
  'search',
  'register',
] as const;
export type SystemName = (typeof SYSTEMS)[number];

export type JsonObject = { readonly [member: string]: unknown };

/**
 * - `open`: received and not decided yet (a late commit is still to come).
 * - `committed`: made a new effect. `replayed`: known key, the first answer again.
 * - `read`: answered from the records. `refused`: a clear business refusal. `invalid`: malformed.
 * - `throttled`, `unavailable`, `dropped`: turned away before any effect.
 * - `interrupted`: the process died before the effect.
 */
export const CALL_OUTCOMES = [
  'open',
  'committed',
  'replayed',
  'read',
  'refused',
  'invalid',
  'throttled',
  'unavailable',
  'dropped',
  'interrupted',
] as const;
export type CallOutcome = (typeof CALL_OUTCOMES)[number];

/** One request that reached a system, whatever came of it. */
export interface CallRecord {
  /** Position among all calls and effects of all systems of this service. */
  readonly seq: number;
  readonly system: SystemName;
  readonly operation: string;
  readonly correlationId: string | null;
  readonly idempotencyKey: string | null;
  readonly orderId: string | null;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly finishedAt: number | null;
  readonly outcome: CallOutcome;
  /** HTTP status that was answered; `null` where the caller got no answer. */
  readonly status: number | null;
  /** Code of the refusal. */
  readonly code: string | null;
  /** Fault that was injected into this call. */
  readonly fault: string | null;
  /** External id of the effect that was made or answered again. */
  readonly effect: string | null;
}

/**
 * - `pending`: accepted, settles later. `declined`: accepted, then turned down: no effect stands.
 * - `reversed`: undone in full by the effects in `reversedBy`.
 */
export type EffectState = 'standing' | 'pending' | 'declined' | 'reversed';

/** One change in the outside world, as the system stores it. */
export interface EffectRow {
  readonly seq: number;
  readonly system: SystemName;
  readonly operation: string;
  readonly externalId: string;
  /** External id of the effect that this one undoes. */
  readonly reverses: string | null;
  readonly reversedBy: readonly string[];
  readonly correlationId: string | null;
  readonly idempotencyKey: string | null;
  readonly orderId: string | null;
  /** `seq` of the call that made it. */
  readonly call: number;
  /** Epoch milliseconds of the commit. */
  readonly at: number;
  /** Epoch milliseconds; before that the effect is `pending`. */
  readonly settlesAt: number | null;
  readonly settlesAs: 'settled' | 'declined';
  readonly amountMinor: number | null;
  readonly currency: string | null;
  /** What the system bills for it, in minor units. */
  readonly costMinor: number | null;
  readonly document: JsonObject;
}

/** An effect as served: the row, and what it amounts to now. */
export interface EffectRecord extends EffectRow {
  readonly state: EffectState;
  /** Sum of settled reversals, in minor units (0 where the effect has no amount). */
  readonly reversedMinor: number;
}

export interface ActionCount {
  readonly correlationId: string | null;
  readonly operation: string;
  readonly calls: number;
  /** Effects that were made, declined ones left out. */
  readonly effects: number;
}

export interface SystemRecords {
  readonly system: SystemName;
  readonly calls: readonly CallRecord[];
  readonly effects: readonly EffectRecord[];
  readonly counts: readonly ActionCount[];
}

/** Whether an accepted effect has settled by now, and how. */
export function settlement(effect: EffectRow, now: number): 'pending' | 'settled' | 'declined' {
  if (effect.settlesAt !== null && now < effect.settlesAt) return 'pending';
  return effect.settlesAt === null ? 'settled' : effect.settlesAs;
}

/** What an effect amounts to at `now`, given the effects that undo it. */
export function effectRecord(
  effect: EffectRow,
  reversals: readonly EffectRow[],
  now: number,
): EffectRecord {
  const settled = reversals.filter((row) => settlement(row, now) === 'settled');
  const reversedMinor = settled.reduce((sum, row) => sum + (row.amountMinor ?? 0), 0);
  const own = settlement(effect, now);
  const undone =
    settled.length > 0 && (effect.amountMinor === null || reversedMinor >= effect.amountMinor);
  const state: EffectState = own !== 'settled' ? own : undone ? 'reversed' : 'standing';
  return { ...effect, state, reversedMinor };
}

/** Calls and effects per correlation id and operation, in the order of their first call. */
export function countActions(
  calls: readonly CallRecord[],
  effects: readonly EffectRecord[],
): ActionCount[] {
  const counts = new Map<string, { -readonly [K in keyof ActionCount]: ActionCount[K] }>();
  const countOf = (row: { correlationId: string | null; operation: string }) => {
    const name = JSON.stringify([row.correlationId, row.operation]);
    const count = counts.get(name) ?? {
      correlationId: row.correlationId,
      operation: row.operation,
      calls: 0,
      effects: 0,
    };
    counts.set(name, count);
    return count;
  };
  for (const call of calls) countOf(call).calls += 1;
  for (const effect of effects) if (effect.state !== 'declined') countOf(effect).effects += 1;
  return [...counts.values()];
}
