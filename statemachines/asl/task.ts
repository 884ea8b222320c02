import type { StepPlan } from '../plan/plan.ts';
import { retries } from './errors.ts';
import { type LedgerOp, ledgerPayload, type ToolCall, toolPayload } from './payloads.ts';
import { LEDGER_TASK_SECONDS } from './timeouts.ts';
import type { Catcher, TaskState } from './types.ts';

/** Names or ARNs of the functions behind the Tasks. */
export interface Functions {
  /** Serves `begin`, `assess`, `settle` and `complete`. */
  readonly ledger: string;
  /** The function of the tool with that name. */
  tool(name: string): string;
}

/** What every kind of state is built from. */
export interface MachineContext {
  readonly saga: string;
  readonly functions: Functions;
}

const INVOKE = 'arn:aws:states:::lambda:invoke';

type TaskHead = Pick<TaskState, 'Type' | 'Resource' | 'Parameters'>;
type TaskTail = Pick<TaskState, 'TimeoutSeconds' | 'Retry' | 'Catch'>;

export function ledgerTask(context: MachineContext, op: LedgerOp): TaskHead {
  return {
    Type: 'Task',
    Resource: INVOKE,
    Parameters: {
      FunctionName: context.functions.ledger,
      Payload: ledgerPayload(op, context.saga),
    },
  };
}

export function toolTask(
  context: MachineContext,
  step: StepPlan,
  action: ToolCall['action'],
): TaskHead {
  return {
    Type: 'Task',
    Resource: INVOKE,
    Parameters: {
      FunctionName: context.functions.tool(step.tool),
      Payload: toolPayload(context.saga, step.name, action),
    },
  };
}

export function guarded(
  catchers: Catcher[],
  timeoutSeconds: number = LEDGER_TASK_SECONDS,
): TaskTail {
  return { TimeoutSeconds: timeoutSeconds, Retry: retries(), Catch: catchers };
}
