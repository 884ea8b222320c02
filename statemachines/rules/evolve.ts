import type {
  Action,
  DriveGranted,
  DriveParked,
  LateEvidence,
  RecoveryAction,
  ReviewDecided,
  ReviewOpened,
  SagaEvent,
  SagaStarted,
  StepClaimed,
  StepCommitted,
  StepFailed,
  StepInDoubt,
  StepReconciled,
} from './events.ts';
import { FINAL_STATES, PROTOCOL } from './events.ts';
import { SKEW_MS } from './protocol.ts';
import type { ActionState, Halt, SagaState, StepState } from './state.ts';
import { freshAction } from './state.ts';
import { actionOf, isDone, isUnresolved, pivotCommitted, stepsInOrder } from './view.ts';

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
    erased: false,
    unreadable:
      event.protocol === PROTOCOL ? undefined : `ledger protocol ${String(event.protocol)}`,
  };
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
    case 'step_in_doubt':
      return inDoubt(state, event, event.at);
    case 'step_reconciled':
      return reconciled(state, event, event.at);
    case 'late_evidence':
      return late(state, event, event);
    case 'saga_halted':
      return halt(state, event, event.reason, event.step, event.code);
    case 'cancel_requested':
      // What a person was asked about going forward is moot; recovery asks its own questions.
      return { ...halt(state, event, 'cancelled'), review: undefined };
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

type Head = Pick<SagaEvent, 'seq' | 'at' | 'actor'>;

function withStep(
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

function withAction(
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

function claimed(state: SagaState, event: SagaEvent & StepClaimed): SagaState {
  return withAction(state, event.step, event.action, (current) => ({
    ...current,
    status: 'running',
    attempts: event.attempt,
    spent: current.spent + 1,
    round: event.round,
    roundSince: current.round === event.round ? (current.roundSince ?? event.at) : event.at,
    suspectUntil: current.round === event.round ? suspectUntil(current) : undefined,
    args: event.args ?? current.args,
    retryAt: undefined,
    askAt: undefined,
    asks: 0,
    attempt: {
      number: event.attempt,
      nonce: event.attemptNonce,
      key: event.key,
      correlationId: event.correlationId,
      epoch: event.epoch,
      claimedAt: event.at,
      deadlineAt: event.deadlineAt,
      leaseUntil: event.leaseUntil,
      settleUntil: event.settleUntil,
    },
  }));
}

/** A person was asked what became of a call; meanwhile it told so itself. */
function withoutMootReview(state: SagaState): SagaState {
  const { review } = state;
  if (review?.reason !== 'unknown_outcome' && review?.reason !== 'pending_too_long') return state;
  const open = review.steps.some((name) => {
    const step = state.steps.get(name);
    return [step?.forward, step?.recovery].some(
      (action) => action !== undefined && isUnresolved(action),
    );
  });
  return open ? state : { ...state, review: undefined };
}

/** A claim over an attempt in doubt sends the call again; the doubt about the first one remains. */
function suspectUntil(current: ActionState): number | undefined {
  if (!isUnresolved(current) || current.attempt === undefined) return current.suspectUntil;
  return Math.max(current.suspectUntil ?? 0, current.attempt.settleUntil);
}

function committed(state: SagaState, event: StepCommitted, head: Head): SagaState {
  const next = withAction(state, event.step, event.action, (current) => ({
    ...current,
    status: 'done',
    attempts: Math.max(current.attempts, event.attempt),
    externalIds: { ...current.externalIds, ...event.externalIds },
    retryAt: undefined,
    askAt: undefined,
    unsettledSince: undefined,
    suspectUntil: undefined,
    commit: {
      seq: head.seq,
      at: head.at,
      via: event.via,
      by: head.actor,
      attemptNonce: event.attemptNonce,
      result: event.result,
      undo: event.undo,
      cost: event.cost,
      defect: event.defect,
    },
  }));
  if (event.action !== 'forward') return next;
  const effect = next.steps.get(event.step)?.record.effect;
  const settled = effect === 'irreversible' ? pivotStands(next) : next;
  if (event.defect === undefined) return settled;
  return halt(settled, head, 'step_failed', event.step, event.defect.code);
}

/**
 * The pivot turned out to have committed: a terminal fact from before that was known is void, and the
 * saga goes forward, unless something was already undone (then only an incident tells the truth).
 */
function pivotStands(state: SagaState): SagaState {
  const undone = stepsInOrder(state).some(
    (step) => (step.recovery?.attempts ?? 0) > 0 || isDone(step.recovery),
  );
  if (undone || state.halt === undefined || state.halt.afterPivot) return state;
  const unusable = stepsInOrder(state).some((step) => step.forward.commit?.defect !== undefined);
  // An answer nobody can use stays one: there is no way forward from it.
  if (unusable) return { ...state, halt: { ...state.halt, afterPivot: true }, plan: undefined };
  const steps = new Map(state.steps);
  for (const [name, step] of steps) {
    if (step.forward.status === 'failed') {
      steps.set(name, { ...step, forward: reopened(step.forward) });
    }
  }
  return { ...state, steps, halt: undefined, plan: undefined };
}

function failed(state: SagaState, event: StepFailed, head: Head): SagaState {
  const final = event.failure !== 'retryable';
  let doubtful = false;
  const next = withAction(state, event.step, event.action, (current) => {
    const failure = {
      seq: head.seq,
      at: head.at,
      class: event.failure,
      code: event.code,
      message: event.message,
    };
    const askAt = doubtAfter(current, event);
    if (askAt !== undefined) {
      doubtful = true;
      const unsettledSince = current.unsettledSince ?? head.at;
      return { ...current, status: 'in_doubt', askAt, unsettledSince, failure };
    }
    return {
      ...current,
      status: final ? 'failed' : 'retrying',
      retryAt: event.retryAt,
      askAt: undefined,
      suspectUntil: undefined,
      failure,
    };
  });
  const halts =
    !doubtful &&
    event.action === 'forward' &&
    (event.failure === 'terminal_compensate' || event.failure === 'irreversible_incident');
  return halts ? halt(next, head, 'step_failed', event.step, event.code) : next;
}

/**
 * This attempt failed, but an earlier one of its round may have taken effect or still do: when to send
 * it again. A final refusal counts once it was given to a call made after the earlier one could land.
 */
function doubtAfter(current: ActionState, event: StepFailed): number | undefined {
  if (current.suspectUntil === undefined || current.attempt === undefined) return undefined;
  const settledAt = current.suspectUntil + SKEW_MS;
  if (event.failure === 'retryable') return event.retryAt ?? settledAt;
  return current.attempt.claimedAt < settledAt ? settledAt : undefined;
}

function inDoubt(state: SagaState, event: StepInDoubt, at: number): SagaState {
  return withAction(state, event.step, event.action, (current) => ({
    ...current,
    status: 'in_doubt',
    askAt: event.askAt,
    asks: current.asks + 1,
    unsettledSince: current.unsettledSince ?? at,
    failure: {
      seq: state.seq + 1,
      at,
      class: 'ambiguous',
      code: event.code,
      message: event.message,
    },
  }));
}

function reconciled(state: SagaState, event: StepReconciled, at: number): SagaState {
  return withAction(state, event.step, event.action, (current) => {
    if (event.answer === 'absent') {
      return {
        ...current,
        status: 'retrying',
        round: current.round + 1,
        roundSince: undefined,
        suspectUntil: undefined,
        retryAt: undefined,
        askAt: undefined,
        asks: 0,
        unsettledSince: undefined,
      };
    }
    return {
      ...current,
      status: event.answer === 'pending' ? 'waiting' : 'in_doubt',
      askAt: event.askAt,
      asks: current.asks + 1,
      unsettledSince: current.unsettledSince ?? at,
      externalIds: { ...current.externalIds, ...event.externalIds },
    };
  });
}

function late(
  state: SagaState,
  event: LateEvidence,
  head: Head & Pick<SagaEvent, 'state'>,
): SagaState {
  // Evidence on a final saga is the one move out of `completed` and `compensated`.
  const incident =
    head.state === 'incident'
      ? (state.incident ?? {
          seq: head.seq,
          reason: 'late_evidence' as const,
          steps: [event.step],
          explanation: `a second effect of step "${event.step}" became known after the end`,
        })
      : state.incident;
  return withStep({ ...state, incident }, event.step, (step) => ({
    ...step,
    late: [...step.late, { action: event.action, seq: head.seq, externalIds: event.externalIds }],
  }));
}

function halt(
  state: SagaState,
  head: Pick<Head, 'seq' | 'at'>,
  reason: Halt['reason'],
  step?: string,
  code?: string,
): SagaState {
  if (state.halt !== undefined) return state;
  return {
    ...state,
    halt: {
      seq: head.seq,
      at: head.at,
      reason,
      afterPivot: pivotCommitted(state),
      ...(step === undefined ? {} : { step }),
      ...(code === undefined ? {} : { code }),
    },
  };
}

function parked(state: SagaState, event: DriveParked): SagaState {
  const excused = event.reason === 'turn' || event.reason === 'person' || event.reason === 'lease';
  const idleDrives = !event.idle ? 0 : excused ? state.idleDrives : state.idleDrives + 1;
  const review =
    event.reason === 'person' && state.review !== undefined
      ? { ...state.review, remindAt: nextReminder(state.review, state) }
      : state.review;
  return { ...state, parked: event.reason, idleDrives, review };
}

/** Reminders begin at the review's deadline and double their distance from its opening. */
export function nextReminder(
  review: { readonly openedAt: number; readonly deadlineAt: number; readonly remindAt: number },
  state: { readonly at: number },
): number {
  let remindAt = review.remindAt;
  const step = Math.max(1, review.deadlineAt - review.openedAt);
  while (remindAt <= state.at) remindAt += Math.max(step, remindAt - review.openedAt);
  return remindAt;
}

function drive(state: SagaState, event: DriveGranted): SagaState {
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

function reopened(action: ActionState): ActionState {
  const next = asked({ ...action, spent: 0 });
  return action.status === 'failed'
    ? {
        ...next,
        status: 'retrying',
        round: action.round + 1,
        roundSince: undefined,
        retryAt: undefined,
      }
    : next;
}

/** Lets a call in doubt be asked about again at once. */
function asked(action: ActionState): ActionState {
  if (action.status !== 'in_doubt' && action.status !== 'waiting') return action;
  return { ...action, asks: 0, askAt: undefined, unsettledSince: undefined };
}

function reviewOpened(state: SagaState, event: ReviewOpened, at: number): SagaState {
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

function decided(state: SagaState, event: ReviewDecided, head: Head): SagaState {
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
      return halt(named, head, 'person');
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
  if (current?.attempt === undefined || isDone(current)) return state;
  const ref = {
    step,
    action,
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
    (now) => ({ ...now, spent: 0 }),
  );
}

export function wasFinal(event: Pick<SagaEvent, 'state'>): boolean {
  return FINAL_STATES.includes(event.state);
}
