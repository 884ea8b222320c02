import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { SagaView } from '../../lambdas/service/wire.ts';
import { orderInput } from '../service/sagas.ts';
import { ada, EMPTY, stranger, World } from '../service/world.ts';
import { heardLog } from '../support/heard-log.ts';
import { openServer, problemOf, type Server } from './server.ts';

let world: World;
let server: Server;
const log = heardLog();
const open = async (): Promise<void> => {
  world = new World({ log });
  server = await openServer(world.service, { ada, eve: stranger });
};
beforeAll(open);
afterAll(() => server.close());

const good = JSON.stringify(orderInput);
const key = { 'idempotency-key': 'k-1' };
const start = (body: string, headers: Record<string, string> = key, name = 'order') =>
  server.post(`/v1/sagas/${name}`, body, headers);

describe('a start that cannot be taken leaves nothing behind', () => {
  beforeEach(() => {
    expect(world.held()).toBe(EMPTY);
  });

  const cases: readonly [string, string, Record<string, string>, string, number, string, RegExp][] =
    [
      ['a saga nobody defined', good, key, 'refnud', 404, 'definition-unknown', /^name$/],
      [
        'an input without what its schema asks for',
        '{"orderId":"A-1"}',
        key,
        'order',
        422,
        'input-invalid',
        /\/amount/,
      ],
      ['an input that is an array', '[]', key, 'order', 422, 'input-invalid', /whole body/],
      ['no input at all', '', key, 'order', 400, 'body-invalid', /whole body/],
      ['text that is no JSON', '{"orderId":', key, 'order', 400, 'body-invalid', /orderId/],
      [
        'a member given twice',
        '{"orderId":"A-1","amount":40,"amount":4000,"email":"a@b.de"}',
        key,
        'order',
        400,
        'body-invalid',
        /^\/amount$/,
      ],
      [
        'a member given twice, once in escapes',
        '{"amount":40,"\\u0061mount":4000}',
        key,
        'order',
        400,
        'body-invalid',
        /^\/amount$/,
      ],
      [
        'half of a surrogate pair in a text',
        '{"orderId":"\\ud800"}',
        key,
        'order',
        400,
        'body-invalid',
        /^\/orderId$/,
      ],
      [
        'half of a surrogate pair in a name',
        '{"\\udc00":1}',
        key,
        'order',
        400,
        'body-invalid',
        /./,
      ],
      [
        'an integer beyond 2^53',
        '{"amount":9007199254740993}',
        key,
        'order',
        400,
        'body-invalid',
        /^\/amount$/,
      ],
      [
        'a number beyond all doubles',
        '{"amount":1e400}',
        key,
        'order',
        400,
        'body-invalid',
        /^\/amount$/,
      ],
      ['a byte order mark', `\ufeff${good}`, key, 'order', 400, 'body-invalid', /whole body/],
      ['no key', good, {}, 'order', 400, 'key-missing', /^Idempotency-Key$/],
      [
        'an empty key',
        good,
        { 'idempotency-key': '' },
        'order',
        400,
        'key-missing',
        /^Idempotency-Key$/,
      ],
      [
        'a blank key',
        good,
        { 'idempotency-key': '   ' },
        'order',
        400,
        'key-missing',
        /^Idempotency-Key$/,
      ],
      [
        'a key that is too long',
        good,
        { 'idempotency-key': 'k'.repeat(257) },
        'order',
        400,
        'key-invalid',
        /^Idempotency-Key$/,
      ],
      [
        '400 KB',
        JSON.stringify({ text: 'x'.repeat(400_000) }),
        key,
        'document',
        413,
        'input-too-large',
        /^body$/,
      ],
      [
        '4 MB',
        JSON.stringify({ text: 'x'.repeat(4_000_000) }),
        key,
        'document',
        413,
        'input-too-large',
        /^body$/,
      ],
      [
        '40 MB, of which not all is read',
        JSON.stringify({ text: 'x'.repeat(40_000_000) }),
        key,
        'document',
        413,
        'input-too-large',
        /^body$/,
      ],
    ];
  test.each(cases)('%s', async (_what, body, headers, name, status, type, at) => {
    const response = await start(body, headers, name);
    const problem = await problemOf(response);
    expect([problem.status, problem.type]).toEqual([status, `urn:counterstep:problem:${type}`]);
    expect(problem.at).toMatch(at);
    expect(world.held()).toBe(EMPTY);
    expect(world.started).toEqual([]);
  });

  test('bytes that are no UTF-8', async () => {
    const body = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);
    const response = await server.call('/v1/sagas/order', {
      method: 'POST',
      body,
      headers: { ...key, 'content-type': 'application/json' },
    });
    expect((await problemOf(response)).type).toBe('urn:counterstep:problem:body-invalid');
    expect(world.held()).toBe(EMPTY);
  });

  test('a body that a page of another origin could send without asking', async () => {
    const headers = { ...key, 'content-type': 'text/plain' };
    const response = await server.call('/v1/sagas/order', { method: 'POST', body: good, headers });
    expect(await problemOf(response)).toMatchObject({ status: 415, at: 'content-type' });
    expect(world.held()).toBe(EMPTY);
  });

  test('without repeating anything of the input', async () => {
    const secret = 'hunter2-4111111111111111';
    const inputs = [
      JSON.stringify({ orderId: 1, amount: secret, email: secret }),
      `{"amount":"${secret}","amount":"${secret}"}`,
      `{"a":"${secret}`,
      `{"password=${secret}":1,"password=${secret}":2}`,
    ];
    for (const body of inputs) {
      const text = await (await start(body, { 'idempotency-key': `k-${secret}` })).text();
      expect(text).toContain('urn:counterstep:problem:');
      expect(text).not.toContain(secret);
    }
    expect(world.held()).toBe(EMPTY);
  });
});

describe('of a saga that runs', () => {
  let saga: SagaView;
  beforeAll(async () => {
    await server.close();
    await open();
    saga = (await (await start(good)).json()) as SagaView;
  });

  test('the key with another body is refused, and tells nothing of the first', async () => {
    const before = world.held();
    const response = await start(JSON.stringify({ ...orderInput, amount: 40 }));
    const text = await response.text();
    expect(response.status).toBe(422);
    expect(JSON.parse(text)).toMatchObject({ type: 'urn:counterstep:problem:key-reused' });
    expect(text).not.toContain(saga.id);
    expect(world.held()).toBe(before);
  });

  test.each([
    ['GET', ''],
    ['GET', '/ledger'],
    ['GET', '/ledger?format=ndjson'],
    ['GET', '/verification'],
    ['GET', '/standing'],
    ['POST', '/cancel'],
    ['POST', '/resume'],
    ['POST', '/suggestions'],
    ['POST', '/erasure'],
  ])("another tenant's id is as unknown as none: %s %s", async (method, rest) => {
    const before = world.held();
    const headers = { 'content-type': 'application/json' };
    const init =
      method === 'GET'
        ? {}
        : { method, headers, body: rest === '/resume' ? '{}' : '{"reason":"x"}' };
    const theirs = await server.call(`/v1/sagas/${saga.id}${rest}`, init, 'eve');
    const nobodys = await server.call(`/v1/sagas/${'0'.repeat(32)}${rest}`, init, 'eve');
    expect([theirs.status, await theirs.text()]).toEqual([404, await nobodys.text()]);
    for (const wrong of ['nope', '%00', 'a%2Fb', '..%2f..', 'x'.repeat(500)]) {
      const response = await server.call(`/v1/sagas/${wrong}${rest}`, init, 'eve');
      expect((await problemOf(response)).type).toBe('urn:counterstep:problem:saga-unknown');
    }
    expect(world.held()).toBe(before);
  });

  test('a damaged ledger is named with its record, and nothing is added to it', async () => {
    const records = world.stores.held.ledgers.get(`acme/${saga.id}`) ?? [];
    const [first] = records;
    if (first === undefined) throw new Error('no record');
    records[0] = {
      ...first,
      body: first.body.replace('4000', '4001').replace('"order"', '"0rder"'),
    };
    const { lines } = log;
    lines.length = 0;
    const damaged = await openServer(world.serving([]), { ada });
    try {
      const before = world.held();
      const answers = [
        await damaged.call(`/v1/sagas/${saga.id}`),
        await damaged.call(`/v1/sagas/${saga.id}/standing`),
        await damaged.post(`/v1/sagas/${saga.id}/cancel`, '{"reason":"x"}'),
        await damaged.post(`/v1/sagas/${saga.id}/suggestions`, '{}'),
      ];
      for (const answer of answers) {
        expect(await problemOf(answer)).toMatchObject({
          status: 500,
          type: 'urn:counterstep:problem:ledger-damaged',
          at: 'record 1',
          remedy: expect.stringContaining('verification'),
        });
      }
      expect(lines.filter(({ message }) => message === 'a ledger is damaged')).toEqual(
        ['getSaga', 'readStanding', 'cancelSaga', 'suggest'].map((operation) => ({
          level: 'error',
          message: 'a ledger is damaged',
          data: { operation, tenant: 'acme', sagaId: saga.id, seq: 1 },
        })),
      );
      const verdict = await damaged.call(`/v1/sagas/${saga.id}/verification`);
      expect(await verdict.json()).toMatchObject({
        verdict: 'invalid',
        problem: 'changed',
        seq: 1,
      });
      expect((await damaged.call(`/v1/sagas/${saga.id}/ledger`)).status).toBe(200);
      expect(world.held()).toBe(before);
    } finally {
      await damaged.close();
    }
  });
});
