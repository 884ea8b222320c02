import type { SagaPlan } from '../plan/plan.ts';
import { compileSaga } from './compile.ts';
import { TASK_RETRIES } from './errors.ts';
import type { StateMachine, States } from './types.ts';

/** Step Functions' limits, and the share of them a machine may plan to use. */
export const MAX_HISTORY_EVENTS = 25_000;
export const MAX_DEFINITION_BYTES = 1024 * 1024;
const SHARE = 0.8;

/**
 * The most events one execution can write. No state comes twice in an execution, so every state
 * counts once:
 *   Task      entered, exited, and per try: scheduled, submitted or started, failed or succeeded
 *   Parallel  entered, started, succeeded or failed, exited, and its branches
 *   others    entered, exited
 * and the execution's own start and end.
 */
export function historyEventBound(machine: StateMachine): number {
  return 2 + eventsOf(machine.States);
}

function eventsOf(states: States): number {
  let events = 0;
  for (const state of Object.values(states)) {
    events += 2;
    if (state.Type === 'Task') events += 4 * (1 + TASK_RETRIES);
    if (state.Type === 'Parallel') {
      events += 2;
      for (const branch of state.Branches) events += eventsOf(branch.States);
    }
  }
  return events;
}

/** Size as sent to the service: the definition is a JSON text inside a JSON request. */
export function definitionBytes(machine: StateMachine): number {
  return Buffer.byteLength(JSON.stringify(JSON.stringify(machine)));
}

/** Stands for function names not known yet: as long as the ARN of a version with the longest name. */
const LONGEST_ARN = `arn:aws-us-gov:lambda:us-gov-west-1:123456789012:function:${'f'.repeat(64)}:1000000`;

/** Why this plan's machine would be refused, or fail on the way. */
export function limitProblems(plan: SagaPlan): { problem: string; remedy: string }[] {
  const machine = compileSaga(plan, {
    functions: { ledger: LONGEST_ARN, tool: () => LONGEST_ARN },
  });
  const problems: { problem: string; remedy: string }[] = [];
  const remedy = 'Split it into several sagas, each started by the last step of the one before';
  const events = historyEventBound(machine);
  if (events > MAX_HISTORY_EVENTS * SHARE) {
    problems.push({
      problem: `one execution could write ${events} history events, more than ${SHARE * 100} % of the ${MAX_HISTORY_EVENTS} allowed`,
      remedy,
    });
  }
  const bytes = definitionBytes(machine);
  if (bytes > MAX_DEFINITION_BYTES * SHARE) {
    problems.push({
      problem: `its state machine would have ${bytes} bytes, more than ${SHARE * 100} % of the ${MAX_DEFINITION_BYTES} allowed`,
      remedy,
    });
  }
  return problems;
}
