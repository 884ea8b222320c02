import {
  BatchGetItemCommand,
  type DynamoDBClient,
  type GetItemCommandInput,
  PutItemCommand,
  type PutItemCommandInput,
  QueryCommand,
} from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LedgerId } from '../../lambdas/ports/ledger-store.ts';
import { silentLog } from '../../lambdas/ports/log.ts';
import type { SagaChange } from '../../lambdas/ports/saga-projection.ts';
import { NOTHING_NOTED } from '../../lambdas/projection/noted.ts';
import { rowAfter, type SagaRow } from '../../lambdas/projection/row.ts';
import { dynamoSagaIndex } from '../../lambdas/stores/dynamodb/saga-index.ts';
import { LIST_SHARDS } from '../../lambdas/stores/dynamodb/saga-lists.ts';
import { memoryStores } from '../../lambdas/stores/memory/open.ts';
import { Projection } from '../../local/projection.ts';
import { type Dynalite, startDynalite } from '../support/dynalite.ts';
import { freshTenant } from './harness.ts';
import { sagaIndexContract } from './saga-index.contract.ts';

let server: Dynalite;
beforeAll(async () => {
  server = await startDynalite();
});
afterAll(() => server.close());

const opened = (client: DynamoDBClient = server.client) =>
  dynamoSagaIndex({ client, table: server.tables.coordination });

sagaIndexContract('local projection', async () => {
  const index = new Projection(memoryStores().openHeads(), silentLog);
  return {
    index,
    seen: async (id, event, hash) => index.seen(id, event, hash),
    close: () => index.close(),
  };
});

sagaIndexContract('DynamoDB', async () => {
  const index = opened();
  return {
    index,
    async seen(id, event, hash) {
      const row = rowAfter((await index.noted(id))?.row, id, event, hash);
      if (row !== undefined) await index.note(id, { row });
    },
    close: async () => undefined,
  };
});

const rowOf = (id: LedgerId, seq: number, state: SagaRow['state'] = 'running'): SagaRow => ({
  ...id,
  seq,
  hash: `hash-${seq}`,
  state,
  name: 'refund',
  version: '1',
  startedAt: 1_000,
  changedAt: 1_000 + seq,
  stateSince: 1_000 + seq,
  drive: 'running',
});

describe('the projection in DynamoDB', () => {
  const saga = (): LedgerId => ({ tenant: freshTenant(), sagaId: 's' });
  const listed = async (id: LedgerId, state: SagaRow['state']) =>
    (await opened().list({ tenant: id.tenant, states: [state], limit: 10 })).sagas.length;

  test('changes noted side by side end as the newest, in one list', async () => {
    const id = saga();
    const states = ['running', 'waiting', 'compensating', 'needs_review'] as const;
    const changes: SagaChange[] = Array.from({ length: 24 }, (_, n) => ({
      row: rowOf(id, n + 1, states[n % 4] ?? 'running'),
      published: n + 1,
    }));
    // Each writer is a function of its own, with a try for every other that may come first.
    await Promise.all(changes.toReversed().map((change) => opened().note(id, change)));
    expect(await opened().noted(id)).toMatchObject({
      head: { seq: 24, hash: 'hash-24' },
      row: { state: 'needs_review' },
      published: 24,
    });
    const found = await Promise.all(states.map((state) => listed(id, state)));
    expect(found).toEqual([0, 0, 0, 1]);
  });

  test('a write that breaks off anywhere hides no saga, and the next one mends it', async () => {
    const writes = [PutItemCommand.name, 'DeleteItemCommand'];
    for (let at = 1; at <= 4; at += 1) {
      const id = saga();
      await opened().note(id, { row: rowOf(id, 1, 'running') });
      let count = 0;
      const dying = {
        send(command: object, ...rest: unknown[]) {
          if (writes.includes(command.constructor.name)) count += 1;
          if (count >= at && writes.includes(command.constructor.name)) {
            return Promise.reject(new Error('the process is gone'));
          }
          return Reflect.apply(server.client.send, server.client, [command, ...rest]);
        },
      } as unknown as DynamoDBClient;
      await opened(dying)
        .note(id, { row: rowOf(id, 2, 'waiting') })
        .catch(() => undefined);
      expect((await listed(id, 'running')) + (await listed(id, 'waiting'))).toBe(1);
      await opened().note(id, { row: rowOf(id, 2, 'waiting') });
      expect([await listed(id, 'running'), await listed(id, 'waiting')]).toEqual([0, 1]);
    }
  });

  test('marks stay, whatever is noted afterwards, and are shown', async () => {
    const id = saga();
    const index = opened();
    const mark = { seq: 2, at: 5_000, found: 'modified' } as const;
    await index.note(id, { row: rowOf(id, 3) });
    await index.note(id, { tampered: [{ seq: 3, at: 6_000, found: 'removed' }, mark] });
    await index.note(id, { row: rowOf(id, 4), repair: true });
    const { sagas } = await index.list({ tenant: id.tenant, limit: 1 });
    expect(sagas).toMatchObject([{ seq: 4, tampered: mark }]);
    expect(await index.head(id.tenant, 's')).toEqual({ seq: 4, hash: 'hash-4', tampered: mark });
  });

  test('a ledger of which only a removed record was seen has a head, and is in no list', async () => {
    const id = saga();
    const index = opened();
    const mark = { seq: 7, at: 5_000, found: 'removed' } as const;
    await index.note(id, { tampered: [mark] });
    expect(await index.head(id.tenant, 's')).toEqual({ seq: 7, tampered: mark });
    expect((await index.list({ tenant: id.tenant, limit: 1 })).sagas).toEqual([]);
  });

  test('lists that were lost are written again by a repair', async () => {
    const id = saga();
    const index = opened();
    await index.note(id, { row: rowOf(id, 3) });
    const { Items = [] } = await server.client.send(
      new QueryCommand({
        TableName: server.tables.coordination,
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': { S: `saga#${id.tenant}/s` } },
      }),
    );
    // The same saga under another tenant's name has an item, but stands in no list.
    const other = { tenant: freshTenant(), sagaId: 's' };
    const row = { ...rowOf(other, 3) };
    await server.client.send(
      new PutItemCommand({
        TableName: server.tables.coordination,
        Item: {
          ...Items[0],
          pk: { S: `saga#${other.tenant}/s` },
          sk: { S: 'head' },
          row: { S: JSON.stringify(row) },
        },
      }),
    );
    expect(await listed(other, 'running')).toBe(0);
    await index.note(other, { row });
    expect(await listed(other, 'running')).toBe(0);
    await index.note(other, { row, repair: true });
    expect(await listed(other, 'running')).toBe(1);
  });

  test('a saga that begins and ends in one batch is two writes and one cheap read', async () => {
    const tenant = freshTenant();
    const { client, sent } = listening();
    const index = opened(client);
    const pass = async (sagaId: string) => {
      sent.length = 0;
      const id = { tenant, sagaId };
      const known = (await index.noted(id)) ?? NOTHING_NOTED;
      await index.note(id, { row: rowOf(id, 10, 'completed'), published: 10 }, known);
      return sent.map(({ name, pk, consistent }) => [name, pk.replace(/#\d$/, ''), consistent]);
    };
    const own = (sagaId: string) => [
      ['GetItemCommand', `saga#${tenant}/${sagaId}`, false],
      ['PutItemCommand', `index#${tenant}/name=refund`, undefined],
      ['PutItemCommand', `saga#${tenant}/${sagaId}`, undefined],
    ];
    const [first, ...others] = own('a');
    expect(await pass('a')).toEqual([
      first,
      // The first saga of its name.
      ['GetItemCommand', `index#${tenant}/names`, undefined],
      ['PutItemCommand', `index#${tenant}/names`, undefined],
      ...others,
    ]);
    expect(await pass('b')).toEqual(own('b'));
    const { sagas } = await index.list({ tenant, states: ['completed'], limit: 10 });
    expect(sagas.map(({ sagaId }) => sagaId)).toEqual(['a', 'b']);
  });

  test('what was read a moment too early is read again, and nothing is lost', async () => {
    const id = saga();
    const index = opened();
    await index.note(id, { row: rowOf(id, 1) }, NOTHING_NOTED);
    const early = await index.noted(id);
    await index.note(id, { row: rowOf(id, 2, 'waiting'), published: 2 });
    for (const over of [early, NOTHING_NOTED]) {
      await index.note(id, { row: rowOf(id, 3, 'completed') }, over);
      await index.note(id, { row: rowOf(id, 1, 'running') }, over);
      expect(await index.noted(id)).toMatchObject({ row: { seq: 3 }, published: 2 });
      expect([await listed(id, 'running'), await listed(id, 'waiting')]).toEqual([0, 0]);
      expect(await listed(id, 'completed')).toBe(1);
    }
  });

  test('all sagas are those of all names, also where another process noted the name', async () => {
    const tenant = freshTenant();
    const names = ['refund', 'order', 'a/b#c', 'names'];
    for (const [n, name] of names.entries()) {
      const id = { tenant, sagaId: `s${n}` };
      const row = { ...rowOf(id, 1), name, startedAt: 1_000 - n };
      await opened().note(id, { row });
      await opened().note({ ...id, sagaId: `t${n}` }, { row: { ...row, sagaId: `t${n}` } });
    }
    const { sagas } = await opened().list({ tenant, limit: 10 });
    expect(sagas.map(({ sagaId }) => sagaId)).toEqual(
      [3, 2, 1, 0].flatMap((n) => [`s${n}`, `t${n}`]),
    );
    const other = await opened().list({ tenant: freshTenant(), limit: 10 });
    expect(other).toEqual({ sagas: [] });
  });

  interface Sent {
    readonly name: string;
    readonly pk: string;
    readonly consistent: boolean | undefined;
  }

  function listening() {
    const sent: Sent[] = [];
    const client = {
      send(command: { readonly input: Partial<PutItemCommandInput & GetItemCommandInput> }) {
        const { Item, Key, ConsistentRead: consistent } = command.input;
        sent.push({ name: command.constructor.name, pk: (Item ?? Key)?.pk?.S ?? '', consistent });
        return Reflect.apply(server.client.send, server.client, [command]);
      },
    } as unknown as DynamoDBClient;
    return { client, sent };
  }

  test('a page looks at no more than a thousand entries, and the next goes on behind them', async () => {
    const tenant = freshTenant();
    const batches: string[] = [];
    const page = Array.from({ length: 1_500 }, (_, n) => ({
      sk: { S: `${String(n).padStart(16, '0')}#s${n}` },
      name: { S: n === 1_400 ? 'rare' : 'common' },
    }));
    const sent: string[] = [];
    const client = {
      async send(command: QueryCommand | BatchGetItemCommand) {
        if (command instanceof BatchGetItemCommand) {
          const { Keys = [] } = command.input.RequestItems?.coordination ?? {};
          batches.push(...Keys.map((key) => key.pk?.S ?? ''));
          const Responses = { coordination: Keys.map((key) => stored(tenant, key.pk?.S ?? '')) };
          return { Responses };
        }
        const values = command.input.ExpressionAttributeValues ?? {};
        sent.push(values[':pk']?.S ?? '');
        if (values[':pk']?.S?.endsWith('#0') !== true) return { Items: [] };
        const Items = page.filter(({ sk }) => sk.S >= (values[':from']?.S ?? ''));
        return { Items };
      },
    } as unknown as DynamoDBClient;
    const index = dynamoSagaIndex({ client, table: 'coordination' });
    const query = { tenant, name: 'rare', states: ['running'], limit: 10 } as const;
    const first = await index.list(query);
    expect(first.sagas).toEqual([]);
    expect(batches).toEqual([]);
    const second = await index.list({ ...query, cursor: first.cursor ?? '' });
    expect(second.sagas.map(({ sagaId }) => sagaId)).toEqual(['s1400']);
    expect(second.cursor).toBeUndefined();
    expect(new Set(sent).size).toBe(LIST_SHARDS);
  });

  function stored(tenant: string, pk: string) {
    const sagaId = pk.slice(pk.indexOf('/') + 1);
    const startedAt = Number(sagaId.slice(1));
    const row = { ...rowOf({ tenant, sagaId }, 1), startedAt, name: 'rare' };
    return { seq: { N: '1' }, hash: { S: 'h' }, row: { S: JSON.stringify(row) } };
  }
});
