import type { EffectClass } from '../language/effects.ts';
import type { Action, RecoveryEntry } from './events.ts';
import { FINAL_STATES } from './events.ts';
import { SKEW_MS } from './protocol.ts';
import type { ActionState, SagaState, StepState } from './state.ts';

/** Questions about a folded saga that several rules ask. All derived; nothing here is stored. */

export function isFinal(state: SagaState): boolean {
  return FINAL_STATES.includes(state.status);
}

export function writes(effect: EffectClass): boolean {
  return effect !== 'read_only';
}

export function stepsInOrder(state: SagaState): StepState[] {
  return state.start.steps.flatMap((record) => {
    const step = state.steps.get(record.name);
    return step === undefined ? [] : [step];
  });
}

/** A claim whose holder may still be working: nobody else may claim. */
export function isLive(action: ActionState, now: number): boolean {
  return (
    action.status === 'running' &&
    action.attempt !== undefined &&
    now < action.attempt.leaseUntil + SKEW_MS
  );
}

/** It waits for its tool's breaker. */
export function isDeferred(action: ActionState): boolean {
  return action.deferrals > 0;
}

/** The call may have happened and nothing says whether it did. */
export function isUnresolved(action: ActionState): boolean {
  return action.status === 'running' || action.status === 'waiting' || action.status === 'in_doubt';
}

export function isDone(action: ActionState | undefined): boolean {
  return action?.status === 'done';
}

export function actionOf(step: StepState, action: Action): ActionState | undefined {
  if (action === 'forward') return step.forward;
  return step.recovery?.action === action ? step.recovery : undefined;
}

/** Its tool says that it failed past the point of no return: no word of the provider takes that back. */
export function failedIrreversibly(step: StepState): boolean {
  return (
    step.forward.status === 'failed' && step.forward.failure?.class === 'irreversible_incident'
  );
}

/** Something of it stands that recovery must look after: it committed, or failed past its own pivot. */
export function hasEffect(step: StepState): boolean {
  return (
    isDone(step.forward) || (step.record.effect === 'irreversible' && failedIrreversibly(step))
  );
}

/** Behind the point of no return: an irreversible step committed, or failed so that it cannot be undone. */
export function pivotCommitted(state: SagaState): boolean {
  return stepsInOrder(state).some(
    (step) => step.record.effect === 'irreversible' && hasEffect(step),
  );
}

/** Its effect may stand, and nobody has vouched for it. What only reads leaves no doubt behind. */
export function isInDoubt(step: StepState): boolean {
  return writes(step.record.effect) && step.resolved === undefined && isUnresolved(step.forward);
}

/** The irreversible step whose outcome nobody knows: while there is one, only it may be recovered. */
export function pivotInDoubt(state: SagaState): StepState | undefined {
  return stepsInOrder(state).find(
    (step) => step.record.effect === 'irreversible' && isInDoubt(step),
  );
}

/** Steps that must be done before this one's forward call. */
export function forwardPredecessors(state: SagaState, name: string): readonly string[] {
  const steps = state.start.steps;
  const index = steps.findIndex((step) => step.name === name);
  const record = steps[index];
  if (record?.after !== undefined) return record.after;
  const before = steps[index - 1];
  return before === undefined ? [] : [before.name];
}

export type RecoveryStatus =
  | 'not_required'
  | 'pending'
  | 'running'
  | 'retrying'
  | 'waiting'
  | 'in_doubt'
  | 'done'
  | 'superseded'
  | 'resolved'
  | 'failed';

/** Why its contract says that nothing of its effect is to be undone, if it does. */
export function undoSkipped(step: StepState): string | undefined {
  const undo = step.forward.commit?.undo;
  return undo?.kind === 'skipped' ? undo.why : undefined;
}

/** Where a step's recovery stands (design: states of compensation). */
export function recoveryStatus(step: StepState): RecoveryStatus {
  if (step.record.effect === 'read_only') return 'not_required';
  if (step.resolved !== undefined) return 'resolved';
  const recovery = step.recovery;
  if (recovery !== undefined && recovery.status !== 'idle') {
    if (recovery.status === 'done') return recovery.action === 'supersede' ? 'superseded' : 'done';
    return recovery.status;
  }
  return hasEffect(step) && undoSkipped(step) === undefined ? 'pending' : 'not_required';
}

/** Nothing more is owed for this plan entry. */
export function isRecovered(step: StepState): boolean {
  if (isUnresolved(step.forward) && step.resolved === undefined) return false;
  const status = recoveryStatus(step);
  return (
    status === 'done' ||
    status === 'superseded' ||
    status === 'resolved' ||
    status === 'not_required'
  );
}

/** Only a person can undo it: so declared, or committed without arguments for its compensation. */
export function needsHand(step: StepState, entry: RecoveryEntry): boolean {
  if (entry.action === 'person') return true;
  return entry.action !== 'contain' && step.forward.commit?.undo?.kind === 'unavailable';
}

/** A recovery ordered after one that failed for good. Derived, never stored. */
export function isBlocked(state: SagaState, entry: RecoveryEntry): boolean {
  return entry.after.some((name) => {
    const before = state.steps.get(name);
    if (before === undefined || isRecovered(before)) return false;
    const ahead = state.plan?.entries.find((candidate) => candidate.step === name);
    return (
      before.recovery?.status === 'failed' ||
      (ahead !== undefined && (needsHand(before, ahead) || isBlocked(state, ahead)))
    );
  });
}

export function pluralSteps(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}
