import type { StepPlan } from '../plan/plan.ts';
import { catchAll } from './errors.ts';
import { guarded, type MachineContext, toolTask } from './task.ts';
import { toolTaskSeconds } from './timeouts.ts';
import type { Onward, TaskState } from './types.ts';

/**
 * One step's recovery: asks what is in doubt, then compensates, supersedes or contains. A failure
 * goes on to the next: the ledger keeps back whatever is ordered behind it.
 */
export function recover(
  context: MachineContext,
  plan: StepPlan,
  onError: string,
  onward: Onward,
): TaskState {
  return {
    ...toolTask(context, plan, 'recover'),
    ResultPath: null,
    ...guarded(catchAll(onError), toolTaskSeconds(plan)),
    ...onward,
  };
}
