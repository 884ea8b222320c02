import type { RetryPolicy } from 'counterstep';

/**
 * Times for partners on the same machine, which answer within milliseconds. They are short so that
 * a demonstration of a lost answer takes seconds. Real providers want tens of seconds: take theirs
 * from their documentation and from your own 99.9th percentile.
 */

/** From claim to abort. */
export const TIMEOUT_MS = 2_000;
/** How long after that an unanswered call may still land at the partner. */
export const SETTLE_MS = 1_500;
export const RETRY: RetryPolicy = { maxAttempts: 4, backoffMs: 100, maxBackoffMs: 500 };
/** The pause a pending payment asks for. */
export const ASK_AGAIN_MS = 500;

/** What every call of these examples has in common. */
export const CALL = { timeoutMs: TIMEOUT_MS, settleMs: SETTLE_MS, retry: RETRY } as const;
