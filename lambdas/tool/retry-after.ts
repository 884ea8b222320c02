import { MAX_WISH_MS } from './kept.ts';

/** Headers of a `fetch` response, of `node:http`, or plain. */
export type HeadersLike =
  | { get(name: string): string | null }
  | { readonly [name: string]: string | readonly string[] | undefined };

/**
 * The pause a provider asks for, in milliseconds; `undefined` where it asks for none that can be read.
 * At most a day: a provider that wishes for more is asked after it all the same.
 *
 * A date is counted from the answer's own `Date`, so that no difference between two clocks enters; where
 * there is none, from `now` (epoch milliseconds by the caller's clock).
 */
export function retryAfterMs(headers: HeadersLike | undefined, now?: number): number | undefined {
  const wish = headerOf(headers, 'retry-after')?.trim();
  if (wish === undefined || wish === '') return undefined;
  const pause = /^\d+$/.test(wish) ? Number(wish) * 1_000 : untilDate(wish, headers, now);
  return pause === undefined || pause <= 0 ? undefined : Math.min(pause, MAX_WISH_MS);
}

function untilDate(
  wish: string,
  headers: HeadersLike | undefined,
  now: number | undefined,
): number | undefined {
  const until = httpDate(wish);
  const from = httpDate(headerOf(headers, 'date')) ?? now;
  return until === undefined || from === undefined ? undefined : until - from;
}

/** The three forms of RFC 9110 begin with the name of a day; anything else `Date.parse` might guess at. */
function httpDate(text: string | undefined): number | undefined {
  if (text === undefined || !/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return undefined;
  // The old form of C's asctime names no zone, and is in UTC like the others.
  const parsed = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(parsed) ? undefined : parsed;
}

function headerOf(headers: HeadersLike | undefined, name: string): string | undefined {
  if (headers === undefined) return undefined;
  if (typeof headers.get === 'function') return headers.get(name) ?? undefined;
  const [, value] = Object.entries(headers).find(([key]) => key.toLowerCase() === name) ?? [];
  return typeof value === 'string' ? value : undefined;
}
