import type { Rejection } from './commands.ts';
import type { Cost, RecoveryEntry } from './events.ts';
import type { SagaState, StepState } from './state.ts';
import { hasEffect, isDone, isRecovered, isUnresolved, needsHand, pivotInDoubt } from './view.ts';

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
  const { plan } = state;
  if (plan === undefined || plan.estimateMinor === 0) return false;
  if (owedMinor(state) === 0) return false;
  const allowed = allowedMinor(state);
  return allowed !== undefined && recoveryCostMinor(state) > allowed;
}

/** What this recovery may cost in all, by its ceiling or a person's approval. Absent: what it must. */
export function allowedMinor(state: SagaState): number | undefined {
  const { plan, approval } = state;
  const { ceiling } = state.start;
  if (ceiling === undefined || plan === undefined) return undefined;
  const currency = plan.currency ?? ceiling.currency;
  return Math.max(
    ceiling.currency === currency ? ceiling.costMinor : 0,
    approval?.planHash === plan.hash ? approval.maxCost.costMinor : 0,
  );
}

/** What the plan sets aside for one recovery, and the most it may cost without touching the others' share. */
export function budgetFor(
  state: SagaState,
  step: string,
): { readonly reserved?: Cost; readonly costLimit?: Cost } {
  const reserved = state.plan?.entries.find((entry) => entry.step === step)?.estimate;
  if (reserved === undefined) return {};
  const allowed = allowedMinor(state);
  if (allowed === undefined) return { reserved };
  const others = owedMinor(state) - reserved.costMinor;
  const costMinor = Math.max(0, allowed - spentOnRecovery(state) - others);
  return { reserved, costLimit: { costMinor, currency: reserved.currency } };
}

/** What recovery has spent, and the estimates of what it still owes. */
export function recoveryCostMinor(state: SagaState): number {
  return spentOnRecovery(state) + owedMinor(state);
}

/** The estimates of what this recovery still owes. */
export function owedMinor(state: SagaState): number {
  return (state.plan?.entries ?? []).reduce((sum, entry) => {
    const step = state.steps.get(entry.step);
    const open = step !== undefined && !isRecovered(step);
    return open ? sum + (entry.estimate?.costMinor ?? 0) : sum;
  }, 0);
}

/** What is done counts as its provider told, and as estimated where it told nothing in that currency. */
export function spentOnRecovery(state: SagaState): number {
  let sum = 0;
  for (const { recovery } of state.steps.values()) {
    if (recovery === undefined || !isDone(recovery)) continue;
    const { reserved, commit } = recovery;
    const told = commit?.cost;
    const counts = reserved === undefined || told?.currency === reserved.currency;
    sum += (counts ? told : reserved)?.costMinor ?? 0;
  }
  return sum;
}
