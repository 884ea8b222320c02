import type { RetryPolicy, SagaType } from './effects.ts';

/** What a definition means where it says nothing. Each default with its reason. */

/** Three tries ride out a restart or a burst of throttling; more belongs to the tool's author to ask for. */
export const DEFAULT_RETRY: RetryPolicy = { maxAttempts: 3, backoffMs: 200, maxBackoffMs: 10_000 };

/** Providers settle most open calls overnight; after a day without an answer a person should know. */
export const DEFAULT_PENDING_FOR_MS = 86_400_000;

/**
 * For a step whose tool's breaker lets nothing through, where `retry.forMs` says nothing: a provider that
 * is gone for longer is no outage to wait for.
 */
export const DEFAULT_BREAKER_FOR_MS = 86_400_000;

/** One working day for whoever must decide; afterwards the review counts as overdue. */
export const DEFAULT_REVIEW_MS = 86_400_000;

export const DEFAULT_VERSION = '1';

/** Step history in the console while a saga is young; `EXPRESS` is a price decision to be taken knowingly. */
export const DEFAULT_SAGA_TYPE: SagaType = 'STANDARD';

/**
 * A tool that only reads may be asked again at will, as if the provider honoured a key:
 * the second call has no second effect.
 */
export const READ_ONLY_CALL = { dedupe: 'key', settleMs: 0 } as const;
