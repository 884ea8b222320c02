import type { Problem } from './problems.ts';

/**
 * When a tool's provider is left alone. Counted over all sagas, tenants and workers of a plane; both
 * forward calls and recoveries wait while the breaker is open.
 */
export interface BreakerPolicy {
  /** So many calls that were `retryable` or `ambiguous`, within {@link withinMs}, open it. */
  readonly failures: number;
  readonly withinMs: number;
  /** How long no call is made; then a single one, the probe, tells whether the provider is back. */
  readonly openMs: number;
}

/** More failures to remember than this would make the breaker's own records large. */
export const MAX_BREAKER_FAILURES = 100;

export function breakerProblems(given: unknown, place: string): Problem[] {
  if (given === undefined) return [];
  const policy: Partial<Record<keyof BreakerPolicy, unknown>> =
    typeof given === 'object' && given !== null ? given : {};
  const whole = (value: unknown, most: number): boolean =>
    Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= most;
  const legal =
    whole(policy.failures, MAX_BREAKER_FAILURES) &&
    whole(policy.withinMs, Number.MAX_SAFE_INTEGER) &&
    whole(policy.openMs, Number.MAX_SAFE_INTEGER);
  if (legal) return [];
  return [
    {
      place,
      problem: `its breaker ${JSON.stringify(given)} makes no sense`,
      remedy: `Use \`{ failures, withinMs, openMs }\` in whole numbers: failures from 1 to ${MAX_BREAKER_FAILURES}, times 1 or more`,
    },
  ];
}
