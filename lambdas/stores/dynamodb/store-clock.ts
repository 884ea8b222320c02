import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { Clock } from '../../ports/clock.ts';

/** `Date` headers name whole seconds; below this difference the local clock is the better one. */
const TOLERANCE_MS = 2_000;
const HEADER_RESOLUTION_MS = 1_000;

/**
 * A clock that agrees with the store's, so that workers with wrong clocks agree with each other
 * about leases and due times.
 *
 * Each HTTP answer of the store says what time it is there, to the second. Where the local clock
 * surely differs by more than two seconds, `now()` is corrected by the difference; otherwise it is
 * the local time untouched. Before the first answer, and from a jump of the local clock until the
 * next answer, it is as wrong as the local clock. `sleep` and `timer` measure spans and are not
 * corrected.
 */
export function storeClock(client: DynamoDBClient, clock: Clock): Clock {
  let offsetMs = 0;
  client.middlewareStack.add(
    (next) => async (args) => {
      const sentAt = clock.now();
      const result = await next(args);
      const storeMs = Date.parse(dateHeader(result.response) ?? '');
      if (!Number.isNaN(storeMs)) {
        offsetMs = learned(storeMs, sentAt, clock.now()) ?? offsetMs;
      }
      return result;
    },
    // The innermost place: it sees every attempt's answer, also those that end as errors.
    { step: 'deserialize', priority: 'low' },
  );
  return {
    now: () => clock.now() + offsetMs,
    sleep: (ms, signal) => clock.sleep(ms, signal),
    timer: (ms, fn) => clock.timer(ms, fn),
  };
}

/**
 * The store's time lay in [storeMs, storeMs + 1 s) at some moment between sending and receiving.
 * `undefined` where the local clock jumped meanwhile or the answer took too long to tell.
 */
function learned(storeMs: number, sentAt: number, receivedAt: number): number | undefined {
  const tookMs = receivedAt - sentAt;
  if (tookMs < 0 || tookMs > TOLERANCE_MS) return undefined;
  const leastMs = storeMs - receivedAt;
  const mostMs = storeMs + HEADER_RESOLUTION_MS - sentAt;
  if (leastMs <= TOLERANCE_MS && mostMs >= -TOLERANCE_MS) return 0;
  return Math.round((leastMs + mostMs) / 2);
}

function dateHeader(response: unknown): string | undefined {
  const headers = (response as { headers?: Readonly<Record<string, string>> } | undefined)?.headers;
  return headers?.date ?? headers?.Date;
}
