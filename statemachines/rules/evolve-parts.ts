import type { Action, RecoveryAction, SagaEvent } from './events.ts';
import type { ActionState, Halt, SagaState, StepState } from './state.ts';
import { freshAction } from './state.ts';
import { actionOf, isDeferred, pivotCommitted } from './view.ts';

/** What the folds of single events are made of. */

export type Head = Pick<SagaEvent, 'seq' | 'at' | 'actor'>;

export function withStep(
  state: SagaState,
  name: string,
  change: (step: StepState) => StepState,
): SagaState {
  const step = state.steps.get(name);
  if (step === undefined) return state;
  const steps = new Map(state.steps);
  steps.set(name, change(step));
  return { ...state, steps };
}

export function withAction(
  state: SagaState,
  name: string,
  action: Action,
  change: (current: ActionState) => ActionState,
): SagaState {
  return withStep(state, name, (step) => {
    if (action === 'forward') return { ...step, forward: change(step.forward) };
    const current = actionOf(step, action) ?? freshAction(action);
    return {
      ...step,
      recovery: { ...change(current), action: action satisfies RecoveryAction },
    };
  });
}

export function halt(
  state: SagaState,
  head: Pick<Head, 'seq' | 'at'>,
  reason: Halt['reason'],
  of: {
    readonly step?: string | undefined;
    readonly code?: string | undefined;
    readonly budget?: 'saga' | undefined;
    readonly everything?: true | undefined;
  } = {},
): SagaState {
  if (state.halt !== undefined) return state;
  const { step, code, budget, everything } = of;
  return {
    ...state,
    halt: {
      seq: head.seq,
      at: head.at,
      reason,
      afterPivot: pivotCommitted(state),
      ...(step === undefined ? {} : { step }),
      ...(code === undefined ? {} : { code }),
      ...(budget === undefined ? {} : { budget }),
      ...(everything === undefined ? {} : { everything }),
    },
  };
}

export function reopened(action: ActionState): ActionState {
  // The breaker is asked anew; a pause that the provider asked for stays.
  const retryAt = isDeferred(action) ? undefined : action.retryAt;
  const fresh = { ...action, spent: 0, retryAt, triedSince: undefined, deferrals: 0 };
  const next = asked(fresh);
  if (action.status !== 'failed') return next;
  // Beyond repair is no refusal: whether it took effect is asked first, or it is sent again as it was.
  if (action.failure?.class === 'irreversible_incident') {
    return { ...next, status: 'in_doubt', retryAt: undefined };
  }
  return {
    ...next,
    status: 'retrying',
    ...nextRound(action),
    retryAt: undefined,
  };
}

/** From now on calls are made under another key; what answers to the one before were about came to nothing. */
export function nextRound(
  action: ActionState,
): Pick<ActionState, 'round' | 'roundStarts' | 'roundSince' | 'externalIds'> {
  return {
    externalIds: {},
    round: action.round + 1,
    roundStarts: [...action.roundStarts, action.attempts + 1],
    roundSince: undefined,
  };
}

/** Lets a call in doubt be asked about again at once. */
export function asked(action: ActionState): ActionState {
  if (action.status !== 'in_doubt' && action.status !== 'waiting') return action;
  return { ...action, asks: 0, askAt: undefined, unsettledSince: undefined };
}
