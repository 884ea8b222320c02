import type { BreakerPolicy } from '../language/breaker-policy.ts';
import { SKEW_MS } from './protocol.ts';

/**
 * The rules of a tool's breaker: a small ledger of its own, under the same rule as a saga's. Event
 * `seq` enters only if no event has that number; whoever finds another there reads and decides again.
 * Every event says all that holds after it, so the last one is enough to go on from.
 */
export type BreakerState =
  | {
      readonly kind: 'closed';
      /** When calls failed that still count, oldest first (epoch milliseconds). */
      readonly failures: readonly number[];
    }
  | {
      readonly kind: 'open';
      /** When it opened first; a probe that fails does not begin it anew. */
      readonly since: number;
      /** No call before then; afterwards one may probe. */
      readonly until: number;
    }
  | {
      readonly kind: 'half_open';
      readonly since: number;
      /** Names the one call that is allowed. */
      readonly probe: string;
      /** The probe's lease: once it is over (and the skew of clocks), another may probe. */
      readonly until: number;
    };

export interface BreakerEvent {
  readonly seq: number;
  /** The writer's clock in epoch milliseconds, never below the previous event's. */
  readonly at: number;
  readonly type:
    | 'failure_counted'
    | 'breaker_opened'
    | 'probe_granted'
    | 'probe_returned'
    | 'breaker_closed';
  /** What holds from now on. */
  readonly after: BreakerState;
  /** Of the failure that was counted, or opened it. */
  readonly code?: string;
}

/** The last event, folded: what holds, and where the next event belongs. */
export interface Breaker {
  readonly seq: number;
  readonly at: number;
  readonly state: BreakerState;
}

export const FRESH_BREAKER: Breaker = { seq: 0, at: 0, state: { kind: 'closed', failures: [] } };

export type BreakerCommand =
  /** A call is about to be claimed; `leaseMs` is how long it may take. */
  | { readonly kind: 'admit'; readonly probe: string; readonly leaseMs: number }
  /** The call was made, and the provider answered: also a refusal is an answer. */
  | { readonly kind: 'worked'; readonly probe?: string }
  /** The call was made, and was `retryable` or `ambiguous`. */
  | { readonly kind: 'failed'; readonly probe?: string; readonly code: string }
  /** The probe made no call: another may. */
  | { readonly kind: 'return'; readonly probe: string };

export type BreakerVerdict =
  | { readonly kind: 'append'; readonly event: BreakerEvent }
  /** Nothing to record. For `admit`: the call may be made. */
  | { readonly kind: 'nothing' }
  /** For `admit`: not before then. */
  | { readonly kind: 'refused'; readonly until: number };

export function evolveBreaker(_before: Breaker, event: BreakerEvent): Breaker {
  return { seq: event.seq, at: event.at, state: event.after };
}

/** What a call means to the breaker, and what must be recorded of it first. */
export function decideBreaker(
  breaker: Breaker,
  command: BreakerCommand,
  policy: BreakerPolicy,
  now: number,
): BreakerVerdict {
  const at = Math.max(now, breaker.at);
  const append = (event: Omit<BreakerEvent, 'seq' | 'at'>): BreakerVerdict => ({
    kind: 'append',
    event: { seq: breaker.seq + 1, at, ...event },
  });
  const { state } = breaker;
  switch (command.kind) {
    case 'admit':
      return admit(state, command, now, append);
    case 'failed':
      return failed(state, command, policy, at, append);
    case 'worked':
      // A call that began before it opened says nothing of the provider as it is now.
      return isProbe(state, command.probe)
        ? append({ type: 'breaker_closed', after: { kind: 'closed', failures: [] } })
        : NOTHING;
    case 'return':
      return isProbe(state, command.probe)
        ? append({
            type: 'probe_returned',
            after: { kind: 'open', since: state.since, until: at },
          })
        : NOTHING;
  }
}

const NOTHING: BreakerVerdict = { kind: 'nothing' };

type Append = (event: Omit<BreakerEvent, 'seq' | 'at'>) => BreakerVerdict;
type HalfOpen = Extract<BreakerState, { kind: 'half_open' }>;

function admit(
  state: BreakerState,
  { probe, leaseMs }: Extract<BreakerCommand, { kind: 'admit' }>,
  now: number,
  append: Append,
): BreakerVerdict {
  if (state.kind === 'closed') return NOTHING;
  // A lease is taken over only once its holder's clock, too, says that it is over.
  const until = state.kind === 'half_open' ? state.until + SKEW_MS : state.until;
  if (now < until) return { kind: 'refused', until };
  const after = { kind: 'half_open', since: state.since, probe, until: now + leaseMs } as const;
  return append({ type: 'probe_granted', after });
}

function failed(
  state: BreakerState,
  { probe, code }: Extract<BreakerCommand, { kind: 'failed' }>,
  policy: BreakerPolicy,
  at: number,
  append: Append,
): BreakerVerdict {
  if (state.kind === 'closed') {
    const failures = [...state.failures.filter((time) => time > at - policy.withinMs), at];
    if (failures.length < policy.failures) {
      return append({ type: 'failure_counted', after: { kind: 'closed', failures }, code });
    }
    const after = { kind: 'open', since: at, until: at + policy.openMs } as const;
    return append({ type: 'breaker_opened', after, code });
  }
  if (!isProbe(state, probe)) return NOTHING;
  const after = { kind: 'open', since: state.since, until: at + policy.openMs } as const;
  return append({ type: 'breaker_opened', after, code });
}

function isProbe(state: BreakerState, probe: string | undefined): state is HalfOpen {
  return state.kind === 'half_open' && probe !== undefined && state.probe === probe;
}
