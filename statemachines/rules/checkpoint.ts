import type { SagaState, StepState } from './state.ts';
import { forwardPredecessors, isDone, pivotCommitted, stepsInOrder } from './view.ts';

/** Which checkpoint recovery goes back to, and what it keeps. All derived; the plan in the ledger decides. */

/** The checkpoint's own step and every step before it. */
export function stepsUpTo(state: SagaState, checkpoint: string): ReadonlySet<string> {
  const found = new Set([checkpoint]);
  for (const name of found) {
    for (const before of forwardPredecessors(state, name)) found.add(before);
  }
  return found;
}

/**
 * The last checkpoint that is valid: its step and all before it are done, none of them with an answer
 * that nobody can use, and nothing of them undone. Where everything is asked back, only what the saga
 * before had kept counts: that is not this saga's to undo.
 */
export function lastCheckpoint(state: SagaState): string | undefined {
  let last: { readonly name: string; readonly size: number } | undefined;
  for (const { record, adopted } of stepsInOrder(state)) {
    if (record.checkpoint !== true) continue;
    if (state.halt?.everything === true && adopted !== true) continue;
    const kept = stepsUpTo(state, record.name);
    const valid = [...kept].every((name) => mayStay(state.steps.get(name)));
    if (valid && kept.size > (last?.size ?? 0)) last = { name: record.name, size: kept.size };
  }
  return last?.name;
}

function mayStay(step: StepState | undefined): boolean {
  return (
    step !== undefined &&
    isDone(step.forward) &&
    step.forward.commit?.defect === undefined &&
    step.recovery === undefined &&
    step.resolved === undefined
  );
}

/**
 * Where this recovery ends. A plan settles it: what becomes known later is undone as planned, and no
 * later checkpoint comes into force by it. Behind the pivot nothing is undone, so nothing goes back.
 */
export function checkpointOf(state: SagaState): string | undefined {
  if (state.halt === undefined || pivotCommitted(state)) return undefined;
  return state.plan === undefined ? lastCheckpoint(state) : state.plan.checkpoint;
}

const NONE: ReadonlySet<string> = new Set();

/** The steps whose effects this recovery leaves where they are. */
export function keptSteps(state: SagaState): ReadonlySet<string> {
  const checkpoint = checkpointOf(state);
  return checkpoint === undefined ? NONE : stepsUpTo(state, checkpoint);
}
