import type { DriveGranted, DriveParked, ReviewDecided, ReviewOpened } from './events.ts';
import { asked, type Head, halt, reopened, withAction, withStep } from './evolve-parts.ts';
import { committed, reconciled } from './evolve-steps.ts';
import type { SagaState } from './state.ts';
import { actionOf, isDone } from './view.ts';

/** How drives, reviews and decisions change a saga. */

export function parked(state: SagaState, event: DriveParked): SagaState {
  const excused = event.reason === 'turn' || event.reason === 'person' || event.reason === 'lease';
  const idleDrives = !event.idle ? 0 : excused ? state.idleDrives : state.idleDrives + 1;
  const review =
    event.reason === 'person' && state.review !== undefined
      ? { ...state.review, remindAt: nextReminder(state.review, state) }
      : state.review;
  return { ...state, parked: event.reason, idleDrives, review };
}

/** Reminders begin at the review's deadline and double their distance from its opening. */
function nextReminder(
  review: { readonly openedAt: number; readonly deadlineAt: number; readonly remindAt: number },
  state: { readonly at: number },
): number {
  let remindAt = review.remindAt;
  const step = Math.max(1, review.deadlineAt - review.openedAt);
  while (remindAt <= state.at) remindAt += Math.max(step, remindAt - review.openedAt);
  return remindAt;
}

export function drive(state: SagaState, event: DriveGranted): SagaState {
  const named = {
    machine: event.machine ?? state.machine,
    planDigest: event.planDigest ?? state.planDigest,
  };
  // Replaced by the sweep without having written anything: it counts as a try, like an idle park.
  const vanished = event.reason === 'due' && state.drive === 'running' && state.progress === 0;
  const moved = state.drive === 'running' && state.progress > 0;
  const idleDrives = moved ? 0 : state.idleDrives + (vanished ? 1 : 0);
  const next = { ...state, ...named, idleDrives };
  return event.reason === 'resume' ? reopen(next) : next;
}

/** Gives everything that failed, was held or ran out of tries a fresh budget, and closes the review. */
function reopen(state: SagaState): SagaState {
  const steps = new Map(state.steps);
  for (const [name, step] of steps) {
    const recovery =
      step.recovery === undefined
        ? undefined
        : { ...reopened(step.recovery), action: step.recovery.action };
    const refused = state.halt !== undefined && step.forward.failure?.class !== 'terminal_hold';
    steps.set(name, {
      ...step,
      forward: refused ? asked(step.forward) : reopened(step.forward),
      recovery,
    });
  }
  return { ...state, steps, review: undefined, idleDrives: 0 };
}

export function reviewOpened(state: SagaState, event: ReviewOpened, at: number): SagaState {
  return {
    ...state,
    parked: 'person',
    idleDrives: 0,
    review: {
      id: event.review,
      reason: event.reason,
      steps: event.steps,
      explanation: event.explanation,
      openedAt: at,
      deadlineAt: event.deadlineAt,
      remindAt: event.deadlineAt,
      ...(event.planHash === undefined ? {} : { planHash: event.planHash }),
      ...(event.maxCost === undefined ? {} : { maxCost: event.maxCost }),
    },
  };
}

export function decided(state: SagaState, event: ReviewDecided, head: Head): SagaState {
  if (event.decision === 'close') {
    if (state.incident === undefined) return state;
    const closed = { by: head.actor, at: head.at, evidence: event.evidence ?? '' };
    return { ...state, incident: { ...state.incident, closed } };
  }
  if (event.decision === 'reject') return state;
  const named: SagaState = {
    ...state,
    machine: event.machine ?? state.machine,
    planDigest: event.planDigest ?? state.planDigest,
    review: undefined,
    idleDrives: 0,
  };
  switch (event.decision) {
    case 'retry':
      return reopen(named);
    case 'recover':
      return halt(named, head, 'person', { everything: event.everything });
    case 'approve':
      return event.planHash === undefined || event.maxCost === undefined
        ? named
        : { ...named, approval: { planHash: event.planHash, maxCost: event.maxCost } };
    case 'resolve':
      return event.step === undefined
        ? named
        : withStep(named, event.step, (step) => ({
            ...step,
            resolved: { by: head.actor, at: head.at, evidence: event.evidence ?? '' },
          }));
    case 'answer':
      return answered(named, event, head);
    default:
      return named;
  }
}

function answered(state: SagaState, event: ReviewDecided, head: Head): SagaState {
  const { step, action } = event;
  if (step === undefined || action === undefined) return state;
  const found = state.steps.get(step);
  const current = found === undefined ? undefined : actionOf(found, action);
  if (found === undefined || current?.attempt === undefined || isDone(current)) return state;
  const ref = {
    step,
    action,
    effect: found.record.effect,
    attempt: current.attempt.number,
    attemptNonce: current.attempt.nonce,
    externalIds: event.externalIds ?? {},
  };
  if (event.answer === 'committed') {
    return committed(
      state,
      {
        type: 'step_committed',
        ...ref,
        via: 'person',
        result: event.result ?? null,
        undo: event.undo ?? null,
      },
      head,
    );
  }
  return withAction(
    reconciled(
      state,
      { type: 'step_reconciled', ...ref, answer: 'absent', via: 'person' },
      head.at,
    ),
    step,
    action,
    (now) => ({ ...now, spent: 0, triedSince: undefined, deferrals: 0 }),
  );
}
