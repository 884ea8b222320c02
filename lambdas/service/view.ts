import { checkpointOf, keptSteps } from '../../statemachines/rules/checkpoint.ts';
import type { RecoveryEntry } from '../../statemachines/rules/events.ts';
import { recoveryCostOf } from '../../statemachines/rules/recovery-cost.ts';
import { standingReport } from '../../statemachines/rules/standing.ts';
import type { ActionState, SagaState, StepState } from '../../statemachines/rules/state.ts';
import {
  isBlocked,
  isDeferred,
  isDone,
  isLive,
  isUnresolved,
  recoveryStatus,
  stepsInOrder,
  undoSkipped,
} from '../../statemachines/rules/view.ts';
import {
  type CompensationState,
  type ForwardState,
  iso,
  reviewPath,
  type SagaView,
  type StandingView,
  type StepView,
  sagaPath,
} from './wire.ts';

/** A folded saga as callers see it. `now` tells a live attempt from one whose lease is over. */
export function viewOf(state: SagaState, now: number): SagaView {
  const { start, halt, review } = state;
  const recoveryCost = recoveryCostOf(state);
  return {
    id: start.sagaId,
    name: start.name,
    version: start.version,
    state: state.status,
    startedAt: iso(state.startedAt),
    changedAt: iso(state.at),
    ...(state.dueAt === undefined ? {} : { dueAt: iso(state.dueAt) }),
    ...(start.deadlineAt === undefined ? {} : { deadlineAt: iso(start.deadlineAt) }),
    ...continued(state),
    ...(recoveryCost === undefined ? {} : { recoveryCost: { ...recoveryCost } }),
    ...(state.erased ? { erased: true } : {}),
    drive: { state: state.drive, epoch: state.epoch },
    steps: stepsInOrder(state).map((step) => stepView(state, step, now)),
    ...(halt === undefined
      ? {}
      : {
          halt: {
            reason: halt.reason,
            ...(halt.budget === undefined ? {} : { budget: halt.budget }),
            ...(halt.step === undefined ? {} : { step: halt.step }),
            ...(halt.code === undefined ? {} : { code: halt.code }),
            at: iso(halt.at),
            afterPivot: halt.afterPivot,
            ...(halt.everything === undefined ? {} : { everything: halt.everything }),
          },
        }),
    ...(review === undefined
      ? {}
      : {
          review: {
            id: review.id,
            reason: review.reason,
            steps: [...review.steps],
            explanation: review.explanation,
            openedAt: iso(review.openedAt),
            deadlineAt: iso(review.deadlineAt),
          },
        }),
    ...incidentOf(state),
    links: linksOf(state),
  };
}

/** Where recovery ends, and the sagas before and after this one. */
function continued(state: SagaState): Pick<SagaView, 'checkpoint' | 'previous' | 'rerun'> {
  const checkpoint = checkpointOf(state);
  const { previous } = state.start;
  const { rerun } = state;
  return {
    ...(checkpoint === undefined ? {} : { checkpoint }),
    ...(previous === undefined ? {} : { previous }),
    ...(rerun === undefined ? {} : { rerun: rerun.saga }),
  };
}

/** An incident is answered under this id, as a review is under its own. */
export function incidentId(state: SagaState): string | undefined {
  return state.incident === undefined ? undefined : `${state.start.sagaId}.${state.incident.seq}`;
}

export function standingView(state: SagaState): StandingView {
  const { tenant: _tenant, ...report } = standingReport(state);
  return {
    ...report,
    at: iso(report.at),
    steps: report.steps.map((step) => ({
      ...step,
      externalIds: { ...step.externalIds },
      ...(step.recoveryIds === undefined ? {} : { recoveryIds: { ...step.recoveryIds } }),
      extra: step.extra.map((ids) => ({ ...ids })),
    })),
  };
}

function incidentOf(state: SagaState): Pick<SagaView, 'incident'> {
  const { incident } = state;
  const id = incidentId(state);
  if (incident === undefined || id === undefined) return {};
  const { closed } = incident;
  return {
    incident: {
      id,
      reason: incident.reason,
      steps: [...incident.steps],
      explanation: incident.explanation,
      ...(closed === undefined ? {} : { closed: { ...closed, at: iso(closed.at) } }),
    },
  };
}

function linksOf(state: SagaState): SagaView['links'] {
  const self = sagaPath(state.start.sagaId);
  const open = state.review?.id ?? incidentId(state);
  const { previous, rerun } = continued(state);
  return {
    self,
    ledger: `${self}/ledger`,
    verification: `${self}/verification`,
    standing: `${self}/standing`,
    ...(open === undefined ? {} : { review: reviewPath(open) }),
    ...(previous === undefined ? {} : { previous: sagaPath(previous) }),
    ...(rerun === undefined ? {} : { rerun: sagaPath(rerun) }),
  };
}

function stepView(state: SagaState, step: StepState, now: number): StepView {
  const { record, forward, recovery, resolved } = step;
  const skipped = undoSkipped(step);
  return {
    name: record.name,
    tool: record.tool,
    effect: record.effect,
    ...(record.checkpoint === undefined ? {} : { checkpoint: record.checkpoint }),
    forward: {
      state: forwardState(state, forward, now),
      ...actionView(forward),
      ...(step.adopted === undefined ? {} : { adopted: step.adopted }),
    },
    compensation: {
      state: compensationState(state, step, now),
      ...(recovery === undefined ? { attempts: 0, externalIds: {} } : actionView(recovery)),
      ...(resolved === undefined ? {} : { by: resolved.by }),
      ...(skipped === undefined ? {} : { skipped }),
    },
  };
}

function actionView(action: ActionState): Omit<StepView['forward'], 'state'> {
  const { failure, commit } = action;
  const nextAt = action.retryAt ?? action.askAt;
  // A failure that a later attempt made good is history: the ledger tells it.
  const shown = failure === undefined || isDone(action) ? undefined : failure;
  return {
    attempts: action.attempts,
    externalIds: { ...action.externalIds },
    ...(shown === undefined
      ? {}
      : {
          failure: {
            class: shown.class,
            code: shown.code,
            message: shown.message,
            ...(shown.reason === undefined ? {} : { reason: shown.reason }),
            at: iso(shown.at),
          },
        }),
    ...(nextAt === undefined ? {} : { nextAt: iso(nextAt) }),
    ...(isDeferred(action) && !isDone(action) ? { deferred: true } : {}),
    ...(commit === undefined ? {} : { committedAt: iso(commit.at) }),
  };
}

function forwardState(state: SagaState, action: ActionState, now: number): ForwardState {
  switch (action.status) {
    case 'idle':
      return 'pending';
    case 'running':
      return isLive(action, now) ? 'running' : 'in_doubt';
    case 'retrying':
      // Once a terminal fact stands, nothing is tried forward any more.
      return state.halt === undefined ? 'retrying' : 'failed_terminal';
    case 'failed':
      return 'failed_terminal';
    case 'waiting':
    case 'in_doubt':
    case 'done':
      return action.status;
  }
}

/**
 * What is owed as things stand: nothing while the saga goes forward, nor for effects that stay since
 * the pivot committed.
 */
function compensationState(state: SagaState, step: StepState, now: number): CompensationState {
  const status = recoveryStatus(step);
  if (status === 'running' && step.recovery !== undefined) {
    return isLive(step.recovery, now) ? 'running' : 'in_doubt';
  }
  if (status !== 'pending' && status !== 'not_required') return status;
  const entry = state.plan?.entries.find((candidate) => candidate.step === step.record.name);
  if (state.halt === undefined || (state.plan !== undefined && entry === undefined)) {
    return 'not_required';
  }
  if (keptSteps(state).has(step.record.name)) return 'not_required';
  if (status === 'pending') return blocked(state, entry) ? 'blocked' : 'pending';
  const conditional = entry !== undefined && isUnresolved(step.forward);
  return conditional ? 'pending' : 'not_required';
}

function blocked(state: SagaState, entry: RecoveryEntry | undefined): boolean {
  return entry !== undefined && isBlocked(state, entry);
}
