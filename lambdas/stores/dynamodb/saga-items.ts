import {
  type AttributeValue,
  BatchGetItemCommand,
  type BatchGetItemCommandOutput,
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  type KeysAndAttributes,
  PutItemCommand,
} from '@aws-sdk/client-dynamodb';
import { type LedgerId, StoreUnavailable } from '../../ports/ledger-store.ts';
import type { Tampering } from '../../ports/saga-index.ts';
import type { NotedSaga } from '../../ports/saga-projection.ts';
import type { SagaRow } from '../../projection/row.ts';
import { ledgerKey } from '../checks.ts';
import { answered } from './errors.ts';

/** A saga as it stands in the table. */
export interface StoredSaga {
  readonly noted: NotedSaga;
  /** Counts the writes of this item: a write is made only over what its writer has read. */
  readonly revision: number;
}

/** What one BatchGetItem takes. */
const BATCH = 100;
/** A table that answers only part of a batch so often in a row asks for less load. */
const MAX_ROUNDS = 5;

const NOTHING_STANDS = 'attribute_not_exists(pk)';
const UNCHANGED_SINCE_READ = 'revision = :read';

const doing = 'reading the projection of a saga';

export interface SagaItems {
  /** Strongly consistent. */
  get(id: LedgerId): Promise<StoredSaga | undefined>;
  /** At half the price, and it may be a moment old. */
  glance(id: LedgerId): Promise<StoredSaga | undefined>;
  /** Those of the tenant that are there, by id; at most 100 ids. */
  getMany(tenant: string, sagaIds: readonly string[]): Promise<ReadonlyMap<string, NotedSaga>>;
  /** False where somebody wrote since `over` was read. */
  put(id: LedgerId, over: StoredSaga | undefined, next: NotedSaga): Promise<boolean>;
}

export function sagaItems(client: DynamoDBClient, TableName: string): SagaItems {
  const read = async (id: LedgerId, ConsistentRead: boolean): Promise<StoredSaga | undefined> => {
    const Key = itemKey(id);
    const { Item } = await answered(doing, () =>
      client.send(new GetItemCommand({ TableName, Key, ConsistentRead })),
    );
    return Item === undefined ? undefined : decoded(Item);
  };
  return {
    get: (id) => read(id, true),
    glance: (id) => read(id, false),

    async getMany(tenant, sagaIds) {
      const found = new Map<string, NotedSaga>();
      let Keys: Record<string, AttributeValue>[] | undefined = sagaIds
        .slice(0, BATCH)
        .map((sagaId) => itemKey({ tenant, sagaId }));
      for (let round = 0; Keys !== undefined && Keys.length > 0; round += 1) {
        if (round === MAX_ROUNDS) {
          throw new StoreUnavailable(`${doing}: DynamoDB answers in parts; back off, try again`, {
            throttled: true,
          });
        }
        const asked: KeysAndAttributes = { Keys, ConsistentRead: true };
        const answer: BatchGetItemCommandOutput = await answered(doing, () =>
          client.send(new BatchGetItemCommand({ RequestItems: { [TableName]: asked } })),
        );
        for (const item of answer.Responses?.[TableName] ?? []) {
          const { noted } = decoded(item);
          if (noted.row !== undefined) found.set(noted.row.sagaId, noted);
        }
        Keys = answer.UnprocessedKeys?.[TableName]?.Keys;
      }
      return found;
    },

    async put(id, over, next) {
      const Item = { ...itemKey(id), ...encoded(next, (over?.revision ?? 0) + 1) };
      return answered('noting a saga', async () => {
        try {
          await client.send(
            new PutItemCommand({
              TableName,
              Item,
              ...(over === undefined
                ? { ConditionExpression: NOTHING_STANDS }
                : {
                    ConditionExpression: UNCHANGED_SINCE_READ,
                    ExpressionAttributeValues: { ':read': { N: String(over.revision) } },
                  }),
            }),
          );
          return true;
        } catch (error) {
          if (error instanceof ConditionalCheckFailedException) return false;
          throw error;
        }
      });
    },
  };
}

function itemKey(id: LedgerId) {
  return { pk: { S: `saga#${ledgerKey(id)}` }, sk: { S: 'head' } };
}

function encoded({ head, row, published, tampered }: NotedSaga, revision: number) {
  return {
    revision: { N: String(revision) },
    seq: { N: String(head.seq) },
    published: { N: String(published) },
    ...(head.hash === undefined ? {} : { hash: { S: head.hash } }),
    ...(row === undefined ? {} : { row: { S: JSON.stringify(row) } }),
    ...(tampered.length === 0 ? {} : { tampered: { S: JSON.stringify(tampered) } }),
  };
}

function decoded(item: Record<string, AttributeValue>): StoredSaga {
  const hash = item.hash?.S;
  const row = item.row?.S;
  const tampered = item.tampered?.S;
  return {
    revision: Number(item.revision?.N),
    noted: {
      head: { seq: Number(item.seq?.N), ...(hash === undefined ? {} : { hash }) },
      published: Number(item.published?.N ?? 0),
      ...(row === undefined ? {} : { row: JSON.parse(row) as SagaRow }),
      tampered: tampered === undefined ? [] : (JSON.parse(tampered) as Tampering[]),
    },
  };
}
