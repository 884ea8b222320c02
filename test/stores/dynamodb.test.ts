import { PutItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Stores } from '../../lambdas/ports/stores.ts';
import type { AppendMode } from '../../lambdas/stores/dynamodb/ledger.ts';
import { dynamoStores } from '../../lambdas/stores/dynamodb/open.ts';
import { REGISTRY_SHARDS } from '../../lambdas/stores/dynamodb/registry.ts';
import { createTables, type TableNames } from '../../lambdas/stores/dynamodb/tables.ts';
import { type Dynalite, localClient, startDynalite } from '../support/dynalite.ts';
import { type DynamoProxy, startDynamoProxy } from '../support/dynamo-proxy.ts';
import { breakerLedgerContract } from './breaker-ledger.contract.ts';
import { freshLedger, type OpenHarness, recordAt } from './harness.ts';
import { ledgerStoreContract } from './ledger-store.contract.ts';
import { payloadStoreContract } from './payload-store.contract.ts';
import { registryContract } from './registry.contract.ts';
import { tenantBudgetsContract } from './tenant-budgets.contract.ts';

let server: Dynalite;
let proxy: DynamoProxy;
beforeAll(async () => {
  server = await startDynalite();
  proxy = await startDynamoProxy(server.endpoint);
});
afterAll(async () => {
  await proxy.close();
  await server.close();
});

let coordinations = 0;
async function freshCoordination(): Promise<TableNames> {
  coordinations += 1;
  const tables = { ...server.tables, coordination: `coordination-${coordinations}` };
  await createTables(server.client, tables);
  return tables;
}

function harness(mode: AppendMode, tables: () => TableNames | Promise<TableNames>): OpenHarness {
  return async () => {
    const names = await tables();
    const client = localClient(mode === 'partiql' ? proxy.endpoint : server.endpoint);
    return {
      stores: dynamoStores({ client, tables: names, mode }),
      async damagePayload({ tenant, sagaId }, digest) {
        const { Items = [] } = await client.send(
          new QueryCommand({
            TableName: names.payloads,
            KeyConditionExpression: 'pk = :pk AND sk = :sk',
            ExpressionAttributeValues: {
              ':pk': { S: `${tenant}/${sagaId}` },
              ':sk': { S: digest },
            },
          }),
        );
        const text = Items[0]?.text?.S?.replace('4', '9') ?? '';
        const Item = { ...Items[0], text: { S: text } };
        await client.send(new PutItemCommand({ TableName: names.payloads, Item }));
      },
      async close() {
        client.destroy();
      },
    };
  };
}

ledgerStoreContract(
  'DynamoDB, conditional put',
  harness('conditional-put', () => server.tables),
);
ledgerStoreContract(
  'DynamoDB, PartiQL',
  harness('partiql', () => server.tables),
);
payloadStoreContract(
  'DynamoDB',
  harness('conditional-put', () => server.tables),
);
registryContract('DynamoDB', harness('conditional-put', freshCoordination));
// Without transactions: the server knows none. With them the suite runs on the stand-in (test/e2e).
tenantBudgetsContract('DynamoDB, one by one', harness('conditional-put', freshCoordination));
breakerLedgerContract('DynamoDB', harness('conditional-put', freshCoordination));

describe('DynamoDB stores', () => {
  test('in PartiQL mode an append is one INSERT and nothing else', async () => {
    const client = localClient(proxy.endpoint);
    const { ledger } = dynamoStores({ client, tables: server.tables, mode: 'partiql' });
    proxy.statements.length = 0;
    await ledger.append(freshLedger(), recordAt(1));
    expect(proxy.statements).toEqual([
      `INSERT INTO "${server.tables.ledger}" VALUE {'pk': ?, 'sk': ?, 'body': ?, 'prev': ?, 'hash': ?, 'nonce': ?}`,
    ]);
    client.destroy();
  });

  test('a record of the ledger table is as documented', async () => {
    const stores = dynamoStores({ ...server, mode: 'conditional-put' });
    const ledger = freshLedger();
    await stores.ledger.append(ledger, recordAt(7));
    const { Items } = await server.client.send(
      new QueryCommand({
        TableName: server.tables.ledger,
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': { S: `${ledger.tenant}/${ledger.sagaId}` } },
      }),
    );
    expect(Items).toEqual([
      {
        pk: { S: `${ledger.tenant}/${ledger.sagaId}` },
        sk: { N: '7' },
        body: { S: '{"seq":7}' },
        prev: { S: 'hash-6' },
        hash: { S: 'hash-7' },
        nonce: { S: 'nonce-7' },
      },
    ]);
  });

  test('an attribute taken away reads as empty, so that the chain tells', async () => {
    const stores = dynamoStores({ ...server, mode: 'conditional-put' });
    const ledger = freshLedger();
    await server.client.send(
      new PutItemCommand({
        TableName: server.tables.ledger,
        Item: { pk: { S: `${ledger.tenant}/${ledger.sagaId}` }, sk: { N: '1' }, hash: { S: 'h' } },
      }),
    );
    expect(await stores.ledger.read(ledger)).toEqual([
      { seq: 1, body: '', prev: '', hash: 'h', nonce: '' },
    ]);
  });

  test('an erased payload keeps its mark alone', async () => {
    const stores = dynamoStores({ ...server, mode: 'conditional-put' });
    const ledger = freshLedger();
    const { digest } = await stores.payloads.put(ledger, 'secret');
    await stores.payloads.erase(ledger);
    const { Items } = await server.client.send(
      new QueryCommand({
        TableName: server.tables.payloads,
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': { S: `${ledger.tenant}/${ledger.sagaId}` } },
      }),
    );
    expect(Items).toEqual([
      {
        pk: { S: `${ledger.tenant}/${ledger.sagaId}` },
        sk: { S: digest },
        erased: { BOOL: true },
      },
    ]);
  });

  test('registry entries spread over all shards', async () => {
    const tables = await freshCoordination();
    const { registry } = dynamoStores({ client: server.client, tables, mode: 'conditional-put' });
    for (let at = 0; at < 64; at += 1) {
      await registry.add({ tenant: 'acme', sagaId: `saga-${at}`, dueAt: at });
    }
    for (let shard = 0; shard < REGISTRY_SHARDS; shard += 1) {
      const { Count } = await server.client.send(
        new QueryCommand({
          TableName: tables.coordination,
          KeyConditionExpression: 'pk = :pk',
          ExpressionAttributeValues: { ':pk': { S: `registry#${shard}` } },
        }),
      );
      expect(Count).toBeGreaterThan(0);
    }
  });

  test('making tables that exist is fine; a name that is none is refused', async () => {
    await createTables(server.client, server.tables);
    expect(() =>
      dynamoStores({ ...server, tables: { ...server.tables, ledger: 'a" b' }, mode: 'partiql' }),
    ).toThrow(/is no DynamoDB table name/);
  });
});

describe.each(['partiql', 'conditional-put'] as const)('an answer lost on the way, %s', (mode) => {
  let stores: Stores;
  let patient: ReturnType<typeof localClient>;
  beforeEach(() => {
    patient = localClient(proxy.endpoint);
    stores = dynamoStores({ client: patient, tables: server.tables, mode });
    return () => patient.destroy();
  });

  test('the retry of an append meets itself', async () => {
    const ledger = freshLedger();
    proxy.loseAnswers(1);
    const result = await stores.ledger.append(ledger, recordAt(1, { nonce: 'mine' }));
    expect(result).toEqual({ kind: 'conflict', standing: recordAt(1, { nonce: 'mine' }) });
    expect(await stores.ledger.read(ledger)).toHaveLength(1);
  });

  test('an append whose every answer is lost is unknown, and stands', async () => {
    const ledger = freshLedger();
    proxy.loseAnswers(3);
    await expect(stores.ledger.append(ledger, recordAt(1))).rejects.toMatchObject({
      name: 'Counterstep.StoreUnavailable',
      throttled: false,
    });
    expect(await stores.ledger.read(ledger)).toEqual([recordAt(1)]);
  });

  test('the retry of a payload meets itself', async () => {
    const ledger = freshLedger();
    proxy.loseAnswers(1);
    const { digest } = await stores.payloads.put(ledger, 'once');
    expect(await stores.payloads.get(ledger, digest)).toEqual({ kind: 'found', text: 'once' });
    expect(await stores.payloads.erase(ledger)).toBe(1);
  });

  test('the retry of a payload does not bring back what was erased meanwhile', async () => {
    const ledger = freshLedger();
    const direct = dynamoStores({ ...server, mode: 'conditional-put' });
    proxy.loseAnswers(1, () => direct.payloads.erase(ledger));
    const { digest } = await stores.payloads.put(ledger, 'secret');
    expect(await stores.payloads.get(ledger, digest)).toEqual({ kind: 'erased' });
  });

  test('reads simply try again', async () => {
    const ledger = freshLedger();
    await stores.ledger.append(ledger, recordAt(1));
    proxy.loseAnswers(1);
    expect(await stores.ledger.head(ledger)).toEqual(recordAt(1));
  });
});
