import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterEach, describe, expect, test } from 'vitest';
import type { Stores } from '../../lambdas/ports/stores.ts';
import { answered } from '../../lambdas/stores/dynamodb/errors.ts';
import { dynamoClient, dynamoStores } from '../../lambdas/stores/dynamodb/open.ts';
import { localClient } from '../support/dynalite.ts';
import {
  cut,
  failure,
  json,
  type ScriptedAnswer,
  type ScriptedServer,
  silence,
  startScripted,
} from '../support/scripted-server.ts';
import { recordAt } from './harness.ts';

const tables = { ledger: 'ledger', payloads: 'payloads', coordination: 'coordination' };
const ledger = { tenant: 'acme', sagaId: 'saga-1' };
const UNKNOWN = { name: 'Counterstep.StoreUnavailable', throttled: false };

const ending: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ending.splice(0)) await end();
});

async function against(
  script: ScriptedAnswer[],
  maxAttempts = 1,
): Promise<{ stores: Stores; server: ScriptedServer }> {
  const server = await startScripted(...script);
  const client = localClient(server.endpoint, maxAttempts);
  ending.push(
    () => client.destroy(),
    () => server.close(),
  );
  return { stores: dynamoStores({ client, tables, mode: 'partiql' }), server };
}

describe('a failing DynamoDB', () => {
  test.each([
    'ProvisionedThroughputExceededException',
    'ThrottlingException',
    'RequestLimitExceeded',
  ])('%s asks for less load', async (type) => {
    const { stores } = await against([failure(400, type)]);
    const expected = { name: 'Counterstep.StoreUnavailable', throttled: true };
    await expect(stores.ledger.append(ledger, recordAt(1))).rejects.toMatchObject(expected);
    await expect(stores.payloads.erase(ledger)).rejects.toMatchObject(expected);
    await expect(stores.registry.due(1, 1)).rejects.toMatchObject(expected);
  });

  test.each<[string, ScriptedAnswer]>([
    ['a 500', failure(500, 'InternalServerError')],
    ['a 503', failure(503, 'ServiceUnavailable')],
    ['a 500 without words', json(500, '')],
    ['a line cut', cut],
    ['a garbled answer', json(200, '{"Items":[')],
    ['an answer that is no JSON', json(200, '<html>gateway</html>')],
  ])('%s leaves the outcome unknown', async (_, answer) => {
    const { stores } = await against([answer]);
    await expect(stores.ledger.append(ledger, recordAt(1))).rejects.toMatchObject(UNKNOWN);
    await expect(stores.ledger.head(ledger)).rejects.toMatchObject(UNKNOWN);
    await expect(stores.payloads.put(ledger, 'x')).rejects.toMatchObject(UNKNOWN);
    await expect(stores.registry.add({ ...ledger, dueAt: 1 })).rejects.toMatchObject(UNKNOWN);
  });

  test('nobody listening leaves the outcome unknown', async () => {
    const { stores, server } = await against([cut]);
    await server.close();
    await expect(stores.ledger.append(ledger, recordAt(1))).rejects.toMatchObject(UNKNOWN);
  });

  test('silence ends at the client’s own limit', async () => {
    const server = await startScripted(silence);
    const client = dynamoClient({
      endpoint: server.endpoint,
      region: 'eu-central-1',
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
      maxAttempts: 2,
      requestHandler: { requestTimeout: 30, throwOnRequestTimeout: true },
    });
    ending.push(
      () => client.destroy(),
      () => server.close(),
    );
    const stores = dynamoStores({ client, tables, mode: 'partiql' });
    await expect(stores.ledger.append(ledger, recordAt(1))).rejects.toMatchObject(UNKNOWN);
    expect(server.requests()).toBe(2);
  });

  test.each([
    ['ResourceNotFoundException', /check the table name and region/],
    ['AccessDeniedException', /check the role's grants/],
    ['ValidationException', /the table has other keys/],
    ['SomethingNewException', /SomethingNewException: so it is \(see the cause\)/],
  ])('%s is no passing trouble, and says what to do', async (type, remedy) => {
    const { stores } = await against([failure(400, type)]);
    const failed = stores.ledger.append(ledger, recordAt(1));
    await expect(failed).rejects.toMatchObject({ name: 'Counterstep.StoreMisconfigured' });
    await expect(failed).rejects.toThrow(remedy);
  });

  test('a refusal after an attempt whose answer was lost leaves the outcome unknown', async () => {
    const { stores, server } = await against([cut, failure(400, 'ExpiredTokenException')], 2);
    await expect(stores.ledger.append(ledger, recordAt(1))).rejects.toMatchObject(UNKNOWN);
    expect(server.requests()).toBe(2);
  });

  test('refused as a duplicate, yet nothing stands: the outcome is unknown', async () => {
    const { stores } = await against([failure(400, 'DuplicateItemException'), json(200, {})]);
    const failed = stores.ledger.append(ledger, recordAt(1));
    await expect(failed).rejects.toMatchObject(UNKNOWN);
    await expect(failed).rejects.toThrow(/no record stands there/);
  });

  test('errors of our own making stay what they are', async () => {
    const own = new TypeError('ours');
    await expect(answered('testing', () => Promise.reject(own))).rejects.toBe(own);
    const unconfigured = new DynamoDBClient({ region: async () => '' });
    ending.push(() => unconfigured.destroy());
    const stores = dynamoStores({ client: unconfigured, tables, mode: 'partiql' });
    await expect(stores.ledger.head(ledger)).rejects.not.toMatchObject({
      name: 'Counterstep.StoreUnavailable',
    });
  });
});
