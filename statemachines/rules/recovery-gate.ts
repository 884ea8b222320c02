import type { Rejection } from './commands.ts';
import type { RecoveryEntry } from './events.ts';
import type { SagaState, StepState } from './state.ts';
import { hasEffect, isRecovered, isUnresolved, needsHand, pivotInDoubt } from './view.ts';

/** May this step's recovery be claimed now? Nothing: yes. (Invariants 5 and 13; "the pivot decides".) */
export function recoveryGate(state: SagaState, step: StepState): Rejection | undefined {
  if (state.halt === undefined) return { reason: 'not_planned' };
  const entry = state.plan?.entries.find((candidate) => candidate.step === step.record.name);
  if (entry === undefined) return { reason: 'not_planned' };
  const early = turn(state, entry);
  if (early !== undefined) return early;
  if (step.resolved !== undefined) return { reason: 'not_required' };
  if (isUnresolved(step.forward)) return { reason: 'in_doubt' };
  if (!hasEffect(step) || isRecovered(step)) return { reason: 'not_required' };
  if (needsHand(step, entry)) return { reason: 'held' };
  if (needsApproval(state)) return { reason: 'over_ceiling' };
  return undefined;
}

/** Is it this entry's turn: the pivot known, predecessors recovered? */
export function turn(state: SagaState, entry: RecoveryEntry): Rejection | undefined {
  const pivot = pivotInDoubt(state);
  if (pivot !== undefined && pivot.record.name !== entry.step) return { reason: 'not_ready' };
  const ready = entry.after.every((name) => {
    const before = state.steps.get(name);
    return before === undefined || isRecovered(before);
  });
  return ready ? undefined : { reason: 'not_ready' };
}

/** The plan costs more than recovery may spend without a person's word. Without a ceiling it may spend what it must. */
export function needsApproval(state: SagaState): boolean {
  const { plan, approval } = state;
  if (plan === undefined || plan.estimateMinor === 0) return false;
  if (owedMinor(state) === 0) return false;
  const { ceiling } = state.start;
  if (ceiling === undefined) return false;
  const allowed = Math.max(
    ceiling.currency === plan.currency ? ceiling.costMinor : 0,
    approval?.planHash === plan.hash ? approval.maxCost.costMinor : 0,
  );
  return recoveryCostMinor(state) > allowed;
}

/** What recovery has spent, and the estimates of what it still owes. */
export function recoveryCostMinor(state: SagaState): number {
  return spentOnRecovery(state) + owedMinor(state);
}

function owedMinor(state: SagaState): number {
  return (state.plan?.entries ?? []).reduce((sum, entry) => {
    const step = state.steps.get(entry.step);
    const open = step !== undefined && !isRecovered(step);
    return open ? sum + (entry.estimate?.costMinor ?? 0) : sum;
  }, 0);
}

export function spentOnRecovery(state: SagaState): number {
  let sum = 0;
  for (const step of state.steps.values()) sum += step.recovery?.commit?.cost?.costMinor ?? 0;
  return sum;
}
