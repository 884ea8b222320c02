import { DeleteItemCommand, type DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb';
import {
  type BreakerLedger,
  type BreakerRecord,
  KEPT_BREAKER_RECORDS,
} from '../../ports/breaker-ledger.ts';
import { StoreUnavailable } from '../../ports/ledger-store.ts';
import { checkedBreakerRecord, checkedTool, MAX_SEQ } from '../checks.ts';
import { answered } from './errors.ts';
import { putIfAbsent, standingItem } from './numbered-items.ts';
import type { Item } from './sorted-partitions.ts';
import { checkedTableName } from './tables.ts';

/** Sort keys are text in this table: as many digits as the largest `seq` has. */
const DIGITS = String(MAX_SEQ).length;

/** In the coordination table, a partition `breaker#<tool>` for each tool. */
export function dynamoBreakers(client: DynamoDBClient, tableName: string): BreakerLedger {
  const TableName = checkedTableName(tableName);

  const insert = (tool: string, record: BreakerRecord): Promise<boolean> =>
    putIfAbsent(client, TableName, {
      ...itemKey(tool, record.seq),
      body: { S: record.body },
      nonce: { S: record.nonce },
    });

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
      const of = { seq: fresh.seq, what: 'breaker' };
      const standing = await standingItem(client, TableName, itemKey(name, fresh.seq), of);
      return { kind: 'conflict', standing: decoded(standing) };
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
