import {
  ConditionalCheckFailedException,
  DeleteItemCommand,
  type DynamoDBClient,
  PutItemCommand,
} from '@aws-sdk/client-dynamodb';
import type { SagaRow } from '../../projection/row.ts';
import { answered } from './errors.ts';
import type { EntryKey } from './saga-lists.ts';

/** Holds where no writer that knew a later event has put the entry. */
const NOT_NEWER = 'attribute_not_exists(pk) OR #seq < :seq';
const OLDER = '#seq < :seq';

export interface SagaEntries {
  /** Adds the saga to a list, unless a newer write did. */
  put(row: SagaRow, entry: EntryKey): Promise<void>;
  /** Takes an entry out of its list if it was put there before event `below`. */
  remove(entry: EntryKey, below: number): Promise<void>;
}

/**
 * Entries carry the number of the event that put them there. A late writer therefore neither
 * replaces nor removes what a newer one has put.
 */
export function sagaEntries(client: DynamoDBClient, TableName: string): SagaEntries {
  const names = { '#seq': 'seq' };
  return {
    put(row, { pk, sk }) {
      return unlessRefused('adding a saga to a list', () =>
        client.send(
          new PutItemCommand({
            TableName,
            Item: {
              pk: { S: pk },
              sk: { S: sk },
              seq: { N: String(row.seq) },
              name: { S: row.name },
              ...(row.reviewDeadlineAt === undefined
                ? {}
                : { deadlineAt: { N: String(row.reviewDeadlineAt) } }),
            },
            ConditionExpression: NOT_NEWER,
            ExpressionAttributeNames: names,
            ExpressionAttributeValues: { ':seq': { N: String(row.seq) } },
          }),
        ),
      );
    },

    remove({ pk, sk }, below) {
      return unlessRefused('taking a saga out of a list', () =>
        client.send(
          new DeleteItemCommand({
            TableName,
            Key: { pk: { S: pk }, sk: { S: sk } },
            ConditionExpression: OLDER,
            ExpressionAttributeNames: names,
            ExpressionAttributeValues: { ':seq': { N: String(below) } },
          }),
        ),
      );
    },
  };
}

async function unlessRefused(doing: string, send: () => Promise<unknown>): Promise<void> {
  await answered(doing, async () => {
    try {
      await send();
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
    }
  });
}
