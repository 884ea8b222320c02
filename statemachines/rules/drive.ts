import type { CallPolicy } from '../language/effects.ts';
import type { SagaPlan } from '../plan/plan.ts';
import { sagaSpent, stepSpent, withBudget } from './budgets.ts';
import { driftOf, reject } from './claim.ts';
import type { Command, Context, Draft, Verdict } from './commands.ts';
import { doubtPath } from './doubt.ts';
import type { ParkReason, ReviewReason, SpentReason } from './events.ts';
import { MAX_IDLE_DRIVES } from './protocol.ts';
import { recoveryCostMinor } from './recovery-gate.ts';
import { append } from './stamp.ts';
import type { ActionState, SagaState, StepState } from './state.ts';
import {
  forwardPredecessors,
  isDeferred,
  isDone,
  isFinal,
  isLive,
  isUnresolved,
  pivotCommitted,
  pluralSteps,
  stepsInOrder,
  writes,
} from './view.ts';

type Drive<K extends Command['kind']> = Extract<Command, { kind: K }>;

/** The first Task of a drive: may it go forward? Writes nothing. */
export function begin(state: SagaState, command: Drive<'begin'>): Verdict {
  if (!ownsDrive(state, command.epoch)) return reject({ reason: 'stale' });
  const drift = driftOf(state, command.plan.digest);
  if (drift !== undefined) return reject({ reason: 'drift', explanation: drift });
  if (state.halt !== undefined) return reject({ reason: 'halted' });
  return { kind: 'route', to: 'forward' };
}

/** The last Task of a happy drive: everything is done, and the ledger says so. */
export function complete(state: SagaState, command: Drive<'complete'>, context: Context): Verdict {
  if (state.status === 'completed') return { kind: 'already' };
  if (!ownsDrive(state, command.epoch)) return reject({ reason: 'stale' });
  const drift = driftOf(state, command.plan.digest);
  if (drift !== undefined) return reject({ reason: 'drift', explanation: drift });
  if (state.halt !== undefined) return reject({ reason: 'halted' });
  const open = stepsInOrder(state).filter((step) => !isDone(step.forward));
  if (open.length > 0) return reject({ reason: 'not_ready' });
  const extra = stepsInOrder(state).filter((step) => step.late.length > 0);
  if (extra.length > 0) return append(state, lateIncident(extra), context);
  return append(state, { type: 'saga_completed' }, context);
}

/**
 * Catch proves nothing; the ledger does. Called again after each event it asks for, until it routes.
 */
export function assess(state: SagaState, command: Drive<'assess'>, context: Context): Verdict {
  if (isFinal(state)) return { kind: 'route', to: 'final' };
  if (!ownsDrive(state, command.epoch)) return { kind: 'route', to: 'parked' };
  if (state.review !== undefined) return park(state, 'person', context);
  const drift = driftOf(state, command.plan.digest);
  if (drift !== undefined)
    return openReview(state, command.plan.reviewMs, 'code_drift', [], drift, context);
  if (state.halt !== undefined) return { kind: 'route', to: 'recover' };
  return assessForward(state, command, context);
}

function assessForward(state: SagaState, command: Drive<'assess'>, context: Context): Verdict {
  const { plan } = command;
  const now = context.now;
  const { deadlineAt } = state.start;
  if (deadlineAt !== undefined && now >= deadlineAt && !pivotCommitted(state)) {
    return append(state, { type: 'saga_halted', reason: 'deadline_passed' }, context);
  }
  const open = stepsInOrder(state).filter((step) => !isDone(step.forward));
  const held = open.filter((step) => step.forward.status === 'failed');
  if (held.length > 0) {
    return openReview(state, plan.reviewMs, 'held_by_tool', held, explainHeld(held), context);
  }
  const lost = open.filter(
    (step) =>
      writes(step.record.effect) && unaskable(step.forward, forwardCall(plan, step), now, true),
  );
  if (lost.length > 0) return unknownOutcome(state, plan, lost, context);
  for (const step of open) {
    const own = spentOf(step, forwardCall(plan, step), now);
    if (own !== undefined) return spentBudget(state, plan, step, { reason: own }, context);
    const reason = mayBeTried(state, step) ? sagaSpent(state, plan, step) : undefined;
    if (reason !== undefined)
      return spentBudget(state, plan, step, { reason, budget: 'saga' }, context);
  }
  const live = open.some((step) => isLive(step.forward, now));
  if (live) return park(state, 'lease', context);
  const waiting = open.find((step) => mustWait(step.forward, forwardCall(plan, step), now));
  if (waiting !== undefined)
    return park(state, isDeferred(waiting.forward) ? 'breaker' : 'provider', context);
  const pausing = open.find(
    (step) => step.forward.status === 'retrying' && later(step.forward.retryAt, now),
  );
  if (pausing !== undefined)
    return park(state, isDeferred(pausing.forward) ? 'breaker' : 'backoff', context);
  return again(state, plan.reviewMs, context);
}

function spentBudget(
  state: SagaState,
  plan: SagaPlan,
  step: StepState,
  spent: { readonly reason: SpentReason; readonly budget?: 'saga' },
  context: Context,
): Verdict {
  const { name } = step.record;
  if (pivotCommitted(state)) {
    const why = `step "${name}" after the pivot does not finish: mend its cause, then resume`;
    return openReview(state, plan.reviewMs, 'after_pivot', [step], why, context);
  }
  const code = step.forward.failure?.code;
  return append(
    state,
    {
      type: 'saga_halted',
      ...spent,
      step: name,
      ...(code === undefined ? {} : { code }),
    },
    context,
  );
}

/** Nothing explains why the drive stopped: at once after progress, else after a growing pause. */
export function again(state: SagaState, reviewMs: number, context: Context): Verdict {
  if (state.progress > 0) return append(state, { type: 'drive_granted', reason: 'next' }, context);
  if (state.idleDrives >= MAX_IDLE_DRIVES) {
    const why = `${state.idleDrives} drives in a row moved nothing: look for the cause in the drive's own logs, then resume`;
    return openReview(state, reviewMs, 'no_progress', [], why, context);
  }
  return park(state, 'retry', context);
}

export function park(state: SagaState, reason: ParkReason, context: Context): Verdict {
  return append(state, { type: 'drive_parked', reason, idle: state.progress === 0 }, context);
}

export function openReview(
  state: SagaState,
  reviewMs: number,
  reason: ReviewReason,
  steps: readonly StepState[],
  explanation: string,
  context: Context,
): Verdict {
  const at = Math.max(context.now, state.at);
  const { plan } = state;
  const costs = plan !== undefined && plan.estimateMinor > 0 && plan.currency !== undefined;
  const draft: Draft = {
    type: 'review_opened',
    review: `${state.start.sagaId}.${state.seq + 1}`,
    reason,
    steps: steps.map((step) => step.record.name),
    explanation,
    deadlineAt: at + reviewMs,
    ...(plan === undefined ? {} : { planHash: plan.hash }),
    ...(costs
      ? { maxCost: { costMinor: recoveryCostMinor(state), currency: plan.currency ?? '' } }
      : {}),
  };
  return append(state, draft, context);
}

export function unknownOutcome(
  state: SagaState,
  plan: SagaPlan,
  lost: readonly StepState[],
  context: Context,
): Verdict {
  const names = lost.map((step) => step.record.name);
  const patience = lost.some((step) => step.forward.status === 'waiting');
  const reason: ReviewReason = patience ? 'pending_too_long' : 'unknown_outcome';
  const why =
    `nobody can say whether ${pluralSteps(names)} took effect: look at the provider's own records ` +
    `(correlation id ${lost[0]?.forward.attempt?.correlationId ?? 'unknown'}), then answer "committed" with the result, or "absent"`;
  return openReview(state, plan.reviewMs, reason, lost, why, context);
}

export function lateIncident(extra: readonly StepState[]): Draft {
  const names = extra.map((step) => step.record.name);
  return {
    type: 'incident_opened',
    reason: 'late_evidence',
    steps: names,
    explanation: `${pluralSteps(names)} made an effect beside the one on record: undo it by hand at the provider, then close the incident`,
  };
}

/** In doubt, not live, and nothing but a person can resolve it. */
export function unaskable(
  action: ActionState,
  call: CallPolicy | undefined,
  now: number,
  mayResend: boolean,
): boolean {
  if (call === undefined || !isUnresolved(action) || isLive(action, now)) return false;
  const path = doubtPath(action, call, now, mayResend);
  if (path.kind === 'hold') return true;
  // Dead without a word once more, under a key: that is bounded by the tries, questions are by time.
  const dead = path.kind === 'resend' && action.status === 'running';
  return dead && action.spent >= call.retry.maxAttempts;
}

/**
 * Which budget leaves no try for the forward call, which surely did nothing. A call that only reads
 * never does.
 */
function spentOf(
  step: StepState,
  call: CallPolicy | undefined,
  now: number,
): SpentReason | undefined {
  const { forward, record } = step;
  const spent = noTryLeft(forward, call, now);
  if (spent !== undefined) return spent;
  if (writes(record.effect) || call === undefined || isLive(forward, now)) return undefined;
  if (unaskable(forward, call, now, true)) return 'attempts_spent';
  return forward.status === 'in_doubt' ? stepSpent(forward, call, now) : undefined;
}

/** The last attempt did nothing, and this budget allows no other, not even after its pause. */
export function noTryLeft(
  action: ActionState,
  call: CallPolicy | undefined,
  now: number,
): SpentReason | undefined {
  if (call === undefined || action.status !== 'retrying') return undefined;
  return stepSpent(action, call, Math.max(now, action.retryAt ?? now));
}

/** Nothing but a budget keeps the step from its next try. */
function mayBeTried(state: SagaState, step: StepState): boolean {
  const { status } = step.forward;
  if (status !== 'idle' && status !== 'retrying') return false;
  return forwardPredecessors(state, step.record.name).every((name) =>
    isDone(state.steps.get(name)?.forward),
  );
}

export function ownsDrive(state: SagaState, epoch: number): boolean {
  return !isFinal(state) && state.drive === 'running' && state.epoch === epoch;
}

/** The forward call's policy, with the budget that its place in the saga gives it. */
function forwardCall(plan: SagaPlan, step: StepState): CallPolicy | undefined {
  const planned = plan.steps.find((candidate) => candidate.name === step.record.name);
  if (planned === undefined) return undefined;
  return withBudget(planned.forward, planned, 'forward');
}

function mustWait(action: ActionState, call: CallPolicy | undefined, now: number): boolean {
  if (!isUnresolved(action)) return false;
  return call === undefined
    ? later(action.askAt, now)
    : doubtPath(action, call, now, true).kind === 'wait';
}

function later(time: number | undefined, now: number): boolean {
  return time !== undefined && time > now;
}

function explainHeld(held: readonly StepState[]): string {
  const first = held[0]?.forward.failure;
  return `${pluralSteps(held.map((step) => step.record.name))} asked for a person${
    first === undefined ? '' : ` (${first.code}: ${first.message})`
  }: mend the cause and retry, or recover what was done`;
}
