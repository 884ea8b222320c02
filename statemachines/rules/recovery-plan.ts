import { canonicalJson, type JsonValue } from '../ledger/canonical.ts';
import { sha256Hex } from '../ledger/hash.ts';
import type { SagaPlan, StepPlan } from '../plan/plan.ts';
import { checkpointOf, keptSteps } from './checkpoint.ts';
import type { RecoveryEntry, RecoveryPlan } from './events.ts';
import type { SagaState, StepState } from './state.ts';
import {
  hasEffect,
  isDone,
  isUnresolved,
  pivotCommitted,
  stepsInOrder,
  undoSkipped,
  writes,
} from './view.ts';

/**
 * Which recoveries are owed, in which order, at what cost. Effects in doubt enter conditionally at
 * full cost. What a checkpoint keeps, or was undone already, is not in it. Past the pivot only
 * containment is left: what came before it stands.
 */
export function planRecovery(state: SagaState, plan: SagaPlan): RecoveryPlan {
  const contained = pivotCommitted(state);
  const kept = keptSteps(state);
  const checkpoint = checkpointOf(state);
  const owed = stepsInOrder(state).filter((step) => isOwed(step, contained, kept));
  const names = new Set(owed.map((step) => step.record.name));
  const entries = owed.map((step) => entryOf(step, plan, names)).reverse();
  const estimates = entries.flatMap((entry) =>
    entry.estimate === undefined ? [] : [entry.estimate],
  );
  const currency = estimates.find((estimate) => estimate.costMinor > 0)?.currency;
  return {
    hash: hashOf(entries, checkpoint),
    ...(checkpoint === undefined ? {} : { checkpoint }),
    entries,
    estimateMinor: estimates.reduce((sum, estimate) => sum + estimate.costMinor, 0),
    ...(currency === undefined ? {} : { currency }),
    consequences: consequences(state, contained, kept, checkpoint),
  };
}

function hashOf(entries: readonly RecoveryEntry[], checkpoint: string | undefined): string {
  const hashed = { entries, ...(checkpoint === undefined ? {} : { checkpoint }) };
  return sha256Hex(canonicalJson(hashed as unknown as JsonValue));
}

/** Something committed or in doubt that the plan at hand does not cover. */
export function planIsShort(state: SagaState): boolean {
  const planned = new Set(state.plan?.entries.map((entry) => entry.step));
  const contained = pivotCommitted(state);
  const kept = keptSteps(state);
  return stepsInOrder(state).some(
    (step) => isOwed(step, contained, kept) && !planned.has(step.record.name),
  );
}

/** Part of the plan is done: what is left can be planned, and asked about, by itself. */
export function planIsPartlyDone(state: SagaState): boolean {
  return (state.plan?.entries ?? []).some(({ step }) => {
    const found = state.steps.get(step);
    return found !== undefined && (isDone(found.recovery) || found.resolved !== undefined);
  });
}

function isOwed(step: StepState, contained: boolean, kept: ReadonlySet<string>): boolean {
  const { effect, name } = step.record;
  if (!writes(effect) || step.resolved !== undefined || isDone(step.recovery)) return false;
  if (kept.has(name)) return false;
  if (contained && effect !== 'irreversible') return false;
  return hasEffect(step) || isUnresolved(step.forward);
}

function entryOf(step: StepState, plan: SagaPlan, owed: ReadonlySet<string>): RecoveryEntry {
  const { name, effect } = step.record;
  const planned = plan.steps.find((candidate) => candidate.name === name);
  const after = ancestors(plan, name).filter((candidate) => owed.has(candidate));
  const conditional = hasEffect(step) ? {} : { conditional: true as const };
  const base = { step: name, after, ...conditional };
  const why = undoSkipped(step);
  if (why !== undefined) return { ...base, action: 'none', why };
  if (needsPerson(step, planned)) return { ...base, action: 'person' };
  if (effect === 'irreversible') {
    return {
      ...base,
      action: 'contain',
      ...(planned?.recovery?.call === undefined ? { mark: true as const } : {}),
    };
  }
  const estimate = planned?.estimate === undefined ? {} : { estimate: planned.estimate };
  if (effect === 'supersede') {
    const markOnly = planned?.recovery?.call === undefined ? { mark: true as const } : {};
    return { ...base, action: 'supersede', ...markOnly, ...estimate };
  }
  return { ...base, action: 'compensate', ...estimate };
}

function needsPerson(step: StepState, planned: StepPlan | undefined): boolean {
  const { effect } = step.record;
  if (effect === 'human_decision' || planned === undefined) return true;
  const undo = step.forward.commit?.undo;
  return effect !== 'irreversible' && undo?.kind === 'unavailable';
}

/** All steps whose recovery comes before this one's, over steps that owe nothing too. */
function ancestors(plan: SagaPlan, name: string): string[] {
  const found = new Set<string>();
  const visit = (current: string): void => {
    const step = plan.steps.find((candidate) => candidate.name === current);
    for (const before of step?.recoverAfter ?? []) {
      if (found.has(before)) continue;
      found.add(before);
      visit(before);
    }
  };
  visit(name);
  return plan.steps.flatMap((step) => (found.has(step.name) ? [step.name] : []));
}

function consequences(
  state: SagaState,
  contained: boolean,
  kept: ReadonlySet<string>,
  checkpoint: string | undefined,
): string[] {
  const lines: string[] = [];
  for (const step of stepsInOrder(state)) {
    const { name, effect } = step.record;
    if (!hasEffect(step) || !writes(effect)) continue;
    if (effect === 'irreversible') lines.push(`"${name}" cannot be undone; it is contained`);
    else if (contained) lines.push(`"${name}" stays, since the pivot has committed`);
    else if (kept.has(name)) lines.push(`"${name}" stays: checkpoint "${checkpoint}" keeps it`);
    else if (effect === 'compensable' && undoSkipped(step) === undefined)
      lines.push(`"${name}" stays on record beside its counter-entry`);
  }
  return lines;
}
