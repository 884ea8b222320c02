import {
  type AttributeValue,
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
} from '@aws-sdk/client-dynamodb';
import type { Entropy } from '../../ports/entropy.ts';
import type { PayloadStore } from '../../ports/payload-store.ts';
import { checkedDigest, ledgerKey } from '../checks.ts';
import { openPayload, sealPayload } from '../payload-seal.ts';
import { answered } from './errors.ts';
import { checkedTableName } from './tables.ts';

/** Holds where neither a payload nor the mark of an erased one stands. */
const NO_PAYLOAD_STANDS = 'attribute_not_exists(pk)';

/** Marks written at once while erasing. */
const ERASE_WIDTH = 16;

export function dynamoPayloads(
  client: DynamoDBClient,
  tableName: string,
  entropy: Entropy,
): PayloadStore {
  const TableName = checkedTableName(tableName);

  /** Digests of payloads that are not erased, one page of the saga's items at a time. */
  async function* keptDigests(ledger: string): AsyncGenerator<string[]> {
    let next: Record<string, AttributeValue> | undefined;
    do {
      const page = await answered('listing payloads', () =>
        client.send(
          new QueryCommand({
            TableName,
            ConsistentRead: true,
            KeyConditionExpression: 'pk = :ledger',
            ProjectionExpression: 'sk, #erased',
            ExpressionAttributeNames: { '#erased': 'erased' },
            ExpressionAttributeValues: { ':ledger': { S: ledger } },
            ...(next === undefined ? {} : { ExclusiveStartKey: next }),
          }),
        ),
      );
      const kept = (page.Items ?? []).filter((item) => item.erased === undefined);
      yield kept.flatMap((item) => (item.sk?.S === undefined ? [] : [item.sk.S]));
      next = page.LastEvaluatedKey;
    } while (next !== undefined);
  }

  const markErased = async (ledger: string, digest: string): Promise<void> => {
    const Item = { ...itemKey(ledger, digest), erased: { BOOL: true } };
    await answered('erasing a payload', () => client.send(new PutItemCommand({ TableName, Item })));
  };

  return {
    async put(ledger, text) {
      const key = ledgerKey(ledger);
      const { digest, bytes, salt } = sealPayload(text, entropy);
      const Item = { ...itemKey(key, digest), text: { S: text }, salt: { S: salt } };
      await answered('keeping a payload', async () => {
        try {
          await client.send(
            new PutItemCommand({ TableName, Item, ConditionExpression: NO_PAYLOAD_STANDS }),
          );
        } catch (error) {
          // The digest is salted: what stands there is this write, met by its own retry. It may
          // have been erased in between, and stays erased.
          if (!(error instanceof ConditionalCheckFailedException)) throw error;
        }
      });
      return { digest, bytes };
    },

    async get(ledger, digest) {
      const Key = itemKey(ledgerKey(ledger), checkedDigest(digest));
      const { Item } = await answered('reading a payload', () =>
        client.send(new GetItemCommand({ TableName, Key, ConsistentRead: true })),
      );
      if (Item === undefined) return { kind: 'missing' };
      if (Item.erased !== undefined) return { kind: 'erased' };
      return openPayload(digest, { salt: Item.salt?.S, text: Item.text?.S });
    },

    async erase(ledger) {
      const key = ledgerKey(ledger);
      let erased = 0;
      for await (const digests of keptDigests(key)) {
        for (let at = 0; at < digests.length; at += ERASE_WIDTH) {
          const marks = digests.slice(at, at + ERASE_WIDTH);
          await Promise.all(marks.map((digest) => markErased(key, digest)));
        }
        erased += digests.length;
      }
      return erased;
    },
  };
}

function itemKey(ledger: string, digest: string) {
  return { pk: { S: ledger }, sk: { S: digest } };
}
