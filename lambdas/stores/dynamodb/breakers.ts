import {
  ConditionalCheckFailedException,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
} from '@aws-sdk/client-dynamodb';
import {
  type BreakerLedger,
  type BreakerRecord,
  KEPT_BREAKER_RECORDS,
} from '../../ports/breaker-ledger.ts';
import { StoreUnavailable } from '../../ports/ledger-store.ts';
import { checkedBreakerRecord, checkedTool, MAX_SEQ } from '../checks.ts';
import { answered } from './errors.ts';
import type { Item } from './sorted-partitions.ts';
import { checkedTableName } from './tables.ts';

/** Holds where no record has that `seq` in that breaker's ledger. */
const NO_RECORD_STANDS = 'attribute_not_exists(pk)';

/** Sort keys are text in this table: as many digits as the largest `seq` has. */
const DIGITS = String(MAX_SEQ).length;

/** In the coordination table, a partition `breaker#<tool>` for each tool. */
export function dynamoBreakers(client: DynamoDBClient, tableName: string): BreakerLedger {
  const TableName = checkedTableName(tableName);

  const insert = async (tool: string, record: BreakerRecord): Promise<boolean> => {
    const Item = {
      ...itemKey(tool, record.seq),
      body: { S: record.body },
      nonce: { S: record.nonce },
    };
    try {
      await client.send(
        new PutItemCommand({ TableName, Item, ConditionExpression: NO_RECORD_STANDS }),
      );
      return true;
    } catch (error) {
      if (error instanceof ConditionalCheckFailedException) return false;
      throw error;
    }
  };

  const forget = async (tool: string, seq: number): Promise<void> => {
    const Key = itemKey(tool, seq);
    try {
      await answered('removing an old record of a breaker', () =>
        client.send(new DeleteItemCommand({ TableName, Key })),
      );
    } catch (error) {
      // A record too many harms nobody, and the append stands.
      if (!(error instanceof StoreUnavailable)) throw error;
    }
  };

  return {
    async append(tool, record) {
      const name = checkedTool(tool);
      const fresh = checkedBreakerRecord(record);
      const inserted = await answered('appending to a breaker', () => insert(name, fresh));
      if (inserted) {
        const old = fresh.seq - KEPT_BREAKER_RECORDS;
        if (old > 0) await forget(name, old);
        return { kind: 'appended' };
      }
      const { Item } = await answered('reading the record that stands', () =>
        client.send(
          new GetItemCommand({ TableName, Key: itemKey(name, fresh.seq), ConsistentRead: true }),
        ),
      );
      if (Item === undefined) {
        throw new StoreUnavailable(
          `the append at seq ${fresh.seq} was refused, yet no record stands there: read the breaker again`,
        );
      }
      return { kind: 'conflict', standing: decoded(Item) };
    },

    async head(tool) {
      const name = checkedTool(tool);
      const { Items = [] } = await answered('reading a breaker', () =>
        client.send(
          new QueryCommand({
            TableName,
            ConsistentRead: true,
            KeyConditionExpression: 'pk = :breaker',
            ExpressionAttributeValues: { ':breaker': { S: partition(name) } },
            ScanIndexForward: false,
            Limit: 1,
          }),
        ),
      );
      return Items[0] === undefined ? undefined : decoded(Items[0]);
    },
  };
}

function partition(tool: string): string {
  return `breaker#${tool}`;
}

function itemKey(tool: string, seq: number) {
  return { pk: { S: partition(tool) }, sk: { S: String(seq).padStart(DIGITS, '0') } };
}

function decoded(item: Item): BreakerRecord {
  return {
    seq: Number(item.sk?.S),
    body: item.body?.S ?? '',
    nonce: item.nonce?.S ?? '',
  };
}
