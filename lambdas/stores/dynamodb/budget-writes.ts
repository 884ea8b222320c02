import {
  ConditionalCheckFailedException,
  type Delete,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  type Put,
  PutItemCommand,
  TransactionCanceledException,
  TransactWriteItemsCommand,
  type Update,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';

/** The saga's own item, made or removed, and the sum of its tenant. */
export interface TwoItems {
  readonly saga: { readonly Put: Put } | { readonly Delete: Delete };
  readonly sum: Update;
}

/** Which condition did not hold; `busy`: another write was at the same items. Nothing: both changed. */
export type FailedWrite = 'saga' | 'sum' | 'busy' | undefined;

export function transaction(client: DynamoDBClient): (items: TwoItems) => Promise<FailedWrite> {
  return async ({ saga, sum }) => {
    try {
      await client.send(new TransactWriteItemsCommand({ TransactItems: [saga, { Update: sum }] }));
      return undefined;
    } catch (error) {
      if (!(error instanceof TransactionCanceledException)) throw error;
      const [ofSaga, ofSum] = (error.CancellationReasons ?? []).map(({ Code }) => Code);
      // The saga's first: once it is charged, how full the budget is means nothing to it.
      if (ofSaga === CONDITION) return 'saga';
      if (ofSum === CONDITION) return 'sum';
      if (ofSaga === CONFLICT || ofSum === CONFLICT) return 'busy';
      throw error;
    }
  };
}

const CONDITION = 'ConditionalCheckFailed';
const CONFLICT = 'TransactionConflict';

/**
 * For servers without transactions: the same conditions, one item after the other. Until the sum has changed
 * too, the saga's item is marked as half done: another call must not take it for a saga that was charged.
 */
export function oneByOne(client: DynamoDBClient): (items: TwoItems) => Promise<FailedWrite> {
  const holds = async (write: () => Promise<unknown>): Promise<boolean> => {
    try {
      await write();
      return true;
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return false;
      throw error;
    }
  };
  const add = async (put: Put, sum: Update): Promise<FailedWrite> => {
    const { TableName, Item } = put;
    const { pk, sk } = Item ?? {};
    if (pk === undefined || sk === undefined) throw new TypeError('an item without its key');
    const own = { TableName, Key: { pk, sk } };
    const marked = { ...put, Item: { ...Item, [HALF_DONE]: { BOOL: true } } };
    if (!(await holds(() => client.send(new PutItemCommand(marked))))) {
      const there = await client.send(new GetItemCommand({ ...own, ConsistentRead: true }));
      // Gone again, or not yet whole: whoever is at it will soon have come to an end.
      return there.Item === undefined || HALF_DONE in there.Item ? 'busy' : 'saga';
    }
    if (!(await holds(() => client.send(new UpdateItemCommand(sum))))) {
      await client.send(new DeleteItemCommand(own));
      return 'sum';
    }
    const whole = { ...own, UpdateExpression: `REMOVE ${HALF_DONE}` };
    await client.send(new UpdateItemCommand(whole));
    return undefined;
  };
  return async ({ saga, sum }) => {
    if ('Put' in saga) return add(saga.Put, sum);
    if (!(await holds(() => client.send(new DeleteItemCommand(saga.Delete))))) return 'saga';
    return (await holds(() => client.send(new UpdateItemCommand(sum)))) ? undefined : 'sum';
  };
}

const HALF_DONE = 'halfDone';
