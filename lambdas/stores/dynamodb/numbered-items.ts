import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
} from '@aws-sdk/client-dynamodb';
import { StoreUnavailable } from '../../ports/ledger-store.ts';
import { answered } from './errors.ts';
import type { Item } from './sorted-partitions.ts';

/** What ledgers of every kind share: one item for each number, which only the first writer gets. */

/** Holds where no record has that `seq` in that ledger. */
const NO_RECORD_STANDS = 'attribute_not_exists(pk)';

/** Answers false where a record stands at that place. */
export async function putIfAbsent(
  client: DynamoDBClient,
  TableName: string,
  item: Item,
): Promise<boolean> {
  const Item = { ...item };
  try {
    await client.send(
      new PutItemCommand({ TableName, Item, ConditionExpression: NO_RECORD_STANDS }),
    );
    return true;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return false;
    throw error;
  }
}

/**
 * The record that an append was refused for.
 * @param of names the place and what to read again, for the error
 * @throws StoreUnavailable where none stands there
 */
export async function standingItem(
  client: DynamoDBClient,
  TableName: string,
  Key: Item,
  of: { readonly seq: number; readonly what: string },
): Promise<Item> {
  const { Item } = await answered('reading the record that stands', () =>
    client.send(new GetItemCommand({ TableName, Key: { ...Key }, ConsistentRead: true })),
  );
  if (Item !== undefined) return Item;
  throw new StoreUnavailable(
    `the append at seq ${of.seq} was refused, yet no record stands there: read the ${of.what} again`,
  );
}
