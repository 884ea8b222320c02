import type { CallPolicy, Dedupe } from '../language/effects.ts';
import { MAX_ASK_INTERVAL_MS, SKEW_MS } from './protocol.ts';
import type { ActionState } from './state.ts';

/**
 * What may be done about a call whose outcome nobody knows.
 * - `ask`: the provider can be asked now.
 * - `resend`: the same call again under the same key cannot make a second effect.
 * - `wait`: not before then.
 * - `hold`: only a person can find out.
 */
export type DoubtPath =
  | { readonly kind: 'ask' }
  | { readonly kind: 'resend' }
  | { readonly kind: 'wait'; readonly until: number }
  | { readonly kind: 'hold' };

/**
 * @param mayResend false for a forward call once recovery began: sending it again could make the very
 *   effect that is to be undone.
 */
export function doubtPath(
  action: ActionState,
  call: CallPolicy,
  now: number,
  mayResend: boolean,
): DoubtPath {
  if (action.askAt !== undefined && now < action.askAt)
    return { kind: 'wait', until: action.askAt };
  const patienceEnds =
    action.unsettledSince === undefined ? undefined : action.unsettledSince + call.pendingForMs;
  if (patienceEnds !== undefined && now >= patienceEnds) return { kind: 'hold' };
  const dedupe = dedupeNow(call, action, now);
  if (call.reconcile && dedupe !== 'none') return { kind: 'ask' };
  if (dedupe === 'key' && mayResend) return { kind: 'resend' };
  if (action.status === 'waiting' && patienceEnds !== undefined) {
    return { kind: 'wait', until: patienceEnds };
  }
  return { kind: 'hold' };
}

/**
 * Providers forget keys: after `keyTtlMs` a key no longer protects. What is sent under it has to arrive
 * before that: so it counts as forgotten earlier, by what clocks may differ and a call may take.
 */
export function dedupeNow(call: CallPolicy, action: ActionState, now: number): Dedupe {
  if (call.dedupe !== 'key' || call.keyTtlMs === undefined || action.roundSince === undefined) {
    return call.dedupe;
  }
  const margin = SKEW_MS + call.timeoutMs;
  if (now < action.roundSince + call.keyTtlMs - margin) return 'key';
  return call.reconcile ? 'lookup' : 'none';
}

/** An attempt in doubt may land until then; before, `absent` means `pending`. */
export function settledAt(action: ActionState): number {
  if (action.attempt === undefined) return 0;
  return Math.max(action.attempt.settleUntil, action.suspectUntil ?? 0) + SKEW_MS;
}

/** Growing pauses between two questions; the provider's own wish counts if it is longer. */
export function nextAskAt(
  action: ActionState,
  call: CallPolicy,
  now: number,
  askAgainInMs: number | undefined,
): number {
  const grown = Math.min(
    MAX_ASK_INTERVAL_MS,
    call.retry.backoffMs * 2 ** Math.min(40, action.asks),
  );
  return now + Math.max(grown, Math.min(MAX_ASK_INTERVAL_MS, askAgainInMs ?? 0));
}
