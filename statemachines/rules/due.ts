import { DRIVE_CHECK_MS, FIRST_IDLE_PAUSE_MS, MAX_IDLE_PAUSE_MS, SKEW_MS } from './protocol.ts';
import type { ActionState, SagaState } from './state.ts';
import { isFinal, isUnresolved, pivotCommitted } from './view.ts';

/**
 * The one clock of a saga: when somebody must look at it next. A function of the state *after* an
 * event (with that event's status and drive), so the head of the ledger alone tells the sweep.
 */
export function dueAfter(state: SagaState): number | undefined {
  if (isFinal(state)) return undefined;
  if (state.drive === 'running') {
    // A lease that is over no longer protects anybody, so it does not call for another drive either.
    const leases = actions(state)
      .flatMap(leaseEnd)
      .filter((end) => end > state.at);
    return leases.length === 0 ? state.at + DRIVE_CHECK_MS : Math.min(...leases);
  }
  if (state.review !== undefined) return state.review.remindAt;
  // What a drive found due and could not move is not due again at once.
  const soonest = state.progress > 0 ? state.at : state.at + idlePause(state.idleDrives);
  const times = actions(state)
    .flatMap((action) => [...leaseEnd(action), ...wakeTimes(state, action)])
    .map((time) => (time > state.at ? time : soonest));
  if (state.parked === 'retry') times.push(state.at + idlePause(state.idleDrives));
  if (state.halt === undefined && state.start.deadlineAt !== undefined && !pivotCommitted(state)) {
    times.push(state.start.deadlineAt);
  }
  if (times.length === 0) return state.at + DRIVE_CHECK_MS;
  return Math.max(state.at, Math.min(...times));
}

/** Pauses after drives that moved nothing: longer and longer. */
export function idlePause(idleDrives: number): number {
  return Math.min(MAX_IDLE_PAUSE_MS, FIRST_IDLE_PAUSE_MS * 4 ** Math.max(0, idleDrives - 1));
}

function leaseEnd(action: ActionState): number[] {
  // With a time set to ask, the lease is over and no longer what is waited for.
  return action.status === 'running' && action.attempt !== undefined && action.askAt === undefined
    ? [action.attempt.leaseUntil + SKEW_MS]
    : [];
}

function wakeTimes(state: SagaState, action: ActionState): number[] {
  if (action.status === 'retrying') {
    // Once recovery began nobody tries a forward call again, so its pause wakes nobody.
    if (action.action === 'forward' && state.halt !== undefined) return [];
    return [action.retryAt ?? state.at];
  }
  return isUnresolved(action) && action.askAt !== undefined ? [action.askAt] : [];
}

function actions(state: SagaState): ActionState[] {
  const all: ActionState[] = [];
  for (const step of state.steps.values()) {
    all.push(step.forward);
    if (step.recovery !== undefined) all.push(step.recovery);
  }
  return all;
}
