import { defineSaga, defineTool } from 'counterstep';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { sealBreaker } from '../../lambdas/runtime/breaker-record.ts';
import type { MemoryStores } from '../../lambdas/stores/memory/open.ts';
import { genesisHash, LedgerDamaged, sealEvent } from '../../statemachines/ledger/chain.ts';
import { verifyExport } from '../../statemachines/ledger/ndjson.ts';
import { decideBreaker, FRESH_BREAKER } from '../../statemachines/rules/breaker.ts';
import { orderInput } from './sagas.ts';
import { ada, problemIn, World } from './world.ts';

const body = JSON.stringify(orderInput);

async function withEvents(): Promise<{ world: World; sagaId: string; key: string }> {
  const world = new World();
  const sagaId = (await world.service.start(ada, 'order', 'k-1', body)).id;
  for (const text of ['one', 'two', 'three']) {
    await world.service.suggest(ada, sagaId, JSON.stringify(text));
  }
  return { world, sagaId, key: `acme/${sagaId}` };
}

function recordsOf(stores: MemoryStores, key: string) {
  return stores.held.ledgers.get(key) ?? [];
}

describe('the ledger', () => {
  test('is read in pages, and ends', async () => {
    const { world, sagaId } = await withEvents();
    const first = await world.service.ledgerPage(ada, sagaId, { limit: 3 });
    expect(first.records.map((record) => record.event?.type)).toEqual([
      'saga_started',
      'suggestion_recorded',
      'suggestion_recorded',
    ]);
    const cursor = first.cursor ?? '';
    const second = await world.service.ledgerPage(ada, sagaId, { limit: 3, cursor });
    expect(second.records.map((record) => record.seq)).toEqual([4]);
    expect(second.cursor).toBeUndefined();
    const past = await world.service.ledgerPage(ada, sagaId, { limit: 3, cursor: '99' });
    expect(past).toEqual({ records: [] });
    const nobodys = world.service.ledgerPage(ada, 'f'.repeat(32), { limit: 3, cursor: '1' });
    await expect(nobodys).rejects.toMatchObject({ type: 'saga-unknown' });
    const wrong = world.service.ledgerPage(ada, sagaId, { limit: 3, cursor: '-1' });
    expect((await problemIn(wrong)).type).toBe('query-invalid');
  });

  test('is exported as lines that verify anywhere', async () => {
    const { world, sagaId } = await withEvents();
    const lines = [...(await world.service.ledgerNdjson(ada, sagaId))];
    expect(lines).toHaveLength(5);
    expect(verifyExport(lines.join(''))).toMatchObject({ kind: 'valid', seq: 4 });
    expect(verifyExport(lines.slice(0, -1).join(''))).toMatchObject({
      kind: 'invalid',
      problem: 'cut_tail',
    });
  });

  test('is shown although it is damaged, and the saga is not', async () => {
    const { world, sagaId, key } = await withEvents();
    const records = recordsOf(world.stores, key);
    records[1] = { ...records[1], body: 'not json' } as (typeof records)[number];
    const fresh = world.serving([]);
    const { records: shown } = await fresh.ledgerPage(ada, sagaId, { limit: 10 });
    expect(shown[1]).toMatchObject({ seq: 2, body: 'not json' });
    expect(shown[1]?.event).toBeUndefined();
    await expect(fresh.get(ada, sagaId)).rejects.toThrow(LedgerDamaged);
    await expect(fresh.cancel(ada, sagaId, '{"reason":"x"}')).rejects.toThrow(/record 2/);
    expect(recordsOf(world.stores, key)).toHaveLength(4);
  });

  test('that is gone is damage, not an unknown saga, while the list still knows it', async () => {
    const { world, sagaId, key } = await withEvents();
    world.stores.held.ledgers.delete(key);
    const fresh = world.serving([]);
    await expect(fresh.get(ada, sagaId)).rejects.toThrow(LedgerDamaged);
    expect(await fresh.verification(ada, sagaId)).toMatchObject({
      verdict: 'invalid',
      problem: 'missing',
    });
  });
});

describe('verification', () => {
  test('says what the chain was held against', async () => {
    const { world, sagaId } = await withEvents();
    expect(await world.service.verification(ada, sagaId)).toMatchObject({
      sagaId,
      verdict: 'valid',
      events: 4,
      head: { seq: 4, hash: recordsOf(world.stores, `acme/${sagaId}`)[3]?.hash },
      checkedAgainst: ['projection', 'registry'],
      checkedAt: '2026-01-05T12:00:00.000Z',
    });
  });

  test('names the record that was changed', async () => {
    const { world, sagaId, key } = await withEvents();
    const records = recordsOf(world.stores, key);
    const [first] = records;
    if (first === undefined) throw new Error('no record');
    records[0] = { ...first, body: first.body.replace('"order"', '"ordex"') };
    expect(await world.service.verification(ada, sagaId)).toMatchObject({
      verdict: 'invalid',
      problem: 'changed',
      seq: 1,
    });
  });

  test('sees a tail that was cut, by the projection', async () => {
    const { world, sagaId, key } = await withEvents();
    recordsOf(world.stores, key).pop();
    expect(await world.service.verification(ada, sagaId)).toMatchObject({
      verdict: 'invalid',
      problem: 'cut_tail',
      explanation: expect.stringContaining('projection has seen record 4'),
      head: { seq: 3 },
    });
  });

  test('sees a tail that was cut, by the registry, where the projection was rebuilt after it', async () => {
    const { world, sagaId, key } = await withEvents();
    // A saga that ended has no entry; without its last events it looks unfinished.
    world.stores.held.registry.clear();
    const records = recordsOf(world.stores, key);
    records.pop();
    const blind = world.serving([], {
      list: async () => ({ sagas: [] }),
      head: async () => undefined,
    });
    expect(await blind.verification(ada, sagaId)).toMatchObject({
      verdict: 'invalid',
      problem: 'cut_tail',
      checkedAgainst: ['registry'],
    });
  });

  test('sees a chain written anew, which agrees with itself', async () => {
    const { world, sagaId, key } = await withEvents();
    let prev = genesisHash('acme', sagaId);
    const forged = recordsOf(world.stores, key).map((record) => {
      const event = JSON.parse(record.body) as { seq: number; principal?: string };
      const sealed = sealEvent(prev, event.seq === 1 ? { ...event, principal: 'eve' } : event);
      prev = sealed.hash;
      return { ...record, ...sealed };
    });
    world.stores.held.ledgers.set(key, forged);
    expect(await world.service.verification(ada, sagaId)).toMatchObject({
      problem: 'rewritten',
      seq: 4,
    });
  });
});

describe('the list', () => {
  test('is oldest first, filtered, and paged without losing its place in time', async () => {
    const world = new World();
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) {
      const saga = await world.service.start(ada, 'document', `k-${index}`, '{}');
      ids.push(saga.id);
      world.clock.pass(1_000);
    }
    await world.service.cancel(ada, ids[0] ?? '', '{"reason":"x"}');
    const all = await world.service.list(ada, { limit: 10 });
    expect(all.sagas.map((saga) => saga.id)).toEqual(ids);
    const running = await world.service.list(ada, { states: ['running'], limit: 10 });
    expect(running.sagas.map((saga) => saga.id)).toEqual(ids.slice(1));
    expect((await world.service.list(ada, { name: 'order', limit: 10 })).sagas).toEqual([]);

    const startedBefore = world.clock.now() - 2_500;
    const first = await world.service.list(ada, { startedBefore, limit: 2 });
    expect(first.sagas.map((saga) => saga.id)).toEqual(ids.slice(0, 2));
    // Asked again "older than" a moment later: the second page is still of the first one's moment.
    const rest = await world.service.list(ada, {
      startedBefore: startedBefore + 2_000,
      limit: 2,
      cursor: first.cursor ?? '',
    });
    expect(rest.sagas.map((saga) => saga.id)).toEqual(ids.slice(2, 3));
    expect(rest.cursor).toBeUndefined();
  });

  test('takes no cursor of another list, and no invented one', async () => {
    const world = new World();
    for (const key of ['a', 'b']) await world.service.start(ada, 'document', key, '{}');
    const { cursor = '' } = await world.service.list(ada, { limit: 1 });
    const calls = [
      () => world.service.list(ada, { limit: 1, name: 'document', cursor }),
      () => world.service.list({ ...ada, tenant: 'umbra' }, { limit: 1, cursor }),
      () => world.service.list(ada, { limit: 1, cursor: cursor.slice(0, -8) }),
      () => world.service.list(ada, { limit: 1, cursor: '~' }),
      () => world.service.listReviews(ada, { limit: 1, cursor }),
    ];
    for (const call of calls) expect((await problemIn(call())).type).toBe('query-invalid');
    expect((await world.service.list(ada, { limit: 1, cursor })).sagas).toHaveLength(1);
  });
});

describe('the registry', () => {
  test('tells of a breaker whether the tool is called at all', async () => {
    const breaker = { failures: 1, withinMs: 60_000, openMs: 30_000 };
    const guarded = defineTool({
      name: 'guarded',
      description: 'Has a breaker.',
      effect: 'read_only',
      input: z.object({}),
      output: z.object({}),
      forward: { timeoutMs: 1_000, retry: { forMs: 5_000 } },
      breaker,
    });
    const saga = defineSaga({ name: 'look', version: '1', input: z.object({}) }, (steps) =>
      steps.step('look', guarded, { input: () => ({}) }),
    );
    const world = new World({ sagas: [saga] });
    const told = async () => (await world.service.tools(ada)).tools[0];
    expect(await told()).toMatchObject({
      breaker: { ...breaker, state: 'closed' },
      forward: { maxAttempts: 3, retryForMs: 5_000 },
    });
    const now = world.clock.now();
    const failed = { kind: 'failed', code: 'busy' } as const;
    const verdict = decideBreaker(FRESH_BREAKER, failed, breaker, now);
    if (verdict.kind !== 'append') throw new Error('it did not open');
    await world.stores.breakers.append('guarded', sealBreaker(verdict.event, 'n'));
    expect((await told())?.breaker).toEqual({
      ...breaker,
      state: 'open',
      since: new Date(now).toISOString(),
      until: new Date(now + 30_000).toISOString(),
    });
  });

  test('tells each tool with its effect, its dedupe and its schemas', async () => {
    const { tools } = await new World().service.tools(ada);
    expect(tools.map((tool) => tool.name)).toEqual(['charge-card', 'hold-stock', 'send-mail']);
    expect(tools[0]).toMatchObject({
      effect: 'reversible_with_cost',
      description: 'Charges the customer.',
      forward: { dedupe: 'none' },
      compensate: { dedupe: 'key' },
      cost: { estimateMinor: 300, currency: 'EUR' },
      input: {
        type: 'object',
        properties: { amount: { type: 'integer' } },
        required: ['orderId', 'amount'],
      },
      output: { properties: { chargeId: { type: 'string' } } },
      compensateInput: { required: ['chargeId', 'amount'] },
    });
    expect(tools[2]?.compensate).toBeUndefined();
  });

  test('tells each definition with its input schema and its picture', async () => {
    const { service } = new World();
    const { definitions } = service.definitions(ada);
    expect(definitions.map(({ name, businessKey }) => [name, businessKey])).toEqual([
      ['order', false],
      ['refund', true],
      ['document', false],
    ]);
    expect(definitions[0]?.input).toMatchObject({ properties: { email: { format: 'email' } } });
    expect(service.graph(ada, 'order')).toMatch(/^flowchart TD/);
    expect((await problemIn(async () => service.graph(ada, 'none'))).type).toBe(
      'definition-unknown',
    );
  });
});
