import type { CallPolicy } from '../language/effects.ts';
import type { AnyTool } from '../language/tool.ts';
import type { StepPlan } from '../plan/plan.ts';

/**
 * How long one invocation and its Task may take. All the arithmetic is here; the runtime shares the
 * parts, so that an invocation never plans for time it will not get.
 *
 *   forward  = timeoutMs + 1 question to the provider + inline wait + ledger
 *   recover  = timeoutMs + 2 questions (forward call, recovery call) + inline wait + ledger
 *   Lambda   = the longest of its tool's actions
 *   Task     = its Lambda + 5 s, so that the Lambda ends first and leaves its own error
 *
 * With 4 minutes, the most an Express saga may declare: 240 + 20 + 5 + 10 + 5 = 280 s, below the
 * 300 s of an Express execution. With 14 minutes, the most at all: 840 + 35 = 875 s, below the
 * 900 s of a Lambda.
 */

/** What one question "what became of it?" may take. */
export const RECONCILE_LIMIT_MS = 10_000;
/** What an invocation may spend, in all, on short pauses before it parks the drive instead. */
export const INLINE_WAIT_MS = 5_000;
/** Cold start, reads and appends, with retries of the store. */
export const LEDGER_TIME_MS = 10_000;
/** From the Lambda's own timeout to the Task's. */
export const TASK_MARGIN_MS = 5_000;

/** The ledger function (`begin`, `assess`, `settle`, `complete`): reads and appends only. */
export const LEDGER_LAMBDA_SECONDS = 30;
export const LEDGER_TASK_SECONDS = LEDGER_LAMBDA_SECONDS + TASK_MARGIN_MS / 1000;

/** The timeout a tool's Lambda needs, in seconds: the longest of its actions. */
export function lambdaTimeoutSeconds(of: StepPlan | AnyTool): number {
  const calls = 'kind' in of ? [of.compensate?.call, of.contain] : [of.recovery?.call];
  // Even without a call of its own a recovery asks what became of the forward call.
  const recoveries = of.effect === 'read_only' ? [] : [undefined, ...calls];
  return seconds(Math.max(forwardMs(of.forward), ...recoveries.map(recoverMs)));
}

/** `TimeoutSeconds` of a step's Tasks. Both of them, since both call the same Lambda. */
export function toolTaskSeconds(step: StepPlan): number {
  return lambdaTimeoutSeconds(step) + TASK_MARGIN_MS / 1000;
}

function forwardMs(call: CallPolicy): number {
  return call.timeoutMs + RECONCILE_LIMIT_MS + INLINE_WAIT_MS + LEDGER_TIME_MS;
}

function recoverMs(call: CallPolicy | undefined): number {
  return (call?.timeoutMs ?? 0) + 2 * RECONCILE_LIMIT_MS + INLINE_WAIT_MS + LEDGER_TIME_MS;
}

function seconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
