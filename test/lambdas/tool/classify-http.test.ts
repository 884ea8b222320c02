import { afterEach, describe, expect, it } from 'vitest';
import { fromHttp } from '../../../lambdas/tool/classify-http.ts';
import { fromNetwork } from '../../../lambdas/tool/classify-network.ts';
import { retryAfterMs } from '../../../lambdas/tool/retry-after.ts';
import {
  cut,
  json,
  type ScriptedAnswer,
  type ScriptedServer,
  silence,
  startScripted,
} from '../../support/scripted-server.ts';

const NOW = Date.UTC(2026, 0, 5, 12);
const GMT = (ms: number): string => new Date(ms).toUTCString();

describe('an answer to a write', () => {
  it.each([
    [
      'refused for good',
      'terminal_compensate',
      [400, 402, 404, 405, 409, 410, 412, 413, 415, 422, 451, 501],
    ],
    [
      'a matter of our own rights or addresses',
      'terminal_hold',
      [401, 403, 407, 301, 302, 307, 308],
    ],
    ['nothing done yet', 'retryable', [423, 429]],
    ['unclear', 'ambiguous', [408, 425, 500, 502, 503, 504, 507, 520, 499, 418, 599, 100]],
  ] as const)('is %s', (_what, failure, statuses) => {
    for (const status of statuses) {
      expect([status, fromHttp({ status }, { writes: true })]).toMatchObject([
        status,
        { failure, code: `http_${status}` },
      ]);
    }
  });

  it('is sent again as if nothing had happened for no other status', () => {
    const statuses = Array.from({ length: 500 }, (_, index) => index + 100);
    const of = (failure: string): number[] =>
      statuses.filter((status) => fromHttp({ status }, { writes: true })?.failure === failure);
    expect(of('retryable')).toEqual([423, 429]);
    const done = statuses.filter((status) => fromHttp({ status }, { writes: true }) === undefined);
    expect(done).toEqual(Array.from({ length: 100 }, (_, index) => index + 200));
    const unclear = of('ambiguous').filter((status) => status >= 500);
    expect(unclear).toHaveLength(100 - 2);
  });

  it('is no failure where it is a 2xx', () => {
    for (const status of [200, 201, 202, 204]) {
      expect(fromHttp({ status }, { writes: true })).toBeUndefined();
    }
  });

  it('with the time to come back did nothing', () => {
    for (const status of [429, 503]) {
      const headers = { 'Retry-After': '7' };
      expect(fromHttp({ status, headers }, { writes: true })).toMatchObject({
        failure: 'retryable',
        retryAfterMs: 7_000,
      });
    }
    // A gateway that lost the request on its way may well say when to come back.
    expect(
      fromHttp({ status: 504, headers: { 'retry-after': '7' } }, { writes: true }),
    ).toMatchObject({ failure: 'ambiguous' });
  });

  it('did nothing where the provider promises so', () => {
    const sent = { writes: true, didNothing: [503] };
    expect(fromHttp({ status: 503 }, sent)).toMatchObject({ failure: 'retryable' });
    expect(fromHttp({ status: 502 }, sent)).toMatchObject({ failure: 'ambiguous' });
  });

  it.each([
    [409, 'out_of_stock', 'terminal_compensate'],
    [409, 'idempotency_key_in_use', 'ambiguous'],
    [409, 'idempotency_conflict', 'terminal_hold'],
    [422, 'idempotency_key_reused', 'terminal_hold'],
    [400, 'idempotency_error', 'terminal_hold'],
  ])('%i by the code %s is %s', (status, code, failure) => {
    expect(fromHttp({ status }, { writes: true, code })).toMatchObject({ failure, code });
  });
});

describe('an answer to a question', () => {
  it('that is unclear costs nothing: it is asked again', () => {
    for (const status of [408, 425, 500, 502, 503, 504, 599]) {
      expect(fromHttp({ status }, { writes: false })).toMatchObject({ failure: 'retryable' });
    }
    expect(fromHttp({ status: 404 }, { writes: false })).toMatchObject({
      failure: 'terminal_compensate',
    });
    expect(fromHttp({ status: 401 }, { writes: false })).toMatchObject({
      failure: 'terminal_hold',
    });
  });
});

describe('Retry-After', () => {
  it.each([
    ['seconds', { 'retry-after': '120' }, 120_000],
    ['seconds with spaces', { 'Retry-After': ' 5 ' }, 5_000],
    ['zero', { 'retry-after': '0' }, undefined],
    ['more than a day', { 'retry-after': '999999999' }, 86_400_000],
    [
      'a date, by the answer’s own clock',
      { 'retry-after': GMT(NOW + 30_000), date: GMT(NOW) },
      30_000,
    ],
    ['a date, by ours', { 'retry-after': GMT(NOW + 30_000) }, 30_000],
    ['a date that is over', { 'retry-after': GMT(NOW - 30_000) }, undefined],
    ['a date far away', { 'retry-after': GMT(NOW + 9e10) }, 86_400_000],
    ['the old date', { 'retry-after': 'Mon Jan  5 12:00:10 2026' }, 10_000],
    ['the date before that', { 'retry-after': 'Monday, 05-Jan-26 12:00:10 GMT' }, 10_000],
    ['a fraction', { 'retry-after': '1.5' }, undefined],
    ['a minus', { 'retry-after': '-5' }, undefined],
    ['words', { 'retry-after': 'soon' }, undefined],
    ['nothing', { 'retry-after': '' }, undefined],
    ['no header', {}, undefined],
    ['two headers', { 'retry-after': ['1', '2'] }, undefined],
  ])('of %s', (_what, headers, expected) => {
    expect(retryAfterMs(headers, NOW)).toBe(expected);
  });

  it('with a date and no clock says nothing', () => {
    expect(retryAfterMs({ 'retry-after': GMT(NOW) })).toBeUndefined();
  });
});

describe('over real HTTP', () => {
  let server: ScriptedServer | undefined;
  afterEach(async () => {
    await server?.close();
    server = undefined;
  });

  async function sent(answer: ScriptedAnswer, writes = true, timeoutMs = 5_000): Promise<unknown> {
    server = await startScripted(answer);
    try {
      const response = await fetch(server.endpoint, {
        method: 'POST',
        redirect: 'manual',
        signal: AbortSignal.timeout(timeoutMs),
      });
      return fromHttp(response, { writes });
    } catch (error) {
      return fromNetwork(error, { writes });
    }
  }

  it.each([
    ['500', json(500, {}), { failure: 'ambiguous', code: 'http_500' }],
    [
      '503 with a pause',
      json(503, {}, { 'retry-after': '3' }),
      { failure: 'retryable', retryAfterMs: 3_000 },
    ],
    ['302', json(302, {}, { location: 'http://127.0.0.1:9/' }), { failure: 'terminal_hold' }],
    ['404', json(404, {}), { failure: 'terminal_compensate' }],
    ['a cut line', cut, { failure: 'ambiguous', code: 'und_err_socket' }],
  ])('%s', async (_what, answer, expected) => {
    expect(await sent(answer)).toMatchObject(expected);
  });

  it('a date is counted by the server’s clock', async () => {
    const inAMinute = json(
      503,
      {},
      {
        date: GMT(NOW),
        'retry-after': GMT(NOW + 60_000),
      },
    );
    expect(await sent(inAMinute)).toMatchObject({ retryAfterMs: 60_000 });
  });

  it('silence until the signal is unclear for a write, and nothing for a question', async () => {
    expect(await sent(silence, true, 100)).toMatchObject({ failure: 'ambiguous', code: 'timeout' });
    await server?.close();
    expect(await sent(silence, false, 100)).toMatchObject({
      failure: 'retryable',
      code: 'timeout',
    });
  });

  it('a port where nobody listens was never reached', async () => {
    server = await startScripted(silence);
    const { endpoint } = server;
    await server.close();
    server = undefined;
    const error = await fetch(endpoint, { method: 'POST' }).catch((thrown: unknown) => thrown);
    expect(fromNetwork(error, { writes: true })).toMatchObject({
      failure: 'retryable',
      code: 'econnrefused',
    });
  });

  it('a handshake that fails comes before the request', async () => {
    server = await startScripted(json(200, {}));
    const endpoint = server.endpoint.replace('http:', 'https:');
    const error = await fetch(endpoint, { method: 'POST' }).catch((thrown: unknown) => thrown);
    expect(fromNetwork(error, { writes: true })).toMatchObject({ failure: 'retryable' });
    expect(server.requests()).toBe(0);
  });
});
