import { STATE_NAMES } from '../language/names.ts';
import { catchAll } from './errors.ts';
import { guarded, ledgerTask, type MachineContext } from './task.ts';
import type { TaskState } from './types.ts';

/** The drive's first state: refused where a terminal fact stands or the epoch is over. */
export function begin(context: MachineContext, next: string): TaskState {
  return {
    ...ledgerTask(context, 'begin'),
    ResultSelector: { 'drive.$': '$.Payload' },
    ...guarded(catchAll(STATE_NAMES.assess)),
    Next: next,
  };
}
