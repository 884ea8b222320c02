/** What a tool does to the outside world, and so what recovery may do about it (design: effects). */
export const EFFECT_CLASSES = [
  'read_only',
  'reversible',
  'reversible_with_cost',
  'compensable',
  'supersede',
  'irreversible',
  'human_decision',
] as const;
export type EffectClass = (typeof EFFECT_CLASSES)[number];

/**
 * How a repeated call is kept from a second effect.
 * - `key`: the provider honours our idempotency key.
 * - `lookup`: it can be asked by correlation id what became of a call.
 * - `none`: neither; an unknown outcome holds for a person.
 */
export const DEDUPE_KINDS = ['key', 'lookup', 'none'] as const;
export type Dedupe = (typeof DEDUPE_KINDS)[number];

/** `STANDARD`: step history in the console. `EXPRESS`: the cheap machine, with a soft deadline per drive. */
export type SagaType = 'STANDARD' | 'EXPRESS';

/**
 * Tries of one action, counted in the ledger. Asking about a call in doubt spends none, nor does sending
 * it again under its key: questions end with `pendingForMs`.
 */
export interface RetryPolicy {
  readonly maxAttempts: number;
  /** First pause; doubled each time, with jitter. */
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  /**
   * From the first try: no other begins later. Default: no limit of time, but a day where the tool's
   * breaker lets nothing through.
   */
  readonly forMs?: number;
}

/** What the rules need to know about one action of a tool. */
export interface CallPolicy {
  readonly dedupe: Dedupe;
  /** How long the provider remembers our key. Absent: as long as the saga lives. */
  readonly keyTtlMs?: number;
  /** From claim to abort. */
  readonly timeoutMs: number;
  /** How long after its hard deadline a call in doubt may still land. */
  readonly settleMs: number;
  /** After this long with only `pending` or `unknown`, a person is asked. */
  readonly pendingForMs: number;
  readonly retry: RetryPolicy;
  /** The tool can be asked what became of a call. */
  readonly reconcile: boolean;
}
