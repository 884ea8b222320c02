import { DEFAULT_BREAKER_FOR_MS } from '../language/defaults.ts';
import type { CallPolicy } from '../language/effects.ts';
import type { SagaPlan, StepPlan } from '../plan/plan.ts';
import type { Action, Cost, SpentReason } from './events.ts';
import { AFTER_PIVOT_ATTEMPTS, AFTER_PIVOT_FOR_MS, MAX_IDLE_PAUSE_MS } from './protocol.ts';
import type { ActionState, SagaState, StepState } from './state.ts';
import { isDeferred, isDone, isUnresolved, pivotCommitted, stepsInOrder } from './view.ts';

/**
 * Budgets nest: an attempt has its `timeoutMs`, a step its tries and its time (`retry`), the saga its
 * tries and cost (`budget`) beside its deadline. All are counted in the ledger. Recovery's are its own,
 * so nothing that going forward spends is missing there.
 */

/** A call's policy with the budget that its place in the saga gives it: past the pivot a step goes on. */
export function withBudget(
  call: CallPolicy,
  step: Pick<StepPlan, 'afterPivot'>,
  action: Action,
): CallPolicy {
  if (action !== 'forward' || step.afterPivot !== true) return call;
  const { retry } = call;
  const maxAttempts = Math.max(retry.maxAttempts, AFTER_PIVOT_ATTEMPTS);
  const time =
    retry.forMs === undefined ? {} : { forMs: Math.max(retry.forMs, AFTER_PIVOT_FOR_MS) };
  return { ...call, retry: { ...retry, maxAttempts, ...time } };
}

/**
 * Which of the step's own budgets leaves no room for a try that begins at that time (epoch
 * milliseconds); nothing: it may be tried.
 * @param call as {@link withBudget} gives it
 */
export function stepSpent(
  action: ActionState,
  call: CallPolicy,
  at: number,
): SpentReason | undefined {
  if (action.spent >= call.retry.maxAttempts) return 'attempts_spent';
  if (at < budgetEnd(action, call)) return undefined;
  return isDeferred(action) ? 'breaker_open' : 'time_spent';
}

/**
 * From when on no try may begin. While its provider is left alone there are no tries to count, so then it
 * ends in any case.
 */
function budgetEnd(action: ActionState, call: CallPolicy): number {
  const endless = isDeferred(action) ? DEFAULT_BREAKER_FOR_MS : Number.POSITIVE_INFINITY;
  const { triedSince } = action;
  return triedSince === undefined
    ? Number.POSITIVE_INFINITY
    : triedSince + (call.retry.forMs ?? endless);
}

/**
 * When a claim is tried again that the breaker refused until then: in growing pauses, each of which is an
 * event less, though never beyond half of the time that is left, so that the budget ends no earlier than
 * it says.
 * @param call as {@link withBudget} gives it
 * @param until epoch milliseconds
 */
export function deferredUntil(
  action: ActionState,
  call: CallPolicy,
  until: number,
  now: number,
): number {
  const since = action.triedSince ?? now;
  const left = since + (call.retry.forMs ?? DEFAULT_BREAKER_FOR_MS) - now;
  const grown = (until - now) * 2 ** Math.min(30, action.deferrals);
  const pause = Math.min(grown, MAX_IDLE_PAUSE_MS, left / 2);
  return Math.max(until, now + Math.floor(pause), now);
}

/**
 * Which of the saga's budgets leaves no room for another forward try of this step. Past the pivot there
 * is no way back, so nothing but the step's own budget ends it.
 */
export function sagaSpent(
  state: SagaState,
  plan: SagaPlan,
  step: StepState,
): SpentReason | undefined {
  const { budget } = plan;
  if (budget === undefined || pivotCommitted(state)) return undefined;
  if (budget.attempts !== undefined && forwardAttempts(state) >= budget.attempts) {
    return 'attempts_spent';
  }
  if (budget.cost === undefined) return undefined;
  const others = stepsInOrder(state).filter((other) => other !== step);
  const spent = others.reduce((sum, other) => sum + costOf(other, plan, budget.cost), 0);
  const own = plannedCost(step, plan)?.costMinor ?? 0;
  return own > 0 && spent + own > budget.cost.costMinor ? 'cost_spent' : undefined;
}

/** Forward tries of all steps; those that a person gave anew begin at zero. */
function forwardAttempts(state: SagaState): number {
  return stepsInOrder(state).reduce((sum, { forward }) => sum + forward.spent, 0);
}

/** What a step has cost by now: as the provider told, else as estimated; in doubt it counts in full. */
function costOf(step: StepState, plan: SagaPlan, within: Cost | undefined): number {
  const { forward } = step;
  if (forward.commit?.via === 'adopted') return 0;
  const told = forward.commit?.cost;
  if (told !== undefined && told.currency === within?.currency) return told.costMinor;
  const counts = isDone(forward) || isUnresolved(forward);
  return counts ? (plannedCost(step, plan)?.costMinor ?? 0) : 0;
}

function plannedCost(step: StepState, plan: SagaPlan): Cost | undefined {
  return plan.steps.find(({ name }) => name === step.record.name)?.forwardCost;
}
