import { NEVER_RETRIED } from './error-names.ts';
import type { Catcher, Retrier } from './types.ts';

/** Where a caught error is put. Never the whole state: the ids in it are still needed. */
export const ERROR_PATH = '$.error';

/** Tries after the first. Named here because the bound on history events counts them. */
export const TASK_RETRIES = 3;

/**
 * The same for every Task. The first entry ends at once what the same drive cannot mend. The second
 * is for what Lambda or the network does: it waits 1 + 2 + 4 = 7 s at most over its three tries
 * (each shortened at random), so a Task is through within four timeouts and 7 s. A runtime that
 * loses error names lands in the second entry: three more refusals by the ledger, no other outcome.
 */
export function retries(): Retrier[] {
  return [
    { ErrorEquals: [...NEVER_RETRIED], MaxAttempts: 0 },
    {
      ErrorEquals: ['States.ALL'],
      IntervalSeconds: 1,
      MaxAttempts: TASK_RETRIES,
      BackoffRate: 2,
      MaxDelaySeconds: 10,
      JitterStrategy: 'FULL',
    },
  ];
}

/** `States.ALL` leaves out `States.DataLimitExceeded`, so that has an entry of its own. */
export function catchAll(next: string, resultPath: string = ERROR_PATH): Catcher[] {
  return ['States.DataLimitExceeded', 'States.ALL'].map((name) => ({
    ErrorEquals: [name],
    ResultPath: resultPath,
    Next: next,
  }));
}
