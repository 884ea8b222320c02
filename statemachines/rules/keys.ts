import { canonicalJson } from '../ledger/canonical.ts';
import { sha256Hex } from '../ledger/hash.ts';
import type { Action } from './events.ts';

/**
 * The saga's id: a hash of who starts it, what it is and the caller's key. The same start is therefore
 * the same ledger, and event 1 is the start's idempotency record. 32 hex digits: with an epoch behind
 * it, it fits an execution name (80 characters) whatever the caller's key looks like.
 */
export function sagaIdOf(start: {
  readonly tenant: string;
  readonly principal: string;
  readonly name: string;
  readonly key: string;
}): string {
  return sha256Hex(canonicalJson([start.tenant, start.principal, start.name, start.key])).slice(
    0,
    32,
  );
}

/**
 * The key a provider deduplicates by: it names saga, step, action and round (invariant 9), and fits
 * the shortest limit we know of in the field (40 characters).
 */
export function idempotencyKeyOf(
  sagaId: string,
  step: string,
  action: Action,
  round: number,
): string {
  return sha256Hex(canonicalJson([sagaId, step, action, round])).slice(0, 40);
}

/** By this id the provider can be asked what became of the action, whichever round made the call. */
export function correlationIdOf(sagaId: string, step: string, action: Action): string {
  return sha256Hex(canonicalJson([sagaId, step, action])).slice(0, 40);
}

export function executionNameOf(sagaId: string, epoch: number): string {
  return `${sagaId}-${epoch}`;
}
