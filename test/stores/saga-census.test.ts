import { DeleteItemCommand, type DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { LedgerId } from '../../lambdas/ports/ledger-store.ts';
import type { Census } from '../../lambdas/ports/saga-census.ts';
import type { SagaRow } from '../../lambdas/projection/row.ts';
import { dynamoSagaCensus } from '../../lambdas/stores/dynamodb/saga-census.ts';
import { dynamoSagaIndex } from '../../lambdas/stores/dynamodb/saga-index.ts';
import { LIST_SHARDS, openPartition } from '../../lambdas/stores/dynamodb/saga-lists.ts';
import { OPEN_STATES, type OpenState } from '../../statemachines/metrics.ts';
import { type Dynalite, startDynalite } from '../support/dynalite.ts';

let server: Dynalite;
beforeAll(async () => {
  server = await startDynalite();
});
afterAll(() => server.close());

const NOW = 1_800_000_000_000;
const table = () => server.tables.coordination;
const note = (row: SagaRow, client: DynamoDBClient = server.client) =>
  dynamoSagaIndex({ client, table: table() }).note(row, { row });
const take = () => dynamoSagaCensus({ client: server.client, table: table() }).take(NOW);

const rowOf = (id: LedgerId, seq: number, state: SagaRow['state'], since: number): SagaRow => ({
  ...id,
  seq,
  hash: `hash-${seq}`,
  state,
  name: 'refund',
  version: '1',
  startedAt: 1_000,
  changedAt: since + 100_000,
  stateSince: since,
  drive: 'running',
});

/** A census is over all tenants, so each test begins with an empty table. */
let known: SagaRow[] = [];
beforeEach(async () => {
  for (const state of OPEN_STATES) {
    for (const { pk, sk } of await entriesIn(state)) {
      await server.client.send(new DeleteItemCommand({ TableName: table(), Key: { pk, sk } }));
    }
  }
  known = [];
});

async function entriesIn(state: OpenState) {
  const shards = Array.from({ length: LIST_SHARDS }, async (_, shard) => {
    const answer = await server.client.send(
      new QueryCommand({
        TableName: table(),
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': { S: openPartition(state, shard) } },
      }),
    );
    return (answer.Items ?? []).flatMap(({ pk, sk }) => (pk && sk ? [{ pk, sk }] : []));
  });
  return (await Promise.all(shards)).flat();
}

let sagas = 0;
const fresh = (tenant = 'acme'): LedgerId => {
  sagas += 1;
  return { tenant, sagaId: `s${sagas}` };
};

const counts = ({ states }: Census) =>
  Object.fromEntries(OPEN_STATES.map((state) => [state, states[state].sagas]));
const NONE = Object.fromEntries(OPEN_STATES.map((state) => [state, 0]));

test('nothing is open where nothing was noted', async () => {
  expect(await take()).toEqual({
    states: Object.fromEntries(OPEN_STATES.map((state) => [state, { sagas: 0 }])),
    reviewsOverdue: 0,
  });
});

test('sagas of all tenants are counted by state, with the one that is longest in each', async () => {
  const states = [...OPEN_STATES, 'completed', 'compensated', 'incident'] as const;
  for (let n = 0; n < 40; n += 1) {
    const state = states[n % states.length] ?? 'running';
    known.push(rowOf(fresh(`tenant-${n % 3}`), 1, state, 1_000_000 - n));
  }
  await Promise.all(known.map((row) => note(row)));
  const census = await take();
  for (const state of OPEN_STATES) {
    const own = known.filter((row) => row.state === state);
    expect([state, census.states[state]]).toEqual([
      state,
      { sagas: own.length, oldestSince: Math.min(...own.map(({ stateSince }) => stateSince)) },
    ]);
  }
});

test('a saga that moves is counted once it took half a minute, one that waits at once', async () => {
  const young = { ...rowOf(fresh(), 1, 'running', 1_000), changedAt: 30_999 };
  const undone = { ...rowOf(fresh(), 1, 'compensating', 1_000), changedAt: 30_999 };
  const waiting = { ...rowOf(fresh(), 1, 'waiting', 1_000), changedAt: 1_000 };
  for (const row of [young, undone, waiting]) await note(row);
  expect(counts(await take())).toEqual({ ...NONE, waiting: 1 });
  for (const row of [young, undone])
    await note({ ...row, seq: 2, hash: 'hash-2', changedAt: 31_000 });
  const census = await take();
  expect(counts(census)).toEqual({ ...NONE, running: 1, compensating: 1, waiting: 1 });
  expect(census.states.running.oldestSince).toBe(1_000);
  await note({ ...young, seq: 3, hash: 'hash-3', state: 'completed' });
  expect(counts(await take())).toEqual({ ...NONE, compensating: 1, waiting: 1 });
});

test('a saga that moves on is counted once, and its time begins anew', async () => {
  const id = fresh();
  const path = ['running', 'waiting', 'running', 'compensating', 'needs_review'] as const;
  for (const [index, state] of path.entries()) {
    await note(rowOf(id, index + 1, state, 1_000 * (index + 1)));
    const census = await take();
    expect(counts(census)).toEqual({ ...NONE, [state]: 1 });
    expect(census.states[state].oldestSince).toBe(1_000 * (index + 1));
  }
  await note(rowOf(id, 9, 'compensated', 9_000));
  expect(counts(await take())).toEqual(NONE);
});

test('a review is overdue once its deadline is, and the deadline may come later than the state', async () => {
  const inTime = { ...rowOf(fresh(), 1, 'needs_review', 1), reviewDeadlineAt: NOW + 1 };
  const late = { ...rowOf(fresh(), 1, 'needs_review', 1), reviewDeadlineAt: NOW };
  const undated = rowOf(fresh(), 1, 'needs_review', 1);
  for (const row of [inTime, late, undated]) await note(row);
  expect(await take()).toMatchObject({ reviewsOverdue: 1 });
  await note({ ...undated, seq: 2, hash: 'hash-2', reviewDeadlineAt: NOW - 5 });
  const census = await take();
  expect(census).toMatchObject({ reviewsOverdue: 2 });
  expect(counts(census)).toEqual({ ...NONE, needs_review: 3 });
});

test('what a broken-off write left in a list names no saga, and is taken out', async () => {
  const id = fresh();
  const before = { ...rowOf(id, 1, 'needs_review', 1_000), reviewDeadlineAt: 5_000 };
  await note(before);
  const dying = {
    send(command: object, ...rest: unknown[]) {
      if (command instanceof DeleteItemCommand) return Promise.reject(new Error('gone'));
      return Reflect.apply(server.client.send, server.client, [command, ...rest]);
    },
  } as unknown as DynamoDBClient;
  await note(rowOf(id, 2, 'compensating', 2_000), dying).catch(() => undefined);
  expect(await entriesIn('needs_review')).toHaveLength(1);
  const census = await take();
  expect(census.reviewsOverdue).toBe(0);
  expect(census.states.needs_review.oldestSince).toBeUndefined();
  expect(census.states.compensating).toEqual({ sagas: 1, oldestSince: 2_000 });
  expect(await entriesIn('needs_review')).toEqual([]);
});

test('an entry whose saga’s own item is still to come is not taken out', async () => {
  const id = fresh();
  await note(rowOf(id, 1, 'running', 1_000));
  const index = dynamoSagaIndex({
    client: {
      send(command: {
        readonly input: { readonly Item?: { readonly sk?: { readonly S?: string } } };
      }) {
        if (command.input.Item?.sk?.S === 'head') return Promise.reject(new Error('gone'));
        return Reflect.apply(server.client.send, server.client, [command]);
      },
    } as unknown as DynamoDBClient,
    table: table(),
  });
  const row = rowOf(id, 2, 'waiting', 2_000);
  await index.note(row, { row }).catch(() => undefined);
  expect((await take()).states.waiting.oldestSince).toBeUndefined();
  expect(await entriesIn('waiting')).toHaveLength(1);
  await note(row);
  const census = await take();
  expect(counts(census)).toEqual({ ...NONE, waiting: 1 });
  expect(census.states.waiting.oldestSince).toBe(2_000);
});
