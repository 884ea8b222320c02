import type { Cost, ExternalIds } from '../../statemachines/rules/events.ts';

/** What an implementation answers. Built with the functions below; a plain value is a commit too. */
export type Answer<T> = Committed<T> | Pending | Absent | Unknown;

const KIND = Symbol.for('counterstep.answer');

export interface Details {
  /** Ids by which the provider knows the effect; they win over the contract's `externalIds`. */
  readonly externalIds?: ExternalIds;
  /** What it cost in fact. */
  readonly cost?: Cost;
}

export interface Committed<T> extends Details {
  readonly [KIND]: 'committed';
  readonly output: T;
}

export interface Pending {
  readonly [KIND]: 'pending';
  readonly externalIds?: ExternalIds;
  /** The provider's wish; pauses grow up to an hour by themselves. */
  readonly askAgainInMs?: number;
}

export interface Absent {
  readonly [KIND]: 'absent';
}

export interface Unknown {
  readonly [KIND]: 'unknown';
}

/** The effect stands, with this result. */
export function committed<T>(output: T, details: Details = {}): Committed<T> {
  return { [KIND]: 'committed', output, ...details };
}

/** The provider has accepted the call and will settle it later. The saga parks and asks again. */
export function pending(
  details: { readonly externalIds?: ExternalIds; readonly askAgainInMs?: number } = {},
): Pending {
  return { [KIND]: 'pending', ...details };
}

/** Only from `reconcile`: the provider knows no such call. Believed once the settle window is over. */
export function absent(): Absent {
  return { [KIND]: 'absent' };
}

/** Only from `reconcile`: the provider cannot say. It is asked again, then a person is. */
export function unknown(): Unknown {
  return { [KIND]: 'unknown' };
}

export function answerKind(
  value: unknown,
): 'committed' | 'pending' | 'absent' | 'unknown' | undefined {
  if (typeof value !== 'object' || value === null || !(KIND in value)) return undefined;
  const kind = (value as Answer<unknown>)[KIND];
  return kind;
}
