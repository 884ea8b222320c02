import { reject } from './claim.ts';
import type { AttemptName, Context, Outcome, Verdict } from './commands.ts';
import { dedupeNow, nextAskAt, settledAt } from './doubt.ts';
import type { Cost, ExternalIds } from './events.ts';
import { SKEW_MS } from './protocol.ts';
import { append } from './stamp.ts';
import type { ActionState, Attempt, SagaState, StepState } from './state.ts';
import { freshAction } from './state.ts';
import { actionOf, isDone, isFinal, isUnresolved } from './view.ts';

type Commit = Extract<Outcome, { kind: 'commit' }>;
type Fail = Extract<Outcome, { kind: 'fail' }>;
type Doubt = Extract<Outcome, { kind: 'doubt' }>;
type Reconcile = Extract<Outcome, { kind: 'reconcile' }>;

/**
 * Records what became of an attempt. No epoch, lease or terminal fact is asked for: fences stop new
 * work only, and an outcome that did happen is evidence, however late it comes.
 */
export function outcome(state: SagaState, command: Outcome, context: Context): Verdict {
  const step = state.steps.get(command.step);
  if (step === undefined) {
    return reject({ reason: 'drift', explanation: `the ledger knows no step "${command.step}"` });
  }
  const action = actionOf(step, command.action) ?? freshAction(command.action);
  switch (command.kind) {
    case 'commit':
      return step.resolved !== undefined && command.action === 'forward' && !isDone(action)
        ? lateEvidence(state, command, step, context)
        : commit(state, command, step, action, context);
    case 'fail':
      return fail(state, command, step, action, context);
    case 'doubt':
      return doubt(state, command, step, action, context);
    case 'reconcile':
      return reconcile(state, command, step, action, context);
  }
}

function commit(
  state: SagaState,
  command: Commit,
  step: StepState,
  action: ActionState,
  context: Context,
): Verdict {
  const { kind: _kind, foundAt: _foundAt, ...body } = command;
  if (isDone(action)) {
    if (isSameEffect(command, action)) return { kind: 'already' };
    return lateEvidence(state, command, step, context);
  }
  // A final saga's step cannot be committed any more: the effect is shown, not silently added.
  if (isFinal(state)) return lateEvidence(state, command, step, context);
  const { effect } = step.record;
  const overshoot = overshootOf(action, command);
  return append(
    state,
    {
      type: 'step_committed',
      ...body,
      ...makerOf(command, action),
      effect,
      ...(overshoot === undefined ? {} : { overshoot }),
    },
    context,
  );
}

function lateEvidence(
  state: SagaState,
  command: Commit,
  step: StepState,
  context: Context,
): Verdict {
  // A second answer to a question is no second effect.
  const { effect } = step.record;
  if (effect === 'read_only') return { kind: 'already' };
  const known = step.late.some(
    (late) => late.action === command.action && isSameIds(late.externalIds, command.externalIds),
  );
  if (known) return { kind: 'already' };
  return append(
    state,
    {
      type: 'late_evidence',
      step: command.step,
      action: command.action,
      effect,
      attempt: command.attempt,
      attemptNonce: command.attemptNonce,
      externalIds: command.externalIds,
      result: command.result,
      undo: command.undo,
    },
    context,
  );
}

/** By how much a recovery cost more than the plan had set aside for it. */
function overshootOf(action: ActionState, command: Commit): Cost | undefined {
  const { reserved } = action;
  const { cost } = command;
  if (command.action === 'forward' || reserved === undefined || cost === undefined) {
    return undefined;
  }
  const { currency } = cost;
  // Nobody here knows an exchange rate: what was paid in another currency was not set aside.
  const covered = currency === reserved.currency ? reserved.costMinor : 0;
  const costMinor = cost.costMinor - covered;
  return costMinor > 0 ? { costMinor, currency } : undefined;
}

/**
 * Late evidence of an effect already recorded changes nothing: the same attempt, an id in common, another
 * attempt of the same round at a provider that honours our key, or what a question found that may have been
 * the recorded one. An id that contradicts outweighs all of them: one call may be carried out twice by what
 * lies between us and the provider's books. Ids of answers before the commit do not count: what was
 * `pending` may have come to nothing, or have got another id.
 */
function isSameEffect(command: Commit, action: ActionState): boolean {
  const { commit, attempt } = action;
  const known = commit?.externalIds ?? {};
  const told = command.externalIds;
  if (contradicts(known, told)) return false;
  if (commit?.attemptNonce === command.attemptNonce) return true;
  if (hasCommon(known, told)) return true;
  if (roundOf(action, command.attempt) === roundOf(action, commit?.attempt ?? 0)) return true;
  // Only another round's call can have been another effect, and ids of other names speak for one.
  if (isToldOf(known) && isToldOf(told)) return false;
  if (command.foundAt === undefined) return false;
  return commit?.attemptNonce !== attempt?.nonce || isFoundAfter(command, attempt);
}

function roundOf({ roundStarts }: ActionState, attempt: number): number {
  return roundStarts.filter((first) => first <= attempt).length;
}

/**
 * The attempt to which a commit belongs. All attempts share the correlation id: where a question about an
 * earlier one, answered "absent" by now, is answered once more while the next is under way, what it found
 * is that one's, unless an id tells them apart.
 */
function makerOf(command: Commit, action: ActionState): Partial<AttemptName> {
  const { attempt } = action;
  if (command.foundAt === undefined || attempt === undefined) return {};
  if (isToldOf(command.externalIds) || attempt.void === true) return {};
  if (!isUnresolved(action) || !isFoundAfter(command, attempt)) return {};
  return { attempt: attempt.number, attemptNonce: attempt.nonce };
}

/** What was there before an attempt was claimed is no effect of that attempt. */
function isFoundAfter({ foundAt }: Commit, attempt: Attempt | undefined): boolean {
  return foundAt !== undefined && foundAt > (attempt?.claimedAt ?? 0) - SKEW_MS;
}

function isToldOf(ids: ExternalIds): boolean {
  return Object.keys(ids).length > 0;
}

/** Two charges of one order share the order's id only. */
function isSameIds(left: ExternalIds, right: ExternalIds): boolean {
  return hasCommon(left, right) && !contradicts(left, right);
}

function hasCommon(left: ExternalIds, right: ExternalIds): boolean {
  return Object.keys(right).some((name) => Object.hasOwn(left, name));
}

/** The same name with another value. */
function contradicts(left: ExternalIds, right: ExternalIds): boolean {
  return Object.entries(right).some(([name, id]) => Object.hasOwn(left, name) && left[name] !== id);
}

function fail(
  state: SagaState,
  command: Fail,
  step: StepState,
  action: ActionState,
  context: Context,
): Verdict {
  if (!isCurrent(action, command.attemptNonce)) return { kind: 'already' };
  if (isFinal(state)) return { kind: 'already' };
  return append(
    state,
    {
      type: 'step_failed',
      step: command.step,
      action: command.action,
      effect: step.record.effect,
      attempt: command.attempt,
      attemptNonce: command.attemptNonce,
      failure: command.failure,
      code: command.code,
      message: command.message,
      ...(command.reason === undefined ? {} : { reason: command.reason }),
      ...(command.retryInMs === undefined
        ? {}
        : { retryAt: Math.max(context.now, state.at) + command.retryInMs }),
    },
    context,
  );
}

function doubt(
  state: SagaState,
  command: Doubt,
  step: StepState,
  action: ActionState,
  context: Context,
): Verdict {
  if (!isCurrent(action, command.attemptNonce) || action.status !== 'running')
    return { kind: 'already' };
  // A read, or a step somebody vouched for, may be in doubt past the end; only a commit still counts.
  if (isFinal(state)) return { kind: 'already' };
  const askAt = askTime(state, command, action, context);
  return append(
    state,
    {
      type: 'step_in_doubt',
      step: command.step,
      action: command.action,
      effect: step.record.effect,
      attempt: command.attempt,
      attemptNonce: command.attemptNonce,
      code: command.code,
      message: command.message,
      ...(askAt === undefined ? {} : { askAt }),
    },
    context,
  );
}

function reconcile(
  state: SagaState,
  command: Reconcile,
  step: StepState,
  action: ActionState,
  context: Context,
): Verdict {
  if (!isCurrent(action, command.attemptNonce) || isFinal(state)) return { kind: 'already' };
  const now = Math.max(context.now, state.at);
  const settled = Math.min(now, command.askedAt ?? now) >= settledAt(action);
  const absent = command.answer === 'absent' && settled;
  // Inside the settle window the call may still land: "absent" is not yet an answer (invariant 3).
  const answer = absent ? 'absent' : command.answer === 'unknown' ? 'unknown' : 'pending';
  return append(
    state,
    {
      type: 'step_reconciled',
      step: command.step,
      action: command.action,
      effect: step.record.effect,
      attempt: command.attempt,
      attemptNonce: command.attemptNonce,
      answer,
      via: command.via,
      ...(command.externalIds === undefined ? {} : { externalIds: command.externalIds }),
      ...(absent ? {} : { askAt: askTime(state, command, action, context) ?? now }),
    },
    context,
  );
}

/** When to ask next. `absent` inside the settle window is asked again when that window closes. */
function askTime(
  state: SagaState,
  command: Doubt | Reconcile,
  action: ActionState,
  context: Context,
): number | undefined {
  const now = Math.max(context.now, state.at);
  const { call } = command;
  const dedupe = dedupeNow(call, action, now);
  if (dedupe === 'none' && command.kind === 'reconcile') {
    // It can neither be asked nor sent again: its own word is awaited until patience ends.
    return (action.unsettledSince ?? now) + call.pendingForMs;
  }
  if (!call.reconcile) {
    if (command.kind === 'doubt' && command.answer === undefined) {
      // Sent again under its key after a pause; where that is not safe nobody can be asked.
      return command.call.dedupe === 'key'
        ? nextAskAt(
            { ...action, asks: Math.max(action.asks, action.spent - 1) },
            command.call,
            now,
            undefined,
          )
        : undefined;
    }
    return nextAskAt(action, command.call, now, command.askAgainInMs);
  }
  if (command.answer === 'absent') return Math.max(now, settledAt(action));
  return nextAskAt(action, command.call, now, command.askAgainInMs);
}

/** Only the last attempt may say that it did nothing; an older one's word is no longer decisive. */
function isCurrent(action: ActionState, attemptNonce: string): boolean {
  return action.attempt?.nonce === attemptNonce && isUnresolved(action);
}
