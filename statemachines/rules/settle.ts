import type { CallPolicy } from '../language/effects.ts';
import type { SagaPlan } from '../plan/plan.ts';
import { checkpointOf } from './checkpoint.ts';
import { driftOf } from './claim.ts';
import type { Command, Context, Draft, Verdict } from './commands.ts';
import { doubtPath } from './doubt.ts';
import { again, lateIncident, noTryLeft, openReview, ownsDrive, park, unaskable } from './drive.ts';
import type { RecoveryEntry, ReviewReason } from './events.ts';
import { needsApproval, recoveryCostMinor, spentOnRecovery, turn } from './recovery-gate.ts';
import { planIsPartlyDone, planIsShort, planRecovery } from './recovery-plan.ts';
import { append } from './stamp.ts';
import type { ActionState, SagaState, StepState } from './state.ts';
import {
  failedIrreversibly,
  isDeferred,
  isFinal,
  isInDoubt,
  isLive,
  isRecovered,
  isUnresolved,
  needsHand,
  pivotCommitted,
  pluralSteps,
  stepsInOrder,
} from './view.ts';

type Settle = Extract<Command, { kind: 'settle' }>;

/** What `assess` does once a terminal fact stands: write the plan, ask for money where it costs, go on. */
export function prepareRecovery(state: SagaState, plan: SagaPlan, context: Context): Verdict {
  if (state.plan === undefined || planIsShort(state)) {
    return append(state, { type: 'recovery_planned', plan: planRecovery(state, plan) }, context);
  }
  // What is in doubt is found out first: it may turn out to cost nothing, or to end all recovery.
  const doubtful = stepsInOrder(state).some(isInDoubt);
  if (needsApproval(state) && !doubtful) return costReview(state, plan, context);
  return { kind: 'route', to: 'recover' };
}

/**
 * The last word of a drive that recovers. "Compensated" is said only when nothing stands
 * (invariants 2 and 3); anything else parks, goes to a person, or is an incident.
 */
export function settle(state: SagaState, command: Settle, context: Context): Verdict {
  if (isFinal(state)) return { kind: 'route', to: 'final' };
  if (!ownsDrive(state, command.epoch)) return { kind: 'route', to: 'parked' };
  const { plan } = command;
  if (state.review !== undefined) return park(state, 'person', context);
  const drift = driftOf(state, plan.digest);
  if (drift !== undefined)
    return openReview(state, plan.reviewMs, 'code_drift', [], drift, context);
  // The pivot had committed after all: the terminal fact is void and the saga goes forward.
  if (state.halt === undefined || state.plan === undefined || planIsShort(state)) {
    return again(state, plan.reviewMs, context);
  }
  const open = state.plan.entries.filter((entry) => {
    const step = state.steps.get(entry.step);
    return step !== undefined && !isRecovered(step);
  });
  const undecided = stepsInOrder(state).some(isInDoubt);
  if (open.length === 0 && !undecided) return close(state, context);
  return waitOrReview(state, plan, open, context);
}

function close(state: SagaState, context: Context): Verdict {
  const extra = stepsInOrder(state).filter((step) => step.late.length > 0);
  if (extra.length > 0) return append(state, lateIncident(extra), context);
  const broken = stepsInOrder(state).filter(failedIrreversibly);
  if (broken.length > 0) return append(state, irreversibleIncident(broken), context);
  if (!pivotCommitted(state)) {
    const checkpoint = checkpointOf(state);
    const kept = checkpoint === undefined ? {} : { checkpoint };
    return append(state, { type: 'saga_compensated', ...kept }, context);
  }
  const pivots = stepsInOrder(state).filter(
    (step) => step.record.effect === 'irreversible' && step.forward.status === 'done',
  );
  const names = pivots.map((step) => step.record.name);
  return append(
    state,
    {
      type: 'incident_opened',
      reason: 'pivot_committed',
      steps: names,
      explanation: `${pluralSteps(names)} cannot be undone, and the saga failed after it: see the standing report, put the business right by hand, then close the incident`,
    },
    context,
  );
}

function irreversibleIncident(broken: readonly StepState[]): Draft {
  const names = broken.map((step) => step.record.name);
  const first = broken[0]?.forward.failure;
  return {
    type: 'incident_opened',
    reason: 'irreversible_failure',
    steps: names,
    explanation: `${pluralSteps(names)} failed past the point of no return (${first?.code ?? 'unknown'}: ${first?.message ?? ''}): look at what the provider did, put the business right by hand, then close the incident`,
  };
}

function waitOrReview(
  state: SagaState,
  plan: SagaPlan,
  open: readonly RecoveryEntry[],
  context: Context,
): Verdict {
  const { now } = context;
  const views = [
    ...open.flatMap((entry) => viewEntry(state, plan, entry, now)),
    ...unplanned(state, now),
  ];
  if (views.some((view) => view.kind === 'live')) return park(state, 'lease', context);
  if (views.some((view) => view.kind === 'runnable')) return again(state, plan.reviewMs, context);
  if (views.some((view) => view.kind === 'waiting')) return park(state, 'provider', context);
  const pausing = views.find((view) => view.kind === 'pausing');
  if (pausing !== undefined) {
    const { recovery } = pausing.step;
    const reason = recovery !== undefined && isDeferred(recovery) ? 'breaker' : 'backoff';
    return park(state, reason, context);
  }
  const stuck = views.filter((view) => view.kind === 'stuck');
  const doubtful = stuck.some((view) => isInDoubt(view.step));
  if (needsApproval(state) && !doubtful) return costReview(state, plan, context);
  const first = stuck[0];
  if (first === undefined) return again(state, plan.reviewMs, context);
  const steps = stuck.map((view) => view.step);
  return openReview(state, plan.reviewMs, first.reason, steps, explainStuck(stuck), context);
}

type View =
  | {
      readonly kind: 'live' | 'runnable' | 'waiting' | 'pausing' | 'blocked';
      readonly step: StepState;
    }
  | {
      readonly kind: 'stuck';
      readonly step: StepState;
      readonly reason: ReviewReason;
      readonly why: string;
    };

/** Where one unfinished recovery stands, so that `settle` knows what to wait for. */
function viewEntry(state: SagaState, plan: SagaPlan, entry: RecoveryEntry, now: number): View[] {
  const step = state.steps.get(entry.step);
  const planned = plan.steps.find((candidate) => candidate.name === entry.step);
  if (step === undefined || planned === undefined) return [];
  if (isUnresolved(step.forward)) {
    const view = unresolved(step, step.forward, planned.forward, now, false);
    // It is asked about in its turn: what keeps it waiting must come first, a person's work included.
    const waits = view.kind === 'runnable' && turn(state, entry) !== undefined;
    return [waits ? { kind: 'blocked', step } : view];
  }
  if (turn(state, entry) !== undefined) return [{ kind: 'blocked', step }];
  if (needsHand(step, entry)) return [person(step)];
  const recovery = step.recovery;
  if (recovery === undefined || recovery.status === 'idle') {
    return [{ kind: needsApproval(state) ? 'blocked' : 'runnable', step }];
  }
  const call = planned.recovery?.call;
  if (recovery.status === 'failed' || noTryLeft(recovery, call, now) !== undefined)
    return [failedForGood(step, recovery)];
  if (isUnresolved(recovery) && call !== undefined) {
    return [unresolved(step, recovery, call, now, true)];
  }
  if (needsApproval(state)) return [{ kind: 'blocked', step }];
  const pausing = recovery.retryAt !== undefined && recovery.retryAt > now;
  return [{ kind: pausing ? 'pausing' : 'runnable', step }];
}

/** In doubt beside the plan, as a step behind the pivot may be: it is not undone, but it must be known. */
function unplanned(state: SagaState, now: number): View[] {
  const planned = new Set(state.plan?.entries.map((entry) => entry.step));
  return stepsInOrder(state).flatMap((step): View[] => {
    if (!isInDoubt(step) || planned.has(step.record.name)) return [];
    if (isLive(step.forward, now)) return [{ kind: 'live', step }];
    return [{ kind: 'stuck', step, ...unknownOf(step, step.forward) }];
  });
}

function unresolved(
  step: StepState,
  action: ActionState,
  call: CallPolicy,
  now: number,
  mayResend: boolean,
): View {
  if (isLive(action, now)) return { kind: 'live', step };
  if (unaskable(action, call, now, mayResend)) {
    return { kind: 'stuck', step, ...unknownOf(step, action) };
  }
  const later = doubtPath(action, call, now, mayResend).kind === 'wait';
  return { kind: later ? 'waiting' : 'runnable', step };
}

function unknownOf(
  step: StepState,
  action: ActionState,
): { readonly reason: ReviewReason; readonly why: string } {
  const what = action.action === 'forward' ? 'took effect' : 'was undone';
  return {
    reason: action.status === 'waiting' ? 'pending_too_long' : 'unknown_outcome',
    why: `nobody can say whether "${step.record.name}" ${what} (correlation id ${action.attempt?.correlationId ?? 'unknown'}): answer "committed" or "absent" from the provider's records`,
  };
}

function person(step: StepState): View {
  const { name, effect } = step.record;
  const undo = step.forward.commit?.undo;
  if (effect === 'human_decision') {
    return {
      kind: 'stuck',
      step,
      reason: 'human_decision',
      why: `"${name}" is undone by a person only: decide, act, then resolve it with evidence`,
    };
  }
  const why = undo?.kind === 'unavailable' ? ` (${undo.why})` : '';
  return {
    kind: 'stuck',
    step,
    reason: 'undo_unavailable',
    why: `"${name}" committed without arguments for its compensation${why}: undo it by hand, then resolve it with evidence`,
  };
}

function failedForGood(step: StepState, recovery: ActionState): View {
  const { failure } = recovery;
  const told =
    failure === undefined ? 'its tries are spent' : `${failure.code}: ${failure.message}`;
  const cause = isDeferred(recovery) ? "its tool's breaker let nothing through" : told;
  return {
    kind: 'stuck',
    step,
    reason: 'recovery_failed',
    why: `"${step.record.name}" still stands, its undo failed (${cause}): mend the cause and resume, or undo it by hand and resolve it with evidence`,
  };
}

/** What is left is planned by itself first, so that the approval is bound to it and to nothing done before. */
function costReview(state: SagaState, plan: SagaPlan, context: Context): Verdict {
  if (planIsPartlyDone(state)) {
    return append(state, { type: 'recovery_planned', plan: planRecovery(state, plan) }, context);
  }
  const entries = state.plan?.entries ?? [];
  const steps = entries.flatMap((entry) => {
    const step = state.steps.get(entry.step);
    return step !== undefined && entry.estimate !== undefined && !isRecovered(step) ? [step] : [];
  });
  const spent = spentOnRecovery(state);
  const all = `${recoveryCostMinor(state)} ${state.plan?.currency ?? ''} (minor units)`;
  const cost = spent === 0 ? all : `${all} in all, of which ${spent} are spent`;
  const why = `recovery would cost up to ${cost}, more than it may spend by itself: approve the plan by its hash with a maximum cost, or resolve the steps by hand`;
  return openReview(state, plan.reviewMs, 'cost_ceiling', steps, why, context);
}

function explainStuck(stuck: readonly View[]): string {
  return stuck.flatMap((view) => (view.kind === 'stuck' ? [view.why] : [])).join('; ');
}
