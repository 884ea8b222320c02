import type { Sent } from './classify-network.ts';
import { ambiguous, hold, refused, retryable, type ToolFailure } from './failures.ts';
import { type HeadersLike, retryAfterMs } from './retry-after.ts';

/** As much of an answer as its class depends on: a `fetch` `Response` fits. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers?: HeadersLike;
}

export interface HttpSent extends Sent {
  /** The provider's own code for what it says, read from the body. Default `http_<status>`. */
  readonly code?: string | undefined;
  /** The provider's own words. They are masked and cut before they enter the ledger. */
  readonly message?: string | undefined;
  /** Epoch milliseconds, for a `Retry-After` with a date in an answer without one. */
  readonly now?: number;
  /**
   * Statuses by which this provider promises that nothing was done, beside those that say so to everybody
   * (a 503 of a provider without a gateway before it).
   */
  readonly didNothing?: readonly number[];
}

/**
 * What a status means, whoever sends it.
 * - `refused`: it did nothing and will not. A conflict with the state of things (409) is one.
 * - `later`: it did nothing yet.
 * - `ours`: our credentials, rights or addresses are wrong. That is so for every saga, and for the undo as
 *   well: neither a retry nor a recovery helps, a person does.
 * - `unclear`: whoever stands in between may have passed the request on.
 */
type Meaning = 'done' | 'refused' | 'later' | 'ours' | 'unclear';

const REFUSED = [
  400, 402, 404, 405, 406, 409, 410, 411, 412, 413, 414, 415, 416, 417, 421, 422, 424, 426, 428,
  431, 451, 501,
];
/** Locked and too many: said before anything is done. */
const LATER = [423, 429];
const OURS = [401, 403, 407, 511];

/** The key was used for another request: an effect stands that is not the one asked for. */
const KEY_REUSED = [
  'idempotency_key_reused',
  'idempotency_key_mismatch',
  'idempotency_conflict',
  'idempotency_error',
];
/** The first request under the key is still at work. */
const KEY_IN_USE = [
  'idempotency_key_in_use',
  'idempotency_key_in_progress',
  'idempotency_in_progress',
  'idempotent_request_in_progress',
];

/**
 * Classifies an answer by its status, `Retry-After` and code. `undefined` for a 2xx.
 *
 * What is not known to have done nothing may have done something: where the request writes, an unclear
 * answer is `ambiguous`, where it only asks, `retryable`.
 */
export function fromHttp(answer: HttpAnswer, sent: HttpSent): ToolFailure | undefined {
  const { status } = answer;
  const code = sent.code ?? `http_${status}`;
  const message = sent.message ?? `the provider answered ${status}`;
  const wish = retryAfterMs(answer.headers, sent.now);
  const later = (): ToolFailure =>
    retryable(code, message, wish === undefined ? {} : { retryAfterMs: wish });
  const meaning = meaningOf(status, wish !== undefined, sent.didNothing ?? []);
  if (meaning === 'done') return undefined;
  if (KEY_REUSED.includes(code)) return hold(code, message);
  if (KEY_IN_USE.includes(code)) return sent.writes ? ambiguous(code, message) : later();
  switch (meaning) {
    case 'refused':
      return refused(code, message);
    case 'later':
      return later();
    case 'ours':
      return hold(code, message);
    case 'unclear':
      return sent.writes ? ambiguous(code, message) : later();
  }
}

function meaningOf(status: number, wished: boolean, didNothing: readonly number[]): Meaning {
  if (status >= 200 && status < 300) return 'done';
  // A write that is sent somewhere else is another write: nobody follows it unasked.
  if (status >= 300 && status < 400) return 'ours';
  if (LATER.includes(status) || didNothing.includes(status)) return 'later';
  // Gateways say 503 after they have passed a request on, too; with a time to come back it is the provider's.
  if (status === 503 && wished) return 'later';
  if (OURS.includes(status)) return 'ours';
  return REFUSED.includes(status) ? 'refused' : 'unclear';
}
