import { afterEach, describe, expect, test } from 'vitest';
import type { Drive } from '../../lambdas/ports/drive-starter.ts';
import type { SagaView } from '../../lambdas/service/wire.ts';
import { executionNameOf } from '../../statemachines/rules/keys.ts';
import { faultyStores } from '../../testing/faulty-stores.ts';
import { openServer, problemOf, type Server } from '../api/server.ts';
import { everyone, Live } from '../service/live.ts';
import { orderInput } from '../service/sagas.ts';
import { ada, EMPTY, HandClock, stranger, World, type WorldOptions } from '../service/world.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function served(options: WorldOptions = {}): Promise<{ world: World; server: Server }> {
  const world = new World(options);
  const server = await openServer(world.service, { ada, eve: stranger });
  closing.push(() => server.close());
  return { world, server };
}

async function live(): Promise<Live> {
  const plane = await Live.open();
  closing.push(() => plane.close());
  return plane;
}

const body = JSON.stringify(orderInput);
const start = (server: Server, key: string | undefined, input = body, name = 'order') =>
  server.post(`/v1/sagas/${name}`, input, key === undefined ? {} : { 'idempotency-key': key });
const viewOf = async (response: Response) => (await response.json()) as SagaView;

test('ri-05: a key with another body is refused and shows nothing of the first saga, even a finished one', async () => {
  const plane = await live();
  const server = await openServer(plane.service, { ada: everyone });
  closing.push(() => server.close());
  const first = await viewOf(
    await start(server, 'K', JSON.stringify({ ...orderInput, amount: 4_000 })),
  );
  await plane.until(everyone, first.id, 'completed');
  const effects = [...plane.outside.effects];

  const second = await start(server, 'K', JSON.stringify({ ...orderInput, amount: 9_999 }));
  const text = await second.text();
  expect(second.status).toBe(422);
  expect(JSON.parse(text)).toMatchObject({ type: 'urn:counterstep:problem:key-reused' });
  expect(text).not.toMatch(/completed|C-A-1/);
  expect(plane.outside.effects).toEqual(effects);
});

test('ri-07: a start without a key is refused, and no two share a record', async () => {
  const { world, server } = await served();
  for (const key of [undefined, '', '   ', '\t']) {
    const problem = await problemOf(await start(server, key));
    expect(problem).toMatchObject({ status: 400, type: 'urn:counterstep:problem:key-missing' });
  }
  expect(world.held()).toBe(EMPTY);
  // Two words that programs send by mistake are keys like any other, each caller's own.
  for (const key of ['undefined', 'null']) {
    const mine = await viewOf(await start(server, key));
    const theirs = await server.call(
      '/v1/sagas/order',
      {
        method: 'POST',
        body,
        headers: { 'idempotency-key': key, 'content-type': 'application/json' },
      },
      'eve',
    );
    const other = await viewOf(theirs);
    expect(other.id).not.toBe(mine.id);
    expect(other.replayed).toBeUndefined();
  }
});

test('ri-08: the order of members does not matter at any depth, the order of elements does', async () => {
  const { server } = await served();
  const send = (key: string, input: string) => start(server, key, input, 'document');
  const first = await viewOf(await send('K', '{"a":1,"b":{"x":1,"y":2}}'));
  const second = await viewOf(await send('K', '{ "b": {"y":2,"x":1.0}, "a": 1 }'));
  expect([second.id, second.replayed]).toEqual([first.id, true]);
  expect((await send('L', '{"items":[1,2]}')).status).toBe(202);
  expect((await send('L', '{"items":[2,1]}')).status).toBe(422);
});

test('ri-11: a repeat under a fresh key is the same saga, by its business key', async () => {
  const { world, server } = await served();
  const input = JSON.stringify({ orderId: 'A-1', operation: 'full refund' });
  const first = await viewOf(await start(server, 'a8f1-first', input, 'refund'));
  world.clock.pass(10_000);
  const second = await viewOf(await start(server, 'c07e-second', input, 'refund'));
  expect([second.id, second.replayed]).toEqual([first.id, true]);
  expect(world.started).toHaveLength(1);
  const contract = await (await server.call('/openapi.json')).text();
  expect(contract).toMatch(/Never make up a new key for a repeat/);
});

test('ri-14: a start is answered at once, whatever becomes of starting its execution', async () => {
  const asked: Drive[] = [];
  // Patience is over at once for this clock; the call that starts the execution never returns.
  class Impatient extends HandClock {
    override timer(ms = 0, fn: () => void = () => {}): () => void {
      expect(ms).toBeLessThan(29_000);
      setImmediate(fn);
      return () => {};
    }
  }
  const drives = {
    start: (drive: Drive): Promise<void> => {
      asked.push(drive);
      return new Promise<void>(() => {});
    },
  };
  const { world, server } = await served({ drives, clock: new Impatient() });
  const first = await start(server, 'K');
  expect(first.status).toBe(202);
  const { id } = await viewOf(first);
  for (let repeat = 0; repeat < 2; repeat += 1) {
    expect(await viewOf(await start(server, 'K'))).toMatchObject({ id, replayed: true });
  }
  expect(asked.map((drive) => executionNameOf(drive.sagaId, drive.epoch))).toEqual([`${id}-1`]);
  expect(world.events('acme', id)).toHaveLength(1);
  // Should that execution never come to be, the registry's entry has the saga looked at again.
  expect(world.stores.held.registry.size).toBe(1);
});

/**
 * The case asks for 409 with Retry-After while the first start is under way. Here nothing is ever
 * half started: event 1 is one conditional write, and an answer exists as soon as it stands. A repeat
 * gets the saga itself, as it is now. An agent that reads 409 as failure, and changes its key, has no
 * occasion to.
 */
test('ri-19: a repeat while the first runs, and after it ended, is answered with the same saga', async () => {
  const plane = await live();
  plane.outside.charge = 'unknown';
  const server = await openServer(plane.service, { ada: everyone });
  closing.push(() => server.close());
  const twins = await Promise.all([start(server, 'K'), start(server, 'K'), start(server, 'K')]);
  expect(twins.map((response) => response.status)).toEqual([202, 202, 202]);
  const views = await Promise.all(twins.map(viewOf));
  expect(new Set(views.map((view) => view.id)).size).toBe(1);
  expect(views.filter((view) => view.replayed === undefined)).toHaveLength(1);

  const held = await plane.until(everyone, views[0]?.id ?? '', 'needs_review');
  await plane.service.decide(
    everyone,
    held.review?.id ?? '',
    JSON.stringify({
      decision: 'answer',
      step: 'charge',
      action: 'forward',
      answer: 'committed',
      result: { chargeId: 'C' },
      evidence: 'seen',
    }),
  );
  await plane.until(everyone, held.id, 'completed');
  expect(await viewOf(await start(server, 'K'))).toMatchObject({
    id: held.id,
    state: 'completed',
    replayed: true,
  });
  expect(plane.outside.effects).toEqual(['hold A-1', 'charge A-1 4000', 'mail jo@example.com']);
});

test('ri-20: a trigger delivered again runs nothing again, and an old execution cannot undo the end', async () => {
  const plane = await live();
  const first = await plane.service.start(everyone, 'order', 'K', body);
  const second = await plane.service.start(everyone, 'order', 'K', body);
  expect(second.id).toBe(first.id);
  await plane.until(everyone, first.id, 'completed');
  expect((await plane.service.start(everyone, 'order', 'K', body)).state).toBe('completed');

  // The stale one finds a world in which its every call would fail; it gets to make none.
  const ledger = [...(plane.stores.held.ledgers.get(`acme/${first.id}`) ?? [])];
  plane.outside.charge = 'refused';
  await plane.rerun(first.id, 1);
  expect(plane.stores.held.ledgers.get(`acme/${first.id}`)).toEqual(ledger);
  expect(plane.outside.effects).toHaveLength(3);
  expect(executionNameOf(first.id, 1)).toBe(`${first.id}-1`);
});

test('ri-22: a repeat is known for as long as the saga is, not for five minutes', async () => {
  const { world, server } = await served();
  const { id } = await viewOf(await start(server, 'message-1'));
  for (const minutes of [6, 60 * 24, 60 * 24 * 365]) {
    world.clock.pass(minutes * 60_000);
    expect(await viewOf(await start(server, 'message-1'))).toMatchObject({ id, replayed: true });
  }
  expect(world.started).toHaveLength(1);
  expect(world.stores.held.ledgers.size).toBe(1);
});

describe('lc-12: two starts for one order at the same moment', () => {
  test.each([
    ['under one key each', 'k-1', 'k-2'],
    ['under the same key', 'k-1', 'k-1'],
  ])(
    '%s, each before the other is seen anywhere, open one saga',
    async (_how, firstKey, secondKey) => {
      // Both have read an empty ledger before either may write; no index knows of anything yet.
      let release: () => void = () => {};
      const both = new Promise<void>((resolve) => {
        release = resolve;
      });
      let waiting = 0;
      const world = new World({
        around: (stores) =>
          faultyStores(stores, {
            onCall: async ({ operation, phase }) => {
              if (operation !== 'append' || phase !== 'before') return;
              waiting += 1;
              if (waiting === 2) release();
              await both;
            },
          }),
      });
      const blind = { list: async () => ({ sagas: [] }), head: async () => undefined };
      const { refund } = await import('../service/sagas.ts');
      const input = JSON.stringify({ orderId: 'A-1', operation: 'full' });
      const [first, second] = await Promise.all([
        world.serving([refund], blind).start(ada, 'refund', firstKey, input),
        world.serving([refund], blind).start({ ...ada, id: 'grace' }, 'refund', secondKey, input),
      ]);
      expect(second.id).toBe(first.id);
      expect(
        [first.replayed, second.replayed].filter((replayed) => replayed === true),
      ).toHaveLength(1);
      expect(world.events('acme', first.id)).toHaveLength(1);
      expect(world.started).toHaveLength(1);
    },
  );
});
