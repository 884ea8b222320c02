import { STATE_NAMES } from '../language/names.ts';
import { catchAll } from './errors.ts';
import { ANSWER_PATH, type AssessAnswer } from './payloads.ts';
import { guarded, ledgerTask, type MachineContext } from './task.ts';
import type { ChoiceState, TaskState } from './types.ts';

/**
 * Every error leads here: the ledger, not the error, says what follows. Where even this fails the
 * execution parks, with the error as its answer, and the saga's due time brings the next drive.
 */
export function assess(context: MachineContext): TaskState {
  return {
    ...ledgerTask(context, 'assess'),
    ResultSelector: {
      'route.$': '$.Payload.route',
      'drive.$': '$.Payload.drive',
      answer: { 'state.$': '$.Payload.state' },
    },
    ...guarded(catchAll(STATE_NAMES.parked, ANSWER_PATH)),
    Next: STATE_NAMES.route,
  };
}

/** An answer it does not know parks: nothing is recovered by mistake. */
export function route(recovery: string): ChoiceState {
  const targets: Readonly<Record<Exclude<AssessAnswer['route'], 'parked'>, string>> = {
    recover: recovery,
    compensated: STATE_NAMES.compensated,
    incident: STATE_NAMES.incident,
    completed: STATE_NAMES.completed,
  };
  return {
    Type: 'Choice',
    Choices: Object.entries(targets).map(([answer, next]) => ({
      Variable: '$.route',
      StringEquals: answer,
      Next: next,
    })),
    Default: STATE_NAMES.parked,
  };
}
