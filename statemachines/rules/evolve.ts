import type { AdoptedStep, SagaEvent, SagaStarted } from './events.ts';
import { FINAL_STATES, PROTOCOL } from './events.ts';
import { decided, drive, parked, reviewOpened } from './evolve-drives.ts';
import { halt } from './evolve-parts.ts';
import {
  claimed,
  committed,
  deferred,
  failed,
  inDoubt,
  late,
  reconciled,
  withoutMootReview,
} from './evolve-steps.ts';
import type { Commit, SagaState, StepState } from './state.ts';
import { freshAction } from './state.ts';

/**
 * The state after one event. Total over every event that `decide` can write; an event of an unknown
 * type leaves the saga readable but closes it to claims.
 */
export function evolve(state: SagaState | undefined, event: SagaEvent): SagaState {
  if (state === undefined) {
    if (event.type !== 'saga_started') {
      throw new Error(`a ledger begins with saga_started, not with ${event.type}`);
    }
    return started(event);
  }
  const changed = applyBody(state, event);
  const granted = event.epoch > state.epoch;
  // Neither the drive's own park nor somebody's advice is progress.
  const still = event.type === 'drive_parked' || event.type === 'suggestion_recorded';
  return {
    ...changed,
    seq: event.seq,
    at: event.at,
    status: event.state,
    drive: event.drive,
    epoch: event.epoch,
    dueAt: event.dueAt,
    parked: event.drive === 'parked' ? changed.parked : undefined,
    progress: granted ? 0 : still ? state.progress : state.progress + 1,
  };
}

/** Folds a whole ledger, or the events after `from`. */
export function fold(events: Iterable<SagaEvent>, from?: SagaState): SagaState | undefined {
  let state = from;
  for (const event of events) state = evolve(state, event);
  return state;
}

function started(event: SagaEvent & SagaStarted): SagaState {
  const steps = new Map<string, StepState>();
  for (const record of event.steps) {
    steps.set(record.name, {
      record,
      forward: freshAction('forward'),
      recovery: undefined,
      resolved: undefined,
      late: [],
    });
  }
  for (const adopted of event.adopted ?? []) {
    const step = steps.get(adopted.step);
    if (step !== undefined) steps.set(adopted.step, adoptedStep(step, adopted, event));
  }
  return {
    start: event,
    seq: event.seq,
    startedAt: event.at,
    at: event.at,
    status: event.state,
    drive: event.drive,
    epoch: event.epoch,
    dueAt: event.dueAt,
    machine: event.machine,
    planDigest: event.planDigest,
    steps,
    halt: undefined,
    plan: undefined,
    approval: undefined,
    review: undefined,
    parked: undefined,
    progress: 0,
    idleDrives: 0,
    incident: undefined,
    rerun: undefined,
    erased: false,
    unreadable:
      event.protocol === PROTOCOL ? undefined : `ledger protocol ${String(event.protocol)}`,
  };
}

function adoptedStep(step: StepState, adopted: AdoptedStep, head: SagaEvent): StepState {
  const { result, externalIds } = adopted;
  const commit: Commit = {
    seq: head.seq,
    at: head.at,
    via: 'adopted',
    by: head.actor,
    attempt: 0,
    attemptNonce: '',
    externalIds,
    result,
    undo: null,
    cost: undefined,
    defect: undefined,
  };
  const forward = { ...step.forward, status: 'done' as const, externalIds, commit };
  return { ...step, forward, adopted: true };
}

function applyBody(state: SagaState, event: SagaEvent): SagaState {
  switch (event.type) {
    case 'saga_started':
      throw new Error('saga_started stands only at the beginning of a ledger');
    case 'step_claimed':
      return claimed(state, event);
    case 'step_committed':
      return withoutMootReview(committed(state, event, event));
    case 'step_failed':
      return failed(state, event, event);
    case 'step_deferred':
      return deferred(state, event, event.at);
    case 'step_in_doubt':
      return inDoubt(state, event, event.at);
    case 'step_reconciled':
      return reconciled(state, event, event.at);
    case 'late_evidence':
      return late(state, event, event);
    case 'saga_halted':
      return halt(state, event, event.reason, event);
    case 'cancel_requested':
      // What a person was asked about going forward is moot; recovery asks its own questions.
      return {
        ...halt(state, event, 'cancelled', { everything: event.everything }),
        review: undefined,
      };
    case 'recovery_planned':
      return { ...state, plan: event.plan };
    case 'drive_parked':
      return parked(state, event);
    case 'drive_granted':
      return drive(state, event);
    case 'review_opened':
      return reviewOpened(state, event, event.at);
    case 'review_decided':
      return decided(state, event, event);
    case 'incident_opened':
      return {
        ...state,
        incident: {
          seq: event.seq,
          reason: event.reason,
          explanation: event.explanation,
          steps: event.steps,
        },
      };
    case 'rerun_claimed':
      return { ...state, rerun: { saga: event.saga, at: event.at } };
    case 'payloads_erased':
      return { ...state, erased: true };
    case 'saga_completed':
    case 'saga_compensated':
    case 'suggestion_recorded':
      return state;
    default:
      return { ...state, unreadable: `event type ${String((event as { type: unknown }).type)}` };
  }
}

export function wasFinal(event: Pick<SagaEvent, 'state'>): boolean {
  return FINAL_STATES.includes(event.state);
}
