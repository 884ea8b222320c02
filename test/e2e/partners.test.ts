import { DynamoDBClient, ListTablesCommand, paginateQuery } from '@aws-sdk/client-dynamodb';
import { AwsClient } from 'aws4fetch';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { refundOfOrder } from '../../examples/demo/inputs.ts';
import type { PlaneClient, Saga } from '../../examples/demo/plane-client.ts';
import type { FaultRequest } from '../../examples/partners/faults.ts';
import type { CallRecord, EffectRow, SystemRecords } from '../../examples/partners/records.ts';
import type { Changes } from '../../examples/partners/stores/draft.ts';
import { JOURNAL } from '../../examples/partners/stores/dynamodb.ts';
import { clientConfig } from './aws.ts';
import { clientOf, outputsOf } from './deployed.ts';
import { type Issuer, startIssuer } from './issuer.ts';
import { deploys } from './target.ts';
import { orderId, standInOfRun } from './worlds.ts';

/**
 * The app as it is deployed without a word about where the outside is: the partner systems are functions
 * over a table, and messages go to SES. What became of a saga is read in that table, not asked of anybody.
 */
const STACK = 'E2ePartners';

// Only what this suite deploys has partners of its own, and a table that can be read from here.
describe.skipIf(!deploys)('the deployed partner systems', () => {
  let endpoint: string;
  let issuer: Issuer;
  let plane: PlaneClient;
  let partnersUrl: string;
  let table: string;
  beforeAll(async () => {
    const standIn = standInOfRun();
    ({ endpoint } = standIn);
    issuer = await startIssuer();
    const context = { examples: 'refund,order,document' };
    const outputs = await outputsOf({ standIn, issuer, stack: STACK, context });
    plane = await clientOf({ standIn, issuer }, outputs);
    partnersUrl = outputs.PartnersUrl ?? '';
    table = await partnersTable(endpoint);
  });
  afterAll(() => issuer.close());

  /** A request of somebody who may look at the partners and break them. */
  function asAdmin(path: string, init: RequestInit = {}): Promise<Response> {
    return signerFor(endpoint, 'execute-api').fetch(`${partnersUrl}${path}`, init);
  }

  async function fault(request: FaultRequest): Promise<void> {
    const body = JSON.stringify(request);
    const { status } = await asAdmin('/faults', { method: 'POST', body });
    expect(status).toBe(201);
  }

  async function refunded(order: string, over: { readonly email?: string } = {}): Promise<Saga> {
    return ended('refund', order, { ...refundOfOrder(order), ...over });
  }

  async function documentTaken(id: string): Promise<Saga> {
    return ended('document', id, { caseId: id, title: 'An invoice of May', recipient: 'ada' });
  }

  async function ended(name: string, key: string, input: object): Promise<Saga> {
    const { id } = await plane.start(name, key, input);
    const saga = await plane.untilEnded(id);
    expect(await plane.verification(id)).toMatchObject({ verdict: 'valid' });
    return saga;
  }

  /** What stands in the table about one order: system, operation and id of the effect that undid it. */
  async function kept(order: string) {
    const { calls, effects } = await readJournal(endpoint, table);
    const of = (row: { readonly orderId: string | null }): boolean => row.orderId === order;
    return {
      calls: calls.filter(of),
      effects: effects.filter(of),
      named: effects.filter(of).map(({ system, operation, reversedBy }) => ({
        ...{ system, operation, undone: reversedBy.length > 0 },
      })),
    };
  }

  const reserved = { system: 'stock', operation: 'reserve' };
  const credited = { system: 'erp', operation: 'create' };

  test('a sender that SES has not verified: it refuses, and all that stood is undone', async () => {
    const order = orderId('deployed-refused');
    expect(await refunded(order)).toMatchObject({ state: 'compensated' });
    expect((await kept(order)).named).toEqual([
      { ...reserved, undone: true },
      { ...credited, undone: true },
      { system: 'erp', operation: 'cancel', undone: false },
      { system: 'stock', operation: 'release', undone: false },
    ]);
    expect(await messagesTo(endpoint, refundOfOrder(order).email)).toEqual([]);
  });

  describe('with a sender that it has verified', () => {
    beforeAll(() => verifySender(endpoint));

    test('a refund that completes: each effect stands once, and one message went to SES', async () => {
      const order = orderId('deployed-done');
      expect(await refunded(order)).toMatchObject({ state: 'completed' });
      const { calls, effects, named } = await kept(order);
      expect(named).toEqual([
        { ...reserved, undone: false },
        { ...credited, undone: false },
      ]);
      for (const { call, correlationId, idempotencyKey } of effects) {
        expect(correlationId).toMatch(/./);
        expect(calls.find(({ seq }) => seq === call)).toMatchObject({
          ...{ correlationId, idempotencyKey, outcome: 'committed' },
        });
      }
      const { email } = refundOfOrder(order);
      expect(await messagesTo(endpoint, email)).toMatchObject([
        { Source: 'refunds@shop.example', Subject: `Your refund for order ${order}` },
      ]);
      // The partner says of itself what the table says.
      const asked = await asAdmin(`/erp/records?orderId=${order}`);
      const records = (await asked.json()) as SystemRecords;
      expect(records.effects.map(({ externalId }) => externalId)).toEqual(
        effects.filter(({ system }) => system === 'erp').map(({ externalId }) => externalId),
      );
    });

    test('a refund that is compensated: what stood is undone once, and no message went', async () => {
      const order = orderId('deployed-undone');
      await fault({
        system: 'erp',
        operation: 'create',
        fault: 'refuse',
        match: { orderId: order },
      });
      expect(await refunded(order)).toMatchObject({ state: 'compensated' });
      expect((await kept(order)).named).toEqual([
        { ...reserved, undone: true },
        { system: 'stock', operation: 'release', undone: false },
      ]);
      expect(await messagesTo(endpoint, refundOfOrder(order).email)).toEqual([]);
    });

    test.each(['commit_then_drop', 'crash_after'] as const)(
      '%s: what a gateway says of a lost answer is asked about, and nothing is done twice',
      async (name) => {
        const order = orderId(`deployed-${name}`);
        await fault({ system: 'erp', operation: 'create', fault: name, match: { orderId: order } });
        expect(await refunded(order)).toMatchObject({ state: 'completed' });
        const { calls, named } = await kept(order);
        expect(named).toEqual([
          { ...reserved, undone: false },
          { ...credited, undone: false },
        ]);
        const faults = calls.filter(({ system }) => system === 'erp').map((each) => each.fault);
        expect(faults).toEqual([name]);
      },
    );
  });

  describe('a document', () => {
    const stored = { system: 'documents', operation: 'store' };
    const published = { system: 'register', operation: 'publish' };
    const listed = { system: 'search', operation: 'list' };

    test('that is delivered: each effect stands once', async () => {
      const id = `D-${orderId('delivered')}`;
      expect(await documentTaken(id)).toMatchObject({ state: 'completed' });
      expect((await kept(id)).named).toEqual([
        { ...stored, undone: false },
        { ...published, undone: false },
        { ...listed, undone: false },
        { system: 'register', operation: 'deliver', undone: false },
      ]);
    });

    test('whose delivery (DD11) is refused: what stood is undone from the last to the first', async () => {
      const id = `D-${orderId('undelivered')}`;
      const match = { orderId: id };
      await fault({ system: 'register', operation: 'deliver', fault: 'refuse', match });
      const saga = await documentTaken(id);
      // What came in (DD01) is behind a checkpoint, and had no effect.
      expect(saga).toMatchObject({ state: 'compensated', checkpoint: 'DD01' });
      expect((await kept(id)).named).toEqual([
        { ...stored, undone: true },
        { ...published, undone: true },
        { ...listed, undone: true },
        { system: 'search', operation: 'bury', undone: false },
        { system: 'register', operation: 'restore', undone: false },
        { system: 'documents', operation: 'withdraw', undone: false },
      ]);
    });
  });
});

async function partnersTable(endpoint: string): Promise<string> {
  const client = new DynamoDBClient(clientConfig(endpoint));
  const { TableNames = [] } = await client.send(new ListTablesCommand({}));
  client.destroy();
  const found = TableNames.filter((name) => name.startsWith(`${STACK}-PartnersTable`));
  const [only] = found;
  if (only === undefined || found.length > 1) {
    throw new Error(`${found.length} tables hold the partners' records: ${TableNames}`);
  }
  return only;
}

/** All calls and effects as the last transaction that touched them left them. */
async function readJournal(endpoint: string, table: string) {
  const client = new DynamoDBClient(clientConfig(endpoint));
  const calls = new Map<string, CallRecord | null>();
  const effects = new Map<string, EffectRow | null>();
  const pages = paginateQuery(
    { client },
    {
      TableName: table,
      KeyConditionExpression: 'pk = :journal',
      ExpressionAttributeValues: { ':journal': { S: JOURNAL } },
      ConsistentRead: true,
    },
  );
  for await (const { Items = [] } of pages) {
    for (const item of Items) {
      const changes = JSON.parse(item.changes?.S ?? '') as Changes;
      for (const [key, row] of changes.calls ?? []) calls.set(key, row);
      for (const [key, row] of changes.effects ?? []) effects.set(key, row);
    }
  }
  client.destroy();
  return {
    calls: [...calls.values()].filter((row) => row !== null),
    effects: [...effects.values()].filter((row) => row !== null),
  };
}

async function verifySender(endpoint: string): Promise<void> {
  const client = signerFor(endpoint, 'ses');
  const { status } = await client.fetch(`${endpoint}/v2/email/identities`, {
    method: 'POST',
    body: JSON.stringify({ EmailIdentity: 'shop.example' }),
  });
  expect(status).toBe(200);
}

function signerFor(endpoint: string, service: string): AwsClient {
  const { credentials, region } = clientConfig(endpoint);
  return new AwsClient({ ...credentials, region, service, retries: 0 });
}

interface SesMessage {
  readonly Source: string;
  readonly To: readonly string[];
  readonly Subject: string;
}

/** What the stand-in's SES took for somebody. */
async function messagesTo(endpoint: string, to: string): Promise<SesMessage[]> {
  const answer = await (await fetch(`${endpoint}/_ministack/ses/messages`)).json();
  const { messages } = answer as { readonly messages: Record<string, readonly SesMessage[]> };
  const all = Object.values(messages).flat();
  return all.filter((message) => message.To.includes(to));
}
