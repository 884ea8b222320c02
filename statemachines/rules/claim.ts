import type { CallPolicy } from '../language/effects.ts';
import { deferredUntil, sagaSpent, stepSpent, withBudget } from './budgets.ts';
import type { Claim, Context, Defer, Mark, Refuse, Rejection, Verdict } from './commands.ts';
import { dedupeNow, doubtPath } from './doubt.ts';
import type { SpentReason } from './events.ts';
import { correlationIdOf, idempotencyKeyOf } from './keys.ts';
import { LEASE_MARGIN_MS, SKEW_MS } from './protocol.ts';
import { budgetFor, recoveryGate } from './recovery-gate.ts';
import { append } from './stamp.ts';
import type { ActionState, SagaState, StepState } from './state.ts';
import { freshAction } from './state.ts';
import {
  actionOf,
  forwardPredecessors,
  isDone,
  isFinal,
  isLive,
  isUnresolved,
  pivotCommitted,
  writes,
} from './view.ts';

/** Claims a step for one attempt, before anything is called (invariants 5, 7, 9, 13). */
export function claim(state: SagaState, command: Claim, context: Context): Verdict {
  const checked = mayClaim(state, command, context.now);
  if (checked.kind !== 'free') return checked;
  const draft = claimDraft(state, command, checked.action, checked.call, context.now);
  return append(state, draft, context);
}

/** Notes that a claim that would stand is not made, and until when. */
export function defer(state: SagaState, command: Defer, context: Context): Verdict {
  const checked = mayClaim(state, { ...command, kind: 'claim' }, context.now);
  if (checked.kind !== 'free') return checked;
  const { step, action } = command;
  const now = Math.max(context.now, state.at);
  const call = withBudget(checked.call, step, action);
  const retryAt = deferredUntil(checked.action, call, command.until, now);
  const { name, effect } = step;
  const draft = {
    type: 'step_deferred',
    step: name,
    action,
    effect,
    reason: 'breaker_open',
  } as const;
  return append(state, { ...draft, retryAt }, context);
}

export interface FreeToClaim {
  readonly kind: 'free';
  readonly action: ActionState;
  readonly call: CallPolicy;
}

/** Whether a claim would stand, without making it: asked before arguments are built and kept. */
export function mayClaim(state: SagaState, command: Claim, now: number): Verdict | FreeToClaim {
  const refused = admission(state, command);
  if (refused !== undefined) return refused;
  const step = state.steps.get(command.step.name);
  if (step === undefined)
    return reject({ reason: 'drift', explanation: missingStep(command.step.name) });
  const call = callOf(command);
  if (call === undefined) return reject({ reason: 'not_required' });
  const action = actionOf(step, command.action) ?? freshAction(command.action);
  return availability(state, step, action, call, command, now) ?? { kind: 'free', action, call };
}

/** A refusal that needs no claim: the arguments cannot be built, or the rules forbid them. */
export function refuse(state: SagaState, command: Refuse, context: Context): Verdict {
  const refused = admission(state, command);
  if (refused !== undefined) return refused;
  const step = state.steps.get(command.step);
  if (step === undefined) {
    return reject({ reason: 'drift', explanation: missingStep(command.step) });
  }
  const action = actionOf(step, command.action);
  if (action !== undefined && (isDone(action) || action.status === 'failed'))
    return { kind: 'already' };
  // An attempt of it is under way or in doubt: its arguments were good once, and no refusal undoes it.
  if (action !== undefined && isUnresolved(action)) return reject({ reason: 'held' });
  const gate =
    command.action === 'forward'
      ? forwardGate(state, step, context.now)
      : recoveryGate(state, step);
  if (gate !== undefined) return reject(gate);
  return append(
    state,
    {
      type: 'step_failed',
      step: command.step,
      action: command.action,
      effect: step.record.effect,
      attempt: 0,
      failure: command.failure,
      code: command.code,
      message: command.message,
      ...(command.reason === undefined ? {} : { reason: command.reason }),
      ...(command.policyVersion === undefined ? {} : { policyVersion: command.policyVersion }),
    },
    context,
  );
}

/** A recovery that calls nothing stands by its mark alone. */
export function mark(state: SagaState, command: Mark, context: Context): Verdict {
  const refused = admission(state, command);
  if (refused !== undefined) return refused;
  const step = state.steps.get(command.step.name);
  if (step === undefined) return reject({ reason: 'not_required' });
  const gate = recoveryGate(state, step);
  if (gate !== undefined) return reject(gate);
  // Where the plan has a call to make, a mark would call done what nobody did.
  const entry = state.plan?.entries.find((candidate) => candidate.step === command.step.name);
  if (entry?.mark !== true || entry.action !== command.action) {
    return reject({ reason: 'not_planned' });
  }
  return append(
    state,
    {
      type: 'step_committed',
      step: command.step.name,
      action: command.action,
      effect: step.record.effect,
      attempt: 0,
      attemptNonce: '',
      via: 'call',
      externalIds: {},
      result: null,
      undo: null,
    },
    context,
  );
}

/** May this drive claim anything at all? */
function admission(
  state: SagaState,
  command: { readonly plan: { readonly digest: string }; readonly epoch: number },
): Verdict | undefined {
  if (isFinal(state) || state.drive !== 'running' || state.epoch !== command.epoch) {
    return reject({ reason: 'stale' });
  }
  const drift = driftOf(state, command.plan.digest);
  if (drift !== undefined) return reject({ reason: 'drift', explanation: drift });
  return undefined;
}

/** Why this code may not move this saga, or nothing. */
export function driftOf(state: SagaState, planDigest: string): string | undefined {
  if (state.unreadable !== undefined) {
    return `the ledger holds what this code cannot read (${state.unreadable}): resume with a newer machine version`;
  }
  if (state.planDigest === planDigest) return undefined;
  return (
    `saga "${state.start.name}" is pinned to definition ${state.planDigest.slice(0, 12)}, the code at hand is ` +
    `${planDigest.slice(0, 12)}: drive it with the code it started on, or resume it naming the newer machine version`
  );
}

function missingStep(name: string): string {
  return `the ledger knows no step "${name}"`;
}

function callOf(command: Claim): CallPolicy | undefined {
  if (command.action === 'forward') return command.step.forward;
  const recovery = command.step.recovery;
  return recovery?.action === command.action ? recovery.call : undefined;
}

function availability(
  state: SagaState,
  step: StepState,
  action: ActionState,
  call: CallPolicy,
  command: Claim,
  now: number,
): Verdict | undefined {
  if (isDone(action)) {
    return action.commit?.defect === undefined ? { kind: 'already' } : reject({ reason: 'halted' });
  }
  const gate =
    command.action === 'forward' ? forwardGate(state, step, now) : recoveryGate(state, step);
  if (gate !== undefined) return reject(gate);
  if (action.status === 'failed') return reject({ reason: 'held' });
  if (isLive(action, now)) {
    const until = (action.attempt?.leaseUntil ?? now) + SKEW_MS;
    return reject({ reason: 'in_flight', until });
  }
  if (isUnresolved(action)) {
    const path = doubtPath(action, call, now, true);
    if (path.kind === 'wait') return reject({ reason: 'waiting', until: path.until });
    if (path.kind === 'ask') return reject({ reason: 'in_doubt' });
    if (path.kind === 'hold') return reject({ reason: 'held' });
  }
  if (action.retryAt !== undefined && now < action.retryAt) {
    return reject({ reason: 'backoff', until: action.retryAt });
  }
  // Sent again under its key, it is a question: those end when patience does, not with the tries.
  const asking =
    action.status === 'waiting' || (action.status === 'in_doubt' && writes(step.record.effect));
  const spent = asking ? undefined : budgetSpent(state, step, action, call, command, now);
  if (spent !== undefined) return reject({ reason: spent });
  if (
    command.softDeadlineAt > 0 &&
    now + call.timeoutMs + LEASE_MARGIN_MS > command.softDeadlineAt
  ) {
    return reject({ reason: 'soft_deadline' });
  }
  return undefined;
}

function budgetSpent(
  state: SagaState,
  step: StepState,
  action: ActionState,
  call: CallPolicy,
  command: Claim,
  now: number,
): SpentReason | undefined {
  const own = stepSpent(action, withBudget(call, command.step, command.action), now);
  if (own !== undefined || command.action !== 'forward') return own;
  return sagaSpent(state, command.plan, step);
}

function forwardGate(state: SagaState, step: StepState, now: number): Rejection | undefined {
  if (state.halt !== undefined) return { reason: 'halted' };
  const { deadlineAt } = state.start;
  if (deadlineAt !== undefined && now >= deadlineAt && !pivotCommitted(state)) {
    return { reason: 'deadline_passed' };
  }
  const ready = forwardPredecessors(state, step.record.name).every((name) => {
    const before = state.steps.get(name)?.forward;
    return isDone(before) && before?.commit?.defect === undefined;
  });
  return ready ? undefined : { reason: 'not_ready' };
}

function claimDraft(
  state: SagaState,
  command: Claim,
  action: ActionState,
  call: CallPolicy,
  now: number,
): Parameters<typeof append>[1] {
  const at = Math.max(now, state.at);
  const deadlineAt = at + call.timeoutMs;
  const { sagaId } = state.start;
  const { step } = command;
  return {
    type: 'step_claimed',
    step: step.name,
    action: command.action,
    attempt: action.attempts + 1,
    attemptNonce: command.attemptNonce,
    effect: step.effect,
    tool: step.tool,
    round: action.round,
    key: idempotencyKeyOf(sagaId, step.name, command.action, action.round),
    correlationId: correlationIdOf(sagaId, step.name, command.action),
    dedupe: dedupeNow(call, action, now),
    deadlineAt,
    leaseUntil: deadlineAt + LEASE_MARGIN_MS,
    settleUntil: deadlineAt + call.settleMs,
    ...(command.args === undefined || action.args !== undefined ? {} : { args: command.args }),
    ...(command.action === 'forward' ? {} : budgetFor(state, step.name)),
    ...(command.policyVersion === undefined ? {} : { policyVersion: command.policyVersion }),
  };
}

export function reject(rejection: Rejection): Verdict {
  return { kind: 'rejected', rejection };
}
