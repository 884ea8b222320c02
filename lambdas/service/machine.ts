import type { AnySaga } from '../../statemachines/language/saga.ts';
import type { SagaState } from '../../statemachines/rules/state.ts';
import {
  forwardPredecessors,
  isDone,
  stepsInOrder,
  writes,
} from '../../statemachines/rules/view.ts';
import type { Parts } from './parts.ts';
import { Problem } from './problems.ts';

export interface NamedMachine {
  readonly machine: string;
  readonly planDigest: string;
}

/**
 * The machine that is current now, for a saga that began on an older one. Its ledger speaks of steps
 * by name, so a definition that renamed, re-tooled or re-classed one of them cannot take it over.
 * @throws Problem `conflict` naming the step
 */
export function latestMachine(parts: Parts, state: SagaState): NamedMachine {
  const saga = parts.sagas.get(state.start.name);
  if (saga === undefined) {
    throw new Problem(
      'conflict',
      'the definition of this saga is not loaded here',
      'deploy it again, then name the latest machine',
    );
  }
  const fault = misfit(state, saga);
  if (fault === undefined) {
    return { machine: parts.machineOf(saga), planDigest: saga.plan.digest };
  }
  throw new Problem(
    'conflict',
    `version ${saga.version} cannot take this saga over: ${fault}`,
    'deploy a version that keeps every writing step of this saga: its name, its tool, its effect class, and its place after those still to come before it',
  );
}

function misfit(state: SagaState, saga: AnySaga): string | undefined {
  for (const { record, forward } of stepsInOrder(state)) {
    const step = saga.plan.steps.find((candidate) => candidate.name === record.name);
    if (step === undefined) {
      if (!writes(record.effect) && forward.status === 'done') continue;
      return `step "${record.name}" is gone`;
    }
    if (step.effect !== record.effect) {
      return `step "${record.name}" was ${record.effect} and is ${step.effect}`;
    }
    if (writes(record.effect) && step.tool !== record.tool) {
      return `step "${record.name}" used tool "${record.tool}" and uses "${step.tool}"`;
    }
  }
  // The ledger lets a step wait for those before it; a machine that comes to it first would wait for ever.
  for (const { record, forward } of stepsInOrder(state)) {
    if (isDone(forward)) continue;
    const { ancestors = [] } = saga.steps.find(({ name }) => name === record.name) ?? {};
    const before = forwardPredecessors(state, record.name).find(
      (name) => !isDone(state.steps.get(name)?.forward) && !ancestors.includes(name),
    );
    if (before !== undefined) return `step "${record.name}" no longer comes after "${before}"`;
  }
  const added = saga.plan.steps.find((step) => !state.steps.has(step.name));
  return added === undefined ? undefined : `step "${added.name}" is new`;
}
