import { compileSaga } from 'counterstep';
import { hold, refused } from 'counterstep/lambda';
import { afterEach, expect, test } from 'vitest';
import { order as exampleOrder } from '../../examples/order/saga.ts';
import { refund as exampleRefund } from '../../examples/refund/saga.ts';
import { ROUTES } from '../../lambdas/api/routes.ts';
import type { Stores } from '../../lambdas/ports/stores.ts';
import { type Principal, ROLES } from '../../lambdas/service/principal.ts';
import type { SagaService } from '../../lambdas/service/service.ts';
import type { SagaPageView } from '../../lambdas/service/wire.ts';
import { openServer, type Server } from '../api/server.ts';
import { everyone, Live } from '../service/live.ts';
import { orderInput } from '../service/sagas.ts';
import { ada, stranger, World, type WorldOptions } from '../service/world.ts';
import { DATABASE, type Running, running, SECRETS, UPLOAD } from './partner.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const body = JSON.stringify(orderInput);
/** Of another tenant than `everyone`, and allowed everything there. */
const eve: Principal = { tenant: 'globex', id: 'eve', roles: ROLES };
const bob: Principal = { ...everyone, id: 'bob' };
const agent: Principal = { ...everyone, id: 'agent', roles: ['starter', 'reader'] };

async function serve(
  service: SagaService,
  principals: Readonly<Record<string, Principal>>,
): Promise<Server> {
  const server = await openServer(service, principals);
  closing.push(() => server.close());
  return server;
}

async function live(): Promise<Live> {
  const plane = await Live.open();
  closing.push(() => plane.close());
  return plane;
}

async function partnered(...args: Parameters<typeof running>): Promise<Running> {
  const plane = await running(...args);
  closing.push(() => plane.close());
  return plane;
}

/** A body that each call takes, where it takes one. */
const BODIES: Readonly<Record<string, unknown>> = {
  cancelSaga: { reason: 'mine now' },
  resumeSaga: {},
  suggest: { advice: 'refund it to me' },
  eraseSaga: { reason: 'gone' },
  decideReview: { decision: 'retry' },
};

/** Every call about one saga or review, from the table that is served. */
const ABOUT_ONE = ROUTES.filter(
  ({ path, operationId }) => path.includes('{id}') && operationId !== 'startSaga',
).map(({ operationId, method, path }) => ({
  operationId,
  method: method.toUpperCase(),
  path,
  ...(method === 'post' ? { body: JSON.stringify(BODIES[operationId]) } : {}),
}));
type AboutOne = (typeof ABOUT_ONE)[number];

const placeOf = ({ path }: AboutOne, saga: string, review: string): string =>
  path.replace('{id}', path.includes('/reviews/') ? review : saga);

async function answerTo(server: Server, call: AboutOne, path: string, as: string) {
  const { method, body: sent } = call;
  const answer = await server.call(
    path,
    {
      method,
      ...(sent === undefined
        ? {}
        : { body: sent, headers: { 'content-type': 'application/json' } }),
    },
    as,
  );
  const { date: _, ...headers } = Object.fromEntries(answer.headers);
  return { status: answer.status, headers, text: await answer.text() };
}

test('ts-01: to another tenant every call about a saga or its review is as if there were none', async () => {
  const plane = await live();
  const { saga, review } = await plane.heldOnCharge('K');
  const server = await serve(plane.service, { ada: everyone, eve });
  const unknown = 'f'.repeat(saga.id.length);
  expect(ABOUT_ONE.length).toBeGreaterThanOrEqual(10);
  for (const call of ABOUT_ONE) {
    const theirs = await answerTo(server, call, placeOf(call, saga.id, review), 'eve');
    const none = await answerTo(server, call, placeOf(call, unknown, `${unknown}.2`), 'eve');
    expect([call.operationId, theirs]).toEqual([call.operationId, none]);
    expect(theirs.status).toBe(404);
  }
});

test('ts-01: and it takes the same way through the stores, so time tells nothing either', async () => {
  const asked: string[] = [];
  const world = new World({ around: recording(asked) });
  const server = await serve(world.service, { ada, eve: stranger });
  const started = await world.service.start(ada, 'order', 'K', body);
  const unknown = 'f'.repeat(started.id.length);
  for (const call of ABOUT_ONE) {
    const ways = [];
    for (const id of [started.id, unknown]) {
      asked.length = 0;
      await answerTo(server, call, placeOf(call, id, `${id}.2`), 'eve');
      ways.push(asked.join(' '));
    }
    expect([call.operationId, ways[0]]).toEqual([call.operationId, ways[1]]);
    expect(ways[0]).not.toContain(`${ada.tenant}/`);
  }
});

test('ts-03: one key is another one for each tenant, each caller and each definition', async () => {
  const world = new World();
  const callers = [
    { tenant: 'a', id: 'p', key: 'b#c' },
    { tenant: 'a#b', id: 'p', key: 'c' },
    { tenant: 'a', id: 'p#b', key: 'c' },
    { tenant: 'a', id: 'p', key: 'c' },
    { tenant: 'b', id: 'p', key: 'c' },
    { tenant: 'a', id: 'q', key: 'c' },
    { tenant: 'a', id: 'p","c', key: 'c' },
  ];
  const ids = new Set<string>();
  for (const { tenant, id, key } of callers) {
    const view = await world.service.start({ tenant, id, roles: ROLES }, 'order', key, body);
    expect(view.replayed).toBeUndefined();
    ids.add(view.id);
  }
  expect(ids.size).toBe(callers.length);
});

test('ts-03: a decision that stands is repeated to the one who took it, and to nobody else', async () => {
  const plane = await live();
  const { review } = await plane.heldOnCharge('K');
  const server = await serve(plane.service, { ada: everyone, bob, eve });
  const decide = (as: string) =>
    server.call(
      `/v1/reviews/${review}/decision`,
      {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': 'K' },
        body: JSON.stringify({
          decision: 'answer',
          step: 'charge',
          action: 'forward',
          answer: 'committed',
          result: { chargeId: 'C-9' },
          evidence: 'looked it up',
        }),
      },
      as,
    );
  expect((await decide('eve')).status).toBe(404);
  expect((await decide('ada')).status).toBe(200);
  expect((await decide('ada')).status).toBe(200);
  expect((await decide('bob')).status).toBe(409);
  expect((await decide('eve')).status).toBe(404);
});

test('ts-04: a cursor leads nowhere but on in the list it came from', async () => {
  const world = new World();
  const server = await serve(world.service, { ada, eve: stranger });
  const start = (who: Principal, key: string) => world.service.start(who, 'order', key, body);
  const mine = [];
  for (const key of ['1', '2', '3']) mine.push((await start(ada, key)).id);
  const theirs = [];
  for (const key of ['1', '2', '3']) theirs.push((await start(stranger, key)).id);
  const list = async (path: string, cursor: string, as = 'ada') => {
    const joint = path.includes('?') ? '&' : '?';
    const answer = await server.call(`${path}${joint}cursor=${encodeURIComponent(cursor)}`, {}, as);
    return { status: answer.status, text: await answer.text() };
  };
  const first = (await (await server.call('/v1/sagas?limit=1')).json()) as SagaPageView;
  const cursor = first.cursor ?? '';
  expect((await list('/v1/sagas?limit=1', cursor)).status).toBe(200);

  const elsewhere = [
    list('/v1/sagas?limit=1', cursor, 'eve'),
    list('/v1/sagas?limit=1&state=running', cursor),
    list('/v1/sagas?limit=1&name=order', cursor),
    list('/v1/reviews', cursor),
    list(`/v1/sagas/${mine[0]}/ledger`, cursor),
    list('/v1/sagas', '1'),
  ];
  for (const answer of await Promise.all(elsewhere)) expect(answer.status).toBe(400);

  for (const changed of tampered(cursor, stranger.tenant, theirs[0] ?? '')) {
    for (const as of ['ada', 'eve']) {
      const { status, text } = await list('/v1/sagas', changed, as);
      expect([200, 400]).toContain(status);
      for (const id of as === 'ada' ? theirs : mine) expect(text).not.toContain(id);
    }
  }
  for (const garbage of ['~', 'null', '0~', '~e30', '~W10', '../..', '\u0000', '%00', '🙂']) {
    expect([garbage, (await list('/v1/sagas', garbage)).status]).toEqual([garbage, 400]);
  }
  for (const long of ['x'.repeat(100_000), `~${'e'.repeat(100_000)}`, cursor.repeat(1_000)]) {
    const attempt = world.service.list(ada, { limit: 1, cursor: long });
    await expect(attempt).rejects.toMatchObject({ type: 'query-invalid' });
  }
});

test('ts-06: no machine has a callback token, and none is anywhere once a person is waited for', async () => {
  const arn = 'arn:aws:lambda:eu-central-1:111122223333:function:f';
  for (const saga of [exampleOrder, exampleRefund]) {
    const machine = JSON.stringify(
      compileSaga(saga.plan, { functions: { ledger: arn, tool: () => arn } }),
    );
    expect(machine).toContain('lambda:invoke');
    expect(machine).not.toMatch(/token/i);
  }
  const plane = await live();
  const { saga, review } = await plane.heldOnCharge('K');
  const server = await serve(plane.service, { ada: everyone });
  for (const path of [
    `/v1/sagas/${saga.id}`,
    `/v1/sagas/${saga.id}/ledger`,
    `/v1/sagas/${saga.id}/standing`,
    '/v1/reviews',
    `/v1/reviews/${review}`,
  ]) {
    const answer = await server.call(path);
    expect(answer.status).toBe(200);
    expect(await answer.text()).not.toMatch(/token/i);
  }
});

const request = JSON.stringify({
  headers: { Authorization: `Bearer ${SECRETS.bearer}`, 'x-api-key': SECRETS.apiKey },
  body: { apiKey: SECRETS.apiKey, upload: UPLOAD, password: SECRETS.password },
});

test.each<[string, () => unknown]>([
  ['classified', () => Promise.reject(refused('bad_request', request))],
  ['thrown as it is', () => Promise.reject(new Error(request))],
  ['as a cause', () => Promise.reject(new Error('failed', { cause: new Error(request) }))],
  [
    'as the cause of a classified one',
    () => Promise.reject(refused('bad_request', 'failed', new Error(request))),
  ],
  ['as a rejected text', () => Promise.reject(request)],
  ['as a rejected object', () => Promise.reject(JSON.parse(request))],
  ['asking for a person', () => Promise.reject(hold('look', request))],
])(
  'ts-07: a failure that holds the whole request, %s, shows none of its secrets',
  async (_, fail) => {
    const plane = await partnered(fail);
    const saga = await plane.ended('K', 'compensated', 'needs_review');
    const server = await serve(plane.service, { ada: everyone });
    const paths = ['', '/ledger', '/ledger?format=ndjson', '/standing', '/verification'].map(
      (rest) => `/v1/sagas/${saga.id}${rest}`,
    );
    const reviews = saga.review === undefined ? [] : [`/v1/reviews/${saga.review.id}`];
    const shown = await Promise.all(
      [...paths, ...reviews, '/v1/reviews'].map(async (path) => {
        const answer = await server.call(path);
        expect([path, answer.status]).toEqual([path, 200]);
        return answer.text();
      }),
    );
    const ledgers = JSON.stringify([...plane.stores.held.ledgers]);
    expect(ledgers).toContain('step_');
    for (const [name, secret] of Object.entries(SECRETS)) {
      expect([name, plane.lines.join('\n').includes(secret)]).toEqual([name, false]);
      expect([name, ledgers.includes(secret)]).toEqual([name, false]);
      expect([name, shown.join('\n').includes(secret)]).toEqual([name, false]);
    }
  },
);

test('ts-09: another tenant’s writes add nothing to a ledger, whatever the saga’s state', async () => {
  const plane = await live();
  const { saga, review } = await plane.heldOnCharge('K');
  plane.outside.charge = 'works';
  const done = await plane.incident('K2');
  const server = await serve(plane.service, { eve });
  const before = JSON.stringify([...plane.stores.held.ledgers]);
  const payloads = plane.stores.held.payloads.size;
  const writes = ABOUT_ONE.filter(({ method }) => method === 'POST');
  expect(writes.length).toBeGreaterThanOrEqual(5);
  for (const [id, open] of [
    [saga.id, review],
    [done.id, done.incident?.id ?? ''],
  ] as const) {
    for (const call of writes) {
      const answer = await answerTo(server, call, placeOf(call, id, open), 'eve');
      expect([call.operationId, answer.status]).toEqual([call.operationId, 404]);
    }
  }
  expect(JSON.stringify([...plane.stores.held.ledgers])).toBe(before);
  expect(plane.stores.held.payloads.size).toBe(payloads);
});

test('ts-09: an undo is told its tenant; one that finds another’s resource holds, and a person looks', async () => {
  const undone: string[] = [];
  const plane = await partnered(
    () => ({ id: 'R-1', owner: eve.tenant }),
    ({ owner }, call) => {
      if (owner !== call.tenant) throw hold('foreign_resource', 'it belongs to somebody else');
      undone.push(owner);
    },
  );
  const saga = await plane.ended('K', 'compensated', 'needs_review');
  expect(saga).toMatchObject({ state: 'needs_review' });
  expect(saga.steps[0]?.compensation.failure).toMatchObject({ code: 'foreign_resource' });
  expect(undone).toEqual([]);

  const own = await partnered(
    ({ tenant }) => ({ id: 'R-2', owner: tenant }),
    ({ owner }, call) => {
      if (owner !== call.tenant) throw hold('foreign_resource', 'it belongs to somebody else');
      undone.push(owner);
    },
  );
  expect(await own.ended('K', 'compensated', 'needs_review')).toMatchObject({
    state: 'compensated',
  });
  expect(undone).toEqual([everyone.tenant]);
});

const ANSWER = `duplicate of Erika Beispiel's order at ${DATABASE}
    at Object.insert (/srv/partner/db.js:17:3) arn:aws:rds:eu-central-1:111122223333:db:orders`;

test.each<[string, () => never]>([
  [
    'refused',
    () => {
      throw refused('duplicate', ANSWER);
    },
  ],
  [
    'held',
    () => {
      throw hold('duplicate', ANSWER);
    },
  ],
])(
  'ts-10: what a provider answered (%s) is a code to an agent, and masked detail to an operator',
  async (_, fail) => {
    const plane = await partnered(fail);
    const saga = await plane.ended('K', 'compensated', 'needs_review');
    const server = await serve(plane.service, { operator: everyone, agent });
    const review = saga.review?.id;
    const paths = [
      `/v1/sagas/${saga.id}`,
      `/v1/sagas/${saga.id}/standing`,
      '/v1/sagas',
      '/v1/reviews',
      ...(review === undefined ? [] : [`/v1/reviews/${review}`]),
    ];
    const read = async (as: string): Promise<string> => {
      const texts = paths.map(async (path) => (await server.call(path, {}, as)).text());
      return (await Promise.all(texts)).join('\n');
    };
    const toAgent = await read('agent');
    expect(toAgent).toContain('"code":"duplicate"');
    expect(toAgent).not.toMatch(/Erika|postgres|db\.internal|partner\/db|arn:aws/);
    const advice = await server.call(
      `/v1/sagas/${saga.id}/suggestions`,
      { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"try":"again"}' },
      'agent',
    );
    expect(await advice.text()).not.toMatch(/Erika|postgres|db\.internal|partner\/db|arn:aws/);

    const toOperator = await read('operator');
    expect(toOperator).toMatch(/Erika.*\*\*\*@db\.internal/);
    expect(`${toAgent}${toOperator}`).not.toContain(SECRETS.password);
  },
);

/** Stores that note every call and the ledger it is about. */
function recording(asked: string[]): NonNullable<WorldOptions['around']> {
  const noted = <T extends object>(name: string, store: T): T =>
    new Proxy(store, {
      get(target, member, receiver) {
        const value: unknown = Reflect.get(target, member, receiver);
        if (typeof value !== 'function') return value;
        return (first: unknown, ...rest: unknown[]) => {
          const { tenant } = (first ?? {}) as { readonly tenant?: string };
          asked.push(`${name}.${String(member)}:${tenant ?? ''}/`);
          return Reflect.apply(value, target, [first, ...rest]) as unknown;
        };
      },
    });
  return (stores: Stores) => ({
    ledger: noted('ledger', stores.ledger),
    payloads: noted('payloads', stores.payloads),
    registry: noted('registry', stores.registry),
    budgets: noted('budgets', stores.budgets),
    breakers: noted('breakers', stores.breakers),
  });
}

/** The cursor with each of its parts changed, as whoever holds it may change them. */
function tampered(cursor: string, tenant: string, saga: string): string[] {
  const [before = '', inner = ''] = cursor.split('~');
  const parts = JSON.parse(Buffer.from(inner, 'base64url').toString()) as unknown[];
  const sealed = (value: unknown): string =>
    `${before}~${Buffer.from(JSON.stringify(value)).toString('base64url')}`;
  const one = (index: number, value: unknown): string => sealed(parts.with(index, value));
  return [
    one(0, 0),
    one(0, -1),
    one(0, Number.MAX_SAFE_INTEGER),
    one(1, ''),
    one(1, saga),
    one(1, `${tenant}/${saga}`),
    one(2, tenant),
    one(2, ''),
    sealed([...parts, tenant]),
    sealed({ tenant, ...parts }),
    `0~${inner}`,
    `9999999999999999~${inner}`,
  ];
}
