import { STATE_NAMES } from '../language/names.ts';
import { catchAll } from './errors.ts';
import type { SettleAnswer } from './payloads.ts';
import { guarded, ledgerTask, type MachineContext } from './task.ts';
import type { ChoiceState, TaskState } from './types.ts';

/** After the recoveries: states how the saga ended, or parks it. On a failure `assess`'s answer stands. */
export function settle(context: MachineContext): TaskState {
  return {
    ...ledgerTask(context, 'settle'),
    ResultSelector: {
      'outcome.$': '$.Payload.outcome',
      answer: { 'state.$': '$.Payload.state' },
    },
    ...guarded(catchAll(STATE_NAMES.parked)),
    Next: STATE_NAMES.outcome,
  };
}

export function outcome(): ChoiceState {
  const targets: Readonly<Record<Exclude<SettleAnswer['outcome'], 'parked'>, string>> = {
    compensated: STATE_NAMES.compensated,
    incident: STATE_NAMES.incident,
  };
  return {
    Type: 'Choice',
    Choices: Object.entries(targets).map(([answer, next]) => ({
      Variable: '$.outcome',
      StringEquals: answer,
      Next: next,
    })),
    Default: STATE_NAMES.parked,
  };
}
