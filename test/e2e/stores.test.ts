import { GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { dynamoClient, dynamoStores } from '../../lambdas/stores/dynamodb/open.ts';
import { createTables, type TableNames } from '../../lambdas/stores/dynamodb/tables.ts';
import { breakerLedgerContract } from '../stores/breaker-ledger.contract.ts';
import { freshLedger, type OpenHarness, recordAt } from '../stores/harness.ts';
import { ledgerStoreContract } from '../stores/ledger-store.contract.ts';
import { payloadStoreContract } from '../stores/payload-store.contract.ts';
import { registryContract } from '../stores/registry.contract.ts';
import { tenantBudgetsContract } from '../stores/tenant-budgets.contract.ts';
import { clientConfig } from './aws.ts';

/** The stores as deployed functions open them, with appends as PartiQL INSERTs. */
const endpoint = inject('standIn')?.endpoint;
const RUN = Date.now().toString(36);

function openClient() {
  return dynamoClient({ ...clientConfig(endpoint ?? ''), requestHandler: {} });
}

let made = 0;
async function freshTables(): Promise<TableNames> {
  made += 1;
  const named = (kind: string): string => `contract-${RUN}-${made}-${kind}`;
  const names = {
    ledger: named('ledger'),
    payloads: named('payloads'),
    coordination: named('coordination'),
  };
  const client = openClient();
  await createTables(client, names);
  client.destroy();
  return names;
}

const open: OpenHarness = async () => {
  const tables = await freshTables();
  const client = openClient();
  return {
    stores: dynamoStores({ client, tables, mode: 'partiql' }),
    async damagePayload({ tenant, sagaId }, digest) {
      const Key = { pk: { S: `${tenant}/${sagaId}` }, sk: { S: digest } };
      const { Item } = await client.send(
        new GetItemCommand({ TableName: tables.payloads, Key, ConsistentRead: true }),
      );
      const text = Item?.text?.S?.replace('4', '9') ?? '';
      await client.send(
        new PutItemCommand({ TableName: tables.payloads, Item: { ...Item, text: { S: text } } }),
      );
    },
    close: async () => client.destroy(),
  };
};

// The embedded store of the local plane is held to the same contract in `npm test`.
describe.skipIf(endpoint === undefined)('stores on the stand-in', () => {
  ledgerStoreContract('a stand-in for DynamoDB, PartiQL', open);
  payloadStoreContract('a stand-in for DynamoDB', open);
  registryContract('a stand-in for DynamoDB', open);
  tenantBudgetsContract('a stand-in for DynamoDB, transactions', open);
  breakerLedgerContract('a stand-in for DynamoDB', open);

  describe('a condition that fails', () => {
    let close: () => Promise<void>;
    let harness: Awaited<ReturnType<OpenHarness>>;
    beforeAll(async () => {
      harness = await open();
      close = () => harness.close();
    });
    afterAll(() => close());

    test('ef-15: is an answer, not an error of the server, whether or not an item stands', async () => {
      const { ledger, registry } = harness.stores;
      const id = freshLedger();
      expect(await ledger.append(id, recordAt(1))).toEqual({ kind: 'appended' });
      expect(await ledger.append(id, recordAt(1, { nonce: 'other' }))).toEqual({
        kind: 'conflict',
        standing: recordAt(1),
      });
      await registry.remove({ ...freshLedger(), dueAt: 1 });
    });
  });
});
