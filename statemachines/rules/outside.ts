import { DEFAULT_REVIEW_MS } from '../language/defaults.ts';
import { checkpointOf, keptSteps } from './checkpoint.ts';
import { reject } from './claim.ts';
import type { Command, Context, ReviewDecision, Verdict } from './commands.ts';
import { settledAt } from './doubt.ts';
import { openReview } from './drive.ts';
import { MAX_IDLE_DRIVES, SKEW_MS } from './protocol.ts';
import { recoveryCostMinor } from './recovery-gate.ts';
import { append } from './stamp.ts';
import type { ActionState, SagaState } from './state.ts';
import {
  actionOf,
  isDone,
  isFinal,
  isLive,
  isRecovered,
  isUnresolved,
  pivotCommitted,
  pivotInDoubt,
} from './view.ts';

type Of<K extends Command['kind']> = Extract<Command, { kind: K }>;

/** The sweep, or a plane that comes up again: replaces a drive that is due, wakes a parked saga. */
export function grant(state: SagaState, command: Of<'grant'>, context: Context): Verdict {
  if (isFinal(state)) return { kind: 'route', to: 'final' };
  if (command.epoch !== undefined && command.epoch !== state.epoch) return { kind: 'already' };
  const due = state.dueAt !== undefined && context.now >= state.dueAt;
  const orphaned = command.reason === 'restart' && state.drive === 'running';
  if (!due && !orphaned) return { kind: 'already' };
  if (due && state.drive === 'running' && state.idleDrives >= MAX_IDLE_DRIVES) {
    const why = `${state.idleDrives} drives in a row vanished without a trace: look at the machine and its logs, then resume`;
    // The sweep holds no definition, so no review time of its own.
    return openReview(state, DEFAULT_REVIEW_MS, 'no_progress', [], why, context);
  }
  return append(state, { type: 'drive_granted', reason: command.reason }, context);
}

/** Asks for recovery. Refused once the pivot has committed, or at the end. */
export function cancel(state: SagaState, command: Of<'cancel'>, context: Context): Verdict {
  const asksMore = command.everything === true && state.halt?.everything !== true;
  if (state.halt?.reason === 'cancelled' && !asksMore) return { kind: 'already' };
  if (isFinal(state))
    return conflict(`the saga is ${state.status}; what is final is not cancelled`);
  if (pivotCommitted(state)) {
    return conflict('the irreversible step has committed: it cannot be cancelled any more');
  }
  if (state.halt !== undefined) {
    return conflict('recovery is under way already, and recovery is never cancelled');
  }
  const { reason, everything } = command;
  return append(
    state,
    {
      type: 'cancel_requested',
      reason,
      ...(everything === undefined ? {} : { everything }),
    },
    context,
  );
}

/** Starts the next drive; on a saga under review it gives what failed a fresh budget. */
export function resume(state: SagaState, command: Of<'resume'>, context: Context): Verdict {
  if (isFinal(state)) return conflict(`the saga is ${state.status}; there is nothing to resume`);
  const holder = liveUntil(state, context.now);
  if (holder !== undefined) {
    return conflict('an attempt holds the saga; resume when its lease is over', holder);
  }
  const due = state.dueAt === undefined || context.now >= state.dueAt;
  if (state.drive === 'running' && !due) {
    return conflict('a drive is moving the saga; it is looked at again by itself', state.dueAt);
  }
  return append(
    state,
    {
      type: 'drive_granted',
      reason: 'resume',
      ...(command.machine === undefined ? {} : { machine: command.machine }),
      ...(command.planDigest === undefined ? {} : { planDigest: command.planDigest }),
      ...(command.note === undefined ? {} : { note: command.note }),
    },
    context,
  );
}

function liveUntil(state: SagaState, now: number): number | undefined {
  const ends: number[] = [];
  for (const step of state.steps.values()) {
    for (const action of [step.forward, step.recovery]) {
      if (action !== undefined && isLive(action, now)) {
        ends.push((action.attempt?.leaseUntil ?? now) + SKEW_MS);
      }
    }
  }
  return ends.length === 0 ? undefined : Math.max(...ends);
}

/** A person's decision, bound to the review it answers. */
export function decideReview(state: SagaState, command: Of<'decide'>, context: Context): Verdict {
  const { decision } = command;
  const problem =
    decision.decision === 'close' ? closeProblem(state, decision) : reviewProblem(state, command);
  if (problem !== undefined) return conflict(problem);
  const until = tooEarly(state, decision, context.now);
  if (until !== undefined) {
    return conflict(
      'a call of this step may still take effect; answer when it no longer can',
      until,
    );
  }
  return append(state, { type: 'review_decided', review: command.review, ...decision }, context);
}

/**
 * Nobody can say "absent" or "nothing stands" of a call that may still land (invariants 3 and 9): until
 * when to wait, or nothing.
 */
function tooEarly(state: SagaState, decision: ReviewDecision, now: number): number | undefined {
  const step = decision.step === undefined ? undefined : state.steps.get(decision.step);
  if (step === undefined) return undefined;
  const absent = decision.decision === 'answer' && decision.answer === 'absent';
  const named = absent && decision.action !== undefined ? [actionOf(step, decision.action)] : [];
  const all = decision.decision === 'resolve' ? [step.forward, step.recovery] : named;
  const ends = all.flatMap((action) => {
    if (action === undefined || !isUnresolved(action)) return [];
    const until = Math.max(settledAt(action), (action.attempt?.leaseUntil ?? 0) + SKEW_MS);
    return now < until ? [until] : [];
  });
  return ends.length === 0 ? undefined : Math.max(...ends);
}

function closeProblem(state: SagaState, decision: ReviewDecision): string | undefined {
  if (state.incident === undefined) return 'there is no incident to close';
  if (state.incident.closed !== undefined)
    return `the incident was closed by ${state.incident.closed.by}`;
  return blank(decision.evidence)
    ? 'closing an incident needs evidence: say what was done'
    : undefined;
}

function reviewProblem(state: SagaState, command: Of<'decide'>): string | undefined {
  const { review } = state;
  if (review === undefined || isFinal(state)) return 'no review is open on this saga';
  if (review.id !== command.review) {
    return `review ${command.review} is over; the open one is ${review.id}`;
  }
  return decisionProblem(state, command.decision);
}

function decisionProblem(state: SagaState, decision: ReviewDecision): string | undefined {
  switch (decision.decision) {
    case 'retry':
    case 'reject':
    case 'close':
      return undefined;
    case 'recover':
      if (state.halt !== undefined) return 'recovery is under way already';
      // Past the pivot it means: contain what cannot be undone, and end as an incident.
      return pivotInDoubt(state) === undefined
        ? undefined
        : 'the irreversible step may have committed: answer for it first';
    case 'approve':
      return approvalProblem(state, decision);
    case 'resolve':
      return resolveProblem(state, decision);
    case 'answer':
      return answerProblem(state, decision);
  }
}

function approvalProblem(state: SagaState, decision: ReviewDecision): string | undefined {
  const { plan } = state;
  if (plan === undefined) return 'there is no recovery plan to approve';
  if (plan.estimateMinor === 0) return 'recovery costs nothing, so there is nothing to approve';
  if (decision.planHash !== plan.hash) {
    return `the plan has changed: read it again and approve ${plan.hash}`;
  }
  if (decision.maxCost === undefined) return 'an approval names its maximum cost';
  if (plan.currency !== undefined && decision.maxCost.currency !== plan.currency) {
    return `the plan costs ${plan.currency}, the approval names ${decision.maxCost.currency}`;
  }
  const neededMinor = recoveryCostMinor(state);
  if (decision.maxCost.costMinor < neededMinor) {
    return `recovery would cost up to ${neededMinor} ${plan.currency ?? ''} (minor units): approve at least that, or resolve the steps by hand`;
  }
  return undefined;
}

function resolveProblem(state: SagaState, decision: ReviewDecision): string | undefined {
  const step = decision.step === undefined ? undefined : state.steps.get(decision.step);
  if (step === undefined) return 'name the step that is resolved';
  if (blank(decision.evidence))
    return 'resolving a step needs evidence: say what was done, and where it can be seen';
  if (state.halt === undefined)
    return `nothing is being recovered, so "${step.record.name}" cannot be resolved`;
  if (isRecovered(step)) return `nothing of "${step.record.name}" stands`;
  if (keptSteps(state).has(step.record.name)) {
    return `"${step.record.name}" stays: checkpoint "${checkpointOf(state)}" keeps it`;
  }
  const pivot = pivotInDoubt(state);
  return pivot === undefined || pivot === step
    ? undefined
    : `"${pivot.record.name}" may have committed, and then "${step.record.name}" must stand: answer for "${pivot.record.name}" first`;
}

function answerProblem(state: SagaState, decision: ReviewDecision): string | undefined {
  const step = decision.step === undefined ? undefined : state.steps.get(decision.step);
  if (step === undefined || decision.action === undefined)
    return 'name the step and the action that is answered for';
  if (decision.answer === undefined) return 'answer "committed" or "absent"';
  if (blank(decision.evidence))
    return "an answer in the provider's place needs evidence: say where it was seen";
  const action: ActionState | undefined = actionOf(step, decision.action);
  const name = `"${step.record.name}" ${decision.action}`;
  if (action?.attempt === undefined) return `${name} was never attempted`;
  if (isDone(action)) return `${name} is known to have committed`;
  const open =
    action.status === 'in_doubt' || action.status === 'waiting' || action.status === 'running';
  return open ? undefined : `${name} is not in doubt`;
}

export function suggest(state: SagaState, command: Of<'suggest'>, context: Context): Verdict {
  return append(state, { type: 'suggestion_recorded', suggestion: command.suggestion }, context);
}

/** Erasure never runs ahead of a saga that may still need its data. */
export function erase(state: SagaState, command: Of<'erase'>, context: Context): Verdict {
  if (!isFinal(state)) {
    return conflict(`the saga is ${state.status}: its payloads are needed until it is final`);
  }
  if (state.erased) return { kind: 'already' };
  return append(state, { type: 'payloads_erased', reason: command.reason }, context);
}

function conflict(explanation: string, until?: number): Verdict {
  return reject({ reason: 'conflict', explanation, ...(until === undefined ? {} : { until }) });
}

function blank(text: string | undefined): boolean {
  return text === undefined || text.trim() === '';
}
