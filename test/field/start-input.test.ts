import { defineSaga, sensitive } from 'counterstep';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { fetchStored } from '../../lambdas/runtime/values.ts';
import type { SagaView } from '../../lambdas/service/wire.ts';
import { toIJson } from '../../statemachines/ledger/ijson.ts';
import { executionNameOf, sagaIdOf } from '../../statemachines/rules/keys.ts';
import { openServer, problemOf, type Server } from '../api/server.ts';
import { everyone, Live } from '../service/live.ts';
import { document, holdStock, orderInput } from '../service/sagas.ts';
import { ada, EMPTY, World } from '../service/world.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function served(): Promise<{ world: World; server: Server }> {
  const world = new World();
  const server = await openServer(world.service, { ada });
  closing.push(() => server.close());
  return { world, server };
}

test('lg-09: a member given twice is refused, so no two parsers can read two things', async () => {
  const { world, server } = await served();
  const bodies = [
    '{"amount":"40.00","amount":"4000.00"}',
    '{"a":{"amount":"40.00","\\u0061mount":"4000.00"}}',
    '{"list":[{"amount":"40.00"},{"amount":"1","amount":"1"}]}',
  ];
  for (const body of bodies) {
    const problem = await problemOf(
      await server.post('/v1/sagas/document', body, { 'idempotency-key': 'k' }),
    );
    expect(problem).toMatchObject({
      status: 400,
      detail: expect.stringContaining('duplicate_member'),
      at: expect.stringContaining('amount'),
    });
    expect(problem.detail).not.toContain('4000');
  }
  expect(world.held()).toBe(EMPTY);
});

test.each([100, 120, 200, 255, 380])(
  'li-03: an input of %i KB is kept once and carried nowhere, or refused before anything is written',
  async (kilobytes) => {
    const { world, server } = await served();
    const body = JSON.stringify({ text: 'x'.repeat(kilobytes * 1_024) });
    const response = await server.post('/v1/sagas/document', body, { 'idempotency-key': 'k' });
    if (kilobytes === 380) {
      expect(await problemOf(response)).toMatchObject({
        status: 413,
        remedy: expect.stringContaining('reference'),
      });
      expect(world.held()).toBe(EMPTY);
      return;
    }
    const saga = (await response.json()) as SagaView;
    const [record] = world.stores.held.ledgers.get(`acme/${saga.id}`) ?? [];
    expect(Buffer.byteLength(record?.body ?? '')).toBeLessThan(2_048);
    // What the execution carries does not grow with the input.
    expect(JSON.stringify(world.started).length).toBeLessThan(300);
    const [start] = world.events('acme', saga.id);
    if (start?.type !== 'saga_started') throw new Error('no start');
    const id = { tenant: 'acme', sagaId: saga.id };
    expect(await fetchStored(world.host.stores, id, start.input)).toEqual(JSON.parse(body));
  },
);

test('li-07: what is empty in an input comes back as it was, and no step fails for it', async () => {
  const empties = {
    text: '',
    list: [],
    object: {},
    nothing: null,
    nested: { tags: [], deep: [{}, [], ''] },
  };
  const hidden = defineSaga(
    { name: 'hidden', version: '1', input: sensitive(z.record(z.string(), z.unknown())) },
    (saga) => saga.step('hold', holdStock, { input: () => ({ orderId: '' }) }),
  );
  const live = await Live.open([document, hidden]);
  closing.push(() => live.close());
  for (const name of ['document', 'hidden']) {
    const saga = await live.service.start(everyone, name, 'k', JSON.stringify(empties));
    await live.until(everyone, saga.id, 'completed');
    const records = live.stores.held.ledgers.get(`acme/${saga.id}`) ?? [];
    const { input } = JSON.parse(records[0]?.body ?? '') as {
      input: Parameters<typeof fetchStored>[2];
    };
    expect(input.kind).toBe(name === 'hidden' ? 'ref' : 'inline');
    expect(await fetchStored(live.stores, { tenant: 'acme', sagaId: saga.id }, input)).toEqual(
      empties,
    );
  }
  // A set has no JSON form: a tool that answers one is told where, nothing is guessed.
  expect(() => toIJson({ tags: new Set() })).toThrow(/\/tags/);
});

test('li-07: an empty key is a 400 that names it, an empty business key a 422 that names it', async () => {
  const { world, server } = await served();
  const noKey = await server.post('/v1/sagas/document', '{}', { 'idempotency-key': '' });
  expect(await problemOf(noKey)).toMatchObject({ status: 400, at: 'Idempotency-Key' });
  const noFact = await server.post('/v1/sagas/refund', '{"orderId":"","operation":""}', {
    'idempotency-key': 'k',
  });
  expect(await problemOf(noFact)).toMatchObject({ status: 422, at: 'businessKey' });
  expect(world.held()).toBe(EMPTY);
});

test('li-10: names of executions fit whatever the key, and no two keys meet by being cut', async () => {
  const long = 'k'.repeat(80);
  const keys = [
    `${long}a`,
    `${long}b`,
    'with spaces in it',
    'a/b:c',
    'schlüssel',
    'ключ-1',
    '鍵🔑',
    'é',
    'e\u0301',
    'K',
    'k',
    'x'.repeat(256),
  ];
  const world = new World();
  const caller = { ...ada, tenant: 't'.repeat(40) };
  const ids: string[] = [];
  for (const key of keys) {
    const { id } = await world.service.start(caller, 'document', key, '{}');
    ids.push(id);
    expect(world.events(caller.tenant, id)[0]).toMatchObject({ key });
  }
  expect(new Set(ids).size).toBe(keys.length);
  for (const id of ids) expect(executionNameOf(id, 999_999)).toMatch(/^[0-9a-f]{32}-\d+$/);
  const name = 's'.repeat(30);
  const id = sagaIdOf({
    tenant: caller.tenant,
    principal: 'p'.repeat(200),
    name,
    key: 'k'.repeat(64),
  });
  expect(executionNameOf(id, 1_000_000).length).toBeLessThanOrEqual(80);
});

test('li-10: keys that a header can carry work over HTTP as they are', async () => {
  const { server, world } = await served();
  for (const key of ['with spaces in it', 'a/b:c', 'schl\u00fcssel']) {
    const response = await server.post('/v1/sagas/order', JSON.stringify(orderInput), {
      'idempotency-key': key,
    });
    const { id } = (await response.json()) as SagaView;
    expect(world.events('acme', id)[0]).toMatchObject({ key });
  }
});
