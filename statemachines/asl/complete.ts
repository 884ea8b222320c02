import { STATE_NAMES } from '../language/names.ts';
import { catchAll } from './errors.ts';
import { guarded, ledgerTask, type MachineContext } from './task.ts';
import type { TaskState } from './types.ts';

/** The last Task of the happy path ends the execution: no state is paid for after it. */
export function complete(context: MachineContext): TaskState {
  return {
    ...ledgerTask(context, 'complete'),
    ResultSelector: { 'state.$': '$.Payload.state' },
    ...guarded(catchAll(STATE_NAMES.assess)),
    End: true,
  };
}
