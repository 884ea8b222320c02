import { COMPENSATED, INCIDENT } from './error-names.ts';
import { ANSWER_PATH } from './payloads.ts';
import type { FailState, SucceedState } from './types.ts';

/** How an execution ends. Its status is not the saga's: a saga may park and be driven again. */

/** The drive is over, the saga is not. Output: the saga's state. */
export const PARKED: SucceedState = { Type: 'Succeed', OutputPath: ANSWER_PATH };

/** The saga had completed already; only the answer to that was lost. */
export const COMPLETED: SucceedState = { Type: 'Succeed', OutputPath: ANSWER_PATH };

export const COMPENSATED_END: FailState = {
  Type: 'Fail',
  Error: COMPENSATED,
  Cause: 'The saga failed and was compensated. Its standing report says what was undone, and how.',
};

export const INCIDENT_END: FailState = {
  Type: 'Fail',
  Error: INCIDENT,
  Cause:
    'The saga failed and an effect of it stands. Its standing report says which; a named person closes the incident.',
};
