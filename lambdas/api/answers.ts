import { LedgerDamaged } from '../../statemachines/ledger/chain.ts';
import type { Clock } from '../ports/clock.ts';
import { StoreUnavailable } from '../ports/ledger-store.ts';
import type { Log } from '../ports/log.ts';
import { thrown } from '../runtime/thrown.ts';
import { Problem, type ProblemType } from '../service/problems.ts';
import { iso, type ProblemView } from '../service/wire.ts';

const HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' } as const;

/** When a store that did not answer is asked again. */
const STORE_PAUSE_MS = 1_000;
const THROTTLED_PAUSE_MS = 5_000;

export function jsonAnswer(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(`${JSON.stringify(value)}\n`, {
    status,
    headers: { ...HEADERS, 'content-type': 'application/json', ...headers },
  });
}

export function textAnswer(mediaType: string, text: string): Response {
  return new Response(text, { headers: { ...HEADERS, 'content-type': mediaType } });
}

/** Lines are made as the reader takes them. */
export function linesAnswer(mediaType: string, lines: Iterable<string>): Response {
  const iterator = lines[Symbol.iterator]();
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = iterator.next();
      if (next.done === true) controller.close();
      else controller.enqueue(encoder.encode(next.value));
    },
  });
  return new Response(body, { headers: { ...HEADERS, 'content-type': mediaType } });
}

const TITLES: Readonly<Record<ProblemType, string>> = {
  'saga-unknown': 'Unknown saga',
  'definition-unknown': 'Unknown saga definition',
  'key-missing': 'Idempotency key missing',
  'key-invalid': 'Idempotency key not usable',
  'body-invalid': 'Body not usable',
  'query-invalid': 'Query not usable',
  'content-type-unknown': 'Content type not supported',
  'input-invalid': 'Input does not fit',
  'input-too-large': 'Input too large',
  'key-reused': 'Idempotency key reused',
  'budget-spent': 'Budget spent',
  conflict: 'Not possible as the saga stands',
  'review-unknown': 'Unknown review',
  'decision-invalid': 'Decision not usable',
  forbidden: 'Not allowed',
  unauthenticated: 'Not authenticated',
  'route-unknown': 'Unknown route',
  'method-unknown': 'Unknown method',
  'ledger-damaged': 'Ledger damaged',
  'store-unavailable': 'Store unavailable',
  'definition-unavailable': 'Saga definition not deployed',
  internal: 'Internal error',
};

/** An RFC 9457 problem document. */
export function problemAnswer(
  problem: Problem,
  clock: Clock,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const { until } = problem;
  const view: ProblemView = {
    type: `urn:counterstep:problem:${problem.type}`,
    title: TITLES[problem.type],
    status: problem.status,
    detail: problem.detail,
    remedy: problem.remedy,
    ...(problem.at === undefined ? {} : { at: problem.at }),
    ...(until === undefined ? {} : { retryAt: iso(until) }),
  };
  const seconds = until === undefined ? 0 : Math.ceil((until - clock.now()) / 1_000);
  return jsonAnswer(problem.status, view, {
    'content-type': 'application/problem+json',
    ...(until === undefined ? {} : { 'retry-after': String(Math.max(1, seconds)) }),
    ...(problem.type === 'unauthenticated' ? { 'www-authenticate': 'Bearer' } : {}),
    ...headers,
  });
}

/**
 * Every failure as a problem. What nobody foresaw is logged by name, and told without its message.
 * @param log its lines should name what was asked for: an error names no saga
 */
export function problemOf(error: unknown, clock: Clock, log: Log): Problem {
  if (error instanceof Problem) {
    if (error.status >= 500)
      log.error('request failed', {
        problem: error.type,
        detail: error.detail,
        ...(error.cause === undefined ? {} : { cause: thrown(error.cause) }),
      });
    return error;
  }
  if (error instanceof LedgerDamaged) {
    log.error('a ledger is damaged', { seq: error.seq });
    return new Problem(
      'ledger-damaged',
      `record ${error.seq} of this ledger is not what was written`,
      'nothing is added to it; read its verification, and compare it with an export or a backup',
      { at: `record ${error.seq}`, cause: error },
    );
  }
  if (error instanceof StoreUnavailable) {
    const pause = error.throttled ? THROTTLED_PAUSE_MS : STORE_PAUSE_MS;
    log.warn('a store did not answer', { throttled: error.throttled });
    return new Problem(
      'store-unavailable',
      'the store did not answer; the request may have taken effect',
      'send the same request again, with the same idempotency key',
      { until: clock.now() + pause, cause: error },
    );
  }
  log.error('request failed', { error: thrown(error) });
  return new Problem(
    'internal',
    'something failed that should not have',
    'send the same request again, with the same idempotency key; if it fails again, look into the log',
    { cause: error },
  );
}
