import type {
  LateEvidence,
  SagaEvent,
  StepClaimed,
  StepCommitted,
  StepDeferred,
  StepFailed,
  StepInDoubt,
  StepReconciled,
} from './events.ts';
import { type Head, halt, nextRound, reopened, withAction, withStep } from './evolve-parts.ts';
import { SKEW_MS } from './protocol.ts';
import type { ActionState, SagaState } from './state.ts';
import { isDone, isUnresolved, stepsInOrder } from './view.ts';

/** How the events of steps change a saga. */

export function claimed(state: SagaState, event: SagaEvent & StepClaimed): SagaState {
  return withAction(state, event.step, event.action, (current) => ({
    ...current,
    status: 'running',
    attempts: event.attempt,
    spent: isQuestion(state, event, current) ? current.spent : current.spent + 1,
    round: event.round,
    roundSince: current.round === event.round ? (current.roundSince ?? event.at) : event.at,
    suspectUntil: current.round === event.round ? suspectUntil(current) : undefined,
    args: event.args ?? current.args,
    reserved: event.reserved ?? current.reserved,
    retryAt: undefined,
    triedSince: current.triedSince ?? event.at,
    deferrals: 0,
    askAt: undefined,
    asks: isUnresolved(current) ? current.asks : 0,
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

/**
 * Sent again under a key that still protects it, a call is a question about the one in doubt, and no try
 * is spent on it. An attempt that ended without a word is none: what kills its process may do so again.
 */
function isQuestion(state: SagaState, event: StepClaimed, current: ActionState): boolean {
  if (current.status === 'waiting') return true;
  const effect = state.steps.get(event.step)?.record.effect;
  return current.status === 'in_doubt' && event.dedupe === 'key' && effect !== 'read_only';
}

/** A person was asked what became of a call; meanwhile it told so itself. */
export function withoutMootReview(state: SagaState): SagaState {
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
  const { attempt } = current;
  if (!isUnresolved(current) || attempt === undefined || attempt.void) return current.suspectUntil;
  return Math.max(current.suspectUntil ?? 0, attempt.settleUntil);
}

export function committed(state: SagaState, event: StepCommitted, head: Head): SagaState {
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
      attempt: event.attempt,
      attemptNonce: event.attemptNonce,
      externalIds: event.externalIds,
      result: event.result,
      undo: event.undo,
      cost: event.cost,
      ...(event.overshoot === undefined ? {} : { overshoot: event.overshoot }),
      defect: event.defect,
    },
  }));
  if (event.action !== 'forward') return next;
  // Whoever now says that it committed takes back that nothing of it stands.
  const open = withStep(next, event.step, (step) => ({ ...step, resolved: undefined }));
  const effect = open.steps.get(event.step)?.record.effect;
  const settled = effect === 'irreversible' ? pivotStands(open) : open;
  if (event.defect === undefined) return settled;
  return halt(settled, head, 'output_refused', { step: event.step, code: event.defect.code });
}

/**
 * The pivot turned out to have committed: a terminal fact from before that was known is void, and the
 * saga goes forward, unless something was already undone, by a call or by hand (then only an incident tells the truth).
 */
function pivotStands(state: SagaState): SagaState {
  const undone = stepsInOrder(state).some(
    (step) =>
      (step.recovery?.attempts ?? 0) > 0 || isDone(step.recovery) || step.resolved !== undefined,
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

export function failed(state: SagaState, event: StepFailed, head: Head): SagaState {
  const final = event.failure !== 'retryable';
  let doubtful = false;
  const next = withAction(state, event.step, event.action, (current) => {
    const failure = {
      seq: head.seq,
      at: head.at,
      class: event.failure,
      code: event.code,
      message: event.message,
      ...(event.reason === undefined ? {} : { reason: event.reason }),
    };
    const askAt = doubtAfter(current, event);
    if (askAt !== undefined && current.attempt !== undefined) {
      doubtful = true;
      const unsettledSince = current.unsettledSince ?? head.at;
      const attempt = { ...current.attempt, void: true as const };
      const asks = current.asks + 1;
      return { ...current, status: 'in_doubt', attempt, askAt, asks, unsettledSince, failure };
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
  return halts ? halt(next, head, event.reason ?? 'step_failed', event) : next;
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

/** The claim was not made: it waits, in the state that it was in, and its budget's time runs. */
export function deferred(state: SagaState, event: StepDeferred, at: number): SagaState {
  return withAction(state, event.step, event.action, (current) => ({
    ...current,
    ...(isUnresolved(current)
      ? { askAt: event.retryAt }
      : { status: 'retrying' as const, retryAt: event.retryAt }),
    triedSince: current.triedSince ?? at,
    deferrals: current.deferrals + 1,
  }));
}

export function inDoubt(state: SagaState, event: StepInDoubt, at: number): SagaState {
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

export function reconciled(state: SagaState, event: StepReconciled, at: number): SagaState {
  return withAction(state, event.step, event.action, (current) => {
    if (event.answer === 'absent') {
      return {
        ...current,
        status: 'retrying',
        ...nextRound(current),
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

export function late(
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
