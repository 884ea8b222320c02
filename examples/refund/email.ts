import type { Call } from 'counterstep/lambda';

export interface Email {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

/**
 * Hands one message over, and answers the id it was given.
 * @throws a classified failure
 */
export type Deliver = (email: Email, call: Call) => Promise<string>;
