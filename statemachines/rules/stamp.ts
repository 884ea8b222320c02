import type { Context, Draft, Verdict } from './commands.ts';
import { dueAfter } from './due.ts';
import type { DriveState, EventBody, SagaEvent, SagaStatus } from './events.ts';
import { evolve } from './evolve.ts';
import type { SagaState } from './state.ts';
import { isFinal } from './view.ts';

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Gives a draft its head: number, time, and what the saga is after it. */
export function append(state: SagaState, draft: Draft, context: Context): Verdict {
  const { drive, epoch } = driveAfter(state, draft);
  const given = statusOfFinal(state, draft);
  const event = {
    ...draft,
    seq: state.seq + 1,
    at: Math.max(context.now, state.at),
    actor: context.actor,
    state: given,
    drive,
    epoch,
  } as Writable<SagaEvent>;
  // Folded once without status and due time, which are functions of the state it makes.
  const made = evolve(state, event);
  const status = statusAfter(made, given);
  const known = status === made.status ? made : { ...made, status };
  const dueAt = QUIET.includes(draft.type) ? state.dueAt : dueAfter(known);
  const after = dueAt === known.dueAt ? known : { ...known, dueAt };
  // The fold keeps parts of the event, never its head: the rest of that may be filled in here.
  event.state = status;
  if (dueAt !== undefined) event.dueAt = dueAt;
  return { kind: 'append', event, after };
}

/** Events that move nothing: they wake no parked saga. */
const QUIET: readonly EventBody['type'][] = ['suggestion_recorded', 'payloads_erased'];

/**
 * A park ends its epoch. Any event on a parked saga that moves it grants the next epoch; while a
 * drive runs, events grant nothing and the drive meets them at its next append (invariant 7).
 */
function driveAfter(state: SagaState, draft: Draft): { drive: DriveState; epoch: number } {
  const { drive, epoch } = state;
  switch (draft.type) {
    case 'saga_completed':
    case 'saga_compensated':
    case 'incident_opened':
      return { drive: 'ended', epoch };
    case 'drive_parked':
    case 'review_opened':
      return { drive: 'parked', epoch };
    case 'drive_granted':
      return { drive: 'running', epoch: epoch + 1 };
    default:
      if (drive === 'parked' && !QUIET.includes(draft.type)) {
        return { drive: 'running', epoch: epoch + 1 };
      }
      return { drive, epoch };
  }
}

function statusOfFinal(state: SagaState, draft: Draft): SagaStatus {
  if (draft.type === 'saga_completed') return 'completed';
  if (draft.type === 'saga_compensated') return 'compensated';
  if (draft.type === 'incident_opened') return 'incident';
  // Final states are final, but for the move into `incident` (invariant 1).
  if (isFinal(state) && draft.type === 'late_evidence') return 'incident';
  return isFinal(state) ? state.status : 'running';
}

function statusAfter(state: SagaState, given: SagaStatus): SagaStatus {
  if (given !== 'running') return given;
  if (state.review !== undefined) return 'needs_review';
  if (state.halt !== undefined) return 'compensating';
  return state.drive === 'parked' ? 'waiting' : 'running';
}
