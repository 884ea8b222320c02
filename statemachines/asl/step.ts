import type { StepPlan } from '../plan/plan.ts';
import { catchAll } from './errors.ts';
import { guarded, type MachineContext, toolTask } from './task.ts';
import { toolTaskSeconds } from './timeouts.ts';
import type { Onward, TaskState } from './types.ts';

/** One forward step. Its result goes to the ledger, not through the machine. */
export function step(
  context: MachineContext,
  plan: StepPlan,
  onError: string,
  onward: Onward,
): TaskState {
  return {
    ...toolTask(context, plan, 'forward'),
    ResultPath: null,
    ...guarded(catchAll(onError), toolTaskSeconds(plan)),
    ...onward,
  };
}
