import {
  ConditionalCheckFailedException,
  type Delete,
  DeleteItemCommand,
  type DynamoDBClient,
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
 * For servers without transactions: the same conditions, one item after the other. Within one store each pair
 * waits for the one before, so that none takes a charge that is half done for one that stands; two processes
 * on such a server may.
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
  const both = async ({ saga, sum }: TwoItems): Promise<FailedWrite> => {
    const own = await holds(() =>
      'Put' in saga
        ? client.send(new PutItemCommand(saga.Put))
        : client.send(new DeleteItemCommand(saga.Delete)),
    );
    if (!own) return 'saga';
    if (await holds(() => client.send(new UpdateItemCommand(sum)))) return undefined;
    if ('Put' in saga) {
      const { pk, sk } = saga.Put.Item ?? {};
      if (pk === undefined || sk === undefined) throw new TypeError('an item without its key');
      const { TableName } = saga.Put;
      await client.send(new DeleteItemCommand({ TableName, Key: { pk, sk } }));
    }
    return 'sum';
  };
  let before: Promise<unknown> = Promise.resolve();
  return (items) => {
    const written = before.then(() => both(items));
    before = written.catch(() => undefined);
    return written;
  };
}
