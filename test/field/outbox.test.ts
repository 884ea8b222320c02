import type { DynamoDBClient, PutItemCommandInput } from '@aws-sdk/client-dynamodb';
import { outboxHandler, powertoolsLog } from 'counterstep/lambda';
import { describe, expect, test } from 'vitest';
import { Outbox } from '../../lambdas/outbox/outbox.ts';
import { arrivalOf } from '../../lambdas/outbox/stream.ts';
import { type LedgerId, StoreUnavailable } from '../../lambdas/ports/ledger-store.ts';
import { silentLog } from '../../lambdas/ports/log.ts';
import type { SagaProjection } from '../../lambdas/ports/saga-projection.ts';
import { dynamoSagaIndex } from '../../lambdas/stores/dynamodb/saga-index.ts';
import { sagaIdOf } from '../../statemachines/rules/keys.ts';
import { eventsOf, inserted, ledgerOf, recordsOf, type Story } from '../outbox/ledgers.ts';
import { drain } from '../outbox/shard.ts';
import { MemoryProjection, NOW, OutboxWorld, shortOf } from '../outbox/world.ts';

const saga = (n: number): LedgerId => ({
  tenant: 'acme',
  sagaId: sagaIdOf({ tenant: 'acme', principal: 'shop', name: 'sample', key: `key-${n}` }),
});

const handlerOver = (world: OutboxWorld) => {
  const log = { ...powertoolsLog(), ...silentLog, begin: () => undefined };
  const handler = outboxHandler({ parts: { ...world.parts, log } });
  return (batch: Parameters<typeof handler>[0]) =>
    handler(batch, { getRemainingTimeInMillis: () => 20_000 });
};

describe('li-09: an index by status', () => {
  test('li-09: two thousand sagas that enter one state are spread over its partitions', async () => {
    const written = new Map<string, number>();
    const client = {
      async send({ input }: { readonly input: Partial<PutItemCommandInput> }) {
        const partition = input.Item?.pk?.S;
        if (partition !== undefined) written.set(partition, (written.get(partition) ?? 0) + 1);
        return {};
      },
    } as unknown as DynamoDBClient;
    const projection = dynamoSagaIndex({ client, table: 'coordination' });
    const outbox = new Outbox({
      ...new OutboxWorld().parts,
      projection: { noted: async () => undefined, note: (...given) => projection.note(...given) },
    });
    const [started] = eventsOf('completed', saga(0));
    if (started === undefined) throw new Error('the story is empty');
    const sagas = 2_000;
    for (let at = 0; at < sagas; at += 100) {
      const batch = Array.from({ length: 100 }, (_, n) => {
        const id = saga(at + n);
        const [first] = recordsOf(id, [{ ...started, ...id }]);
        if (first === undefined) throw new Error('no record');
        return arrivalOf(inserted(id, first), NOW);
      });
      expect((await outbox.take(batch)).failed).toEqual([]);
    }
    const running = [...written].filter(([partition]) => partition.includes('/state=running#'));
    expect(running).toHaveLength(8);
    const most = Math.max(...running.map(([, count]) => count));
    expect(most).toBeLessThan((sagas / running.length) * 1.5);
    // No other partition takes more: not the list of all, nor that of the name.
    expect(Math.max(...written.values())).toBe(most);
  });

  test('li-09: lists that are throttled hold up no saga, lose nothing and say so', async () => {
    const projection = new MemoryProjection();
    let refused = 0;
    const throttled: SagaProjection = {
      noted: (id) => projection.noted(id),
      async note(id, change) {
        if (refused < 40) {
          refused += 1;
          throw new StoreUnavailable('less, please', { throttled: true });
        }
        await projection.note(id, change);
      },
    };
    const world = new OutboxWorld({ projection: throttled });
    const records = Array.from({ length: 20 }, (_, n) => saga(n)).flatMap((id) =>
      ledgerOf('undone', id).map((record) => inserted(id, record)),
    );
    const { discarded, invocations } = await drain(handlerOver(world), records, {
      batchSize: 60,
      retryAttempts: 30,
    });
    expect(refused).toBe(40);
    expect(invocations).toBeGreaterThan(3);
    expect(discarded).toEqual([]);
    for (let n = 0; n < 20; n += 1) {
      expect((await projection.noted(saga(n)))?.row?.state).toBe('compensated');
    }
  });
});

describe('cp-05: one bad record in a shard', () => {
  /** Every saga’s first record, a hundred of them; whatever concerns the one with `bad` fails. */
  const shard = (bad: number) => {
    const projection = new MemoryProjection();
    const world = new OutboxWorld({
      projection: {
        noted: (id) => projection.noted(id),
        async note(id, change) {
          if (id.sagaId === saga(bad).sagaId) throw new TypeError('injected');
          await projection.note(id, change);
        },
      },
    });
    const records = Array.from({ length: 100 }, (_, n) => {
      const id = saga(n);
      const [first] = ledgerOf('completed', id);
      if (first === undefined) throw new Error('the story is empty');
      return inserted(id, first);
    });
    return { world, records, projection };
  };

  test('cp-05: that always throws is given up after its tries; the other 99 are passed on once', async () => {
    const { world, records, projection } = shard(49);
    const { discarded, invocations } = await drain(handlerOver(world), records, {
      batchSize: 100,
      retryAttempts: 5,
    });
    expect(discarded).toMatchObject([{ from: records[49]?.dynamodb?.SequenceNumber }]);
    expect(invocations).toBe(1 + 6);
    expect(projection.sagas.size).toBe(99);
    for (let n = 0; n < 100; n += 1) {
      const own = world.bus.taken.filter(({ detail }) => detail.sagaId === saga(n).sagaId);
      expect([n, new Set(own.map(({ detail }) => detail.id)).size]).toEqual([n, 1]);
      if (n !== 49) expect([n, own.length]).toEqual([n, 1]);
    }
  });

  test('cp-05: that is no JSON is known for what it is, and delays nobody', async () => {
    const { world, records, projection } = shard(-1);
    const id = saga(49);
    const [first] = ledgerOf('completed', id);
    if (first === undefined) throw new Error('the story is empty');
    const batch = records.with(49, inserted(id, { ...first, body: '{"seq":1,' }));
    const drained = await drain(handlerOver(world), batch, { batchSize: 100, retryAttempts: 5 });
    expect(drained).toEqual({ invocations: 1, discarded: [] });
    expect(await projection.noted(id)).toMatchObject({ tampered: [{ seq: 1, found: 'broken' }] });
    expect(world.bus.types(id.sagaId)).toEqual(['ledger.tampered']);
    expect(world.bus.taken).toHaveLength(100);
  });

  test('cp-05: that is as large as a record can be is one like the others', async () => {
    const { world, records } = shard(-1);
    const id = saga(49);
    const events = eventsOf('completed', id).map((event) =>
      event.type === 'saga_started' ? { ...event, key: 'k'.repeat(300 * 1024) } : event,
    );
    const [large] = recordsOf(id, events);
    if (large === undefined) throw new Error('the story is empty');
    const batch = records.with(49, inserted(id, large));
    const drained = await drain(handlerOver(world), batch, { batchSize: 100, retryAttempts: 5 });
    expect(drained).toEqual({ invocations: 1, discarded: [] });
    expect(world.bus.types(id.sagaId)).toEqual(['started']);
    expect(JSON.stringify(world.bus.taken).length).toBeLessThan(100 * 1_000);
  });
});

test('mo-05: a saga that was undone is told of as compensated, once, with the reason it began', async () => {
  const world = new OutboxWorld();
  for (let n = 0; n < 100; n += 1) {
    const id = saga(n);
    const records = ledgerOf('undone', id).map((record) => inserted(id, record));
    await world.take(...records);
    await world.take(...records.slice(n % 9));
    const own = world.bus.taken.filter(({ detail }) => detail.sagaId === id.sagaId);
    expect(own.map(({ type }) => shortOf(type))).toEqual([
      'started',
      'compensating',
      'compensated',
    ]);
    expect(own[1]?.detail).toMatchObject({ reason: 'step_failed' });
  }
});

test.each([
  ['success', 'completed', ['started', 'completed']],
  ['undo success', 'undone', ['started', 'compensating', 'compensated']],
  ['undo failure', 'undo failed', ['started', 'compensating', 'needs_review recovery_failed']],
  ['review', 'reviewed', ['started', 'needs_review unknown_outcome', 'completed']],
  ['expiry', 'expired', ['started', 'compensating deadline_passed', 'compensated']],
  ['cancel', 'cancelled', ['started', 'compensating cancelled', 'compensated']],
] as const)('mo-08: %s has its event, exactly once', async (_, story, expected) => {
  const world = new OutboxWorld();
  const id = saga(1);
  for (const record of ledgerOf(story satisfies Story, id)) await world.take(inserted(id, record));
  const told = world.bus.taken.map(({ type, detail }) => [
    shortOf(type),
    `${shortOf(type)} ${'reason' in detail ? detail.reason : ''}`,
  ]);
  expect(told.length).toBe(expected.length);
  for (const [index, text] of expected.entries()) expect(told[index]).toContain(text);
});

test('ef-10: a record that comes again long after it was handled changes nothing', async () => {
  const world = new OutboxWorld();
  const id = saga(1);
  const records = ledgerOf('undone', id).map((record) => inserted(id, record));
  for (const record of records) await world.take(record);
  const noted = await world.projection.noted(id);
  const published = world.bus.taken.length;
  for (const record of records.toReversed()) await world.take(record, record);
  expect(await world.projection.noted(id)).toEqual(noted);
  expect(world.bus.taken).toHaveLength(published);
});
