import {
  type AttributeValue,
  DuplicateItemException,
  type DynamoDBClient,
  ExecuteStatementCommand,
  QueryCommand,
  type QueryCommandInput,
} from '@aws-sdk/client-dynamodb';
import type { LedgerRecord, LedgerStore } from '../../ports/ledger-store.ts';
import { checkedRecord, checkedSeq, ledgerKey } from '../checks.ts';
import { answered } from './errors.ts';
import { putIfAbsent, standingItem } from './numbered-items.ts';
import type { Item } from './sorted-partitions.ts';
import { checkedTableName } from './tables.ts';

/**
 * How an append is written:
 * - `partiql`: an INSERT, which cannot overwrite. A role that may do only this cannot change
 *   history, whatever code runs under it. The one for AWS.
 * - `conditional-put`: for test servers without PartiQL. Safe only as far as our code is.
 */
export type AppendMode = 'partiql' | 'conditional-put';

export function dynamoLedger(
  client: DynamoDBClient,
  tableName: string,
  mode: AppendMode,
): LedgerStore {
  const TableName = checkedTableName(tableName);
  const insert = mode === 'partiql' ? partiqlInsert(client, TableName) : put(client, TableName);

  const query = async (input: Partial<QueryCommandInput>): Promise<LedgerRecord[]> => {
    const records: LedgerRecord[] = [];
    let next: Record<string, AttributeValue> | undefined;
    do {
      const page = await answered('reading a ledger', () =>
        client.send(
          new QueryCommand({
            TableName,
            ConsistentRead: true,
            ...input,
            ...(next === undefined ? {} : { ExclusiveStartKey: next }),
          }),
        ),
      );
      for (const item of page.Items ?? []) records.push(decoded(item));
      next = input.Limit === undefined ? page.LastEvaluatedKey : undefined;
    } while (next !== undefined);
    return records;
  };

  return {
    async append(ledger, record) {
      const key = ledgerKey(ledger);
      const fresh = checkedRecord(record);
      const inserted = await answered('appending to a ledger', () => insert(key, fresh));
      if (inserted) return { kind: 'appended' };
      const of = { seq: fresh.seq, what: 'ledger' };
      const standing = await standingItem(client, TableName, itemKey(key, fresh.seq), of);
      return { kind: 'conflict', standing: decoded(standing) };
    },

    async read(ledger, afterSeq = 0) {
      return query({
        KeyConditionExpression: 'pk = :ledger AND sk >= :from',
        ExpressionAttributeValues: {
          ':ledger': { S: ledgerKey(ledger) },
          ':from': { N: String(checkedSeq('afterSeq', afterSeq, 0) + 1) },
        },
      });
    },

    async head(ledger) {
      const last = await query({
        KeyConditionExpression: 'pk = :ledger',
        ExpressionAttributeValues: { ':ledger': { S: ledgerKey(ledger) } },
        ScanIndexForward: false,
        Limit: 1,
      });
      return last[0];
    },
  };
}

/** Answers false where a record stands at that place. */
type Insert = (ledger: string, record: LedgerRecord) => Promise<boolean>;

function partiqlInsert(client: DynamoDBClient, table: string): Insert {
  const Statement = `INSERT INTO "${table}" VALUE {'pk': ?, 'sk': ?, 'body': ?, 'prev': ?, 'hash': ?, 'nonce': ?}`;
  return async (ledger, record) => {
    const { pk, sk, body, prev, hash, nonce } = encoded(ledger, record);
    try {
      await client.send(
        new ExecuteStatementCommand({ Statement, Parameters: [pk, sk, body, prev, hash, nonce] }),
      );
      return true;
    } catch (error) {
      if (error instanceof DuplicateItemException) return false;
      throw error;
    }
  };
}

function put(client: DynamoDBClient, table: string): Insert {
  return (ledger, record) => putIfAbsent(client, table, encoded(ledger, record));
}

function itemKey(ledger: string, seq: number) {
  return { pk: { S: ledger }, sk: { N: String(seq) } };
}

function encoded(ledger: string, record: LedgerRecord) {
  return {
    ...itemKey(ledger, record.seq),
    body: { S: record.body },
    prev: { S: record.prev },
    hash: { S: record.hash },
    nonce: { S: record.nonce },
  };
}

/** An attribute somebody removed reads as empty text: the chain then tells where it breaks. */
function decoded(item: Item): LedgerRecord {
  return {
    seq: Number(item.sk?.N),
    body: item.body?.S ?? '',
    prev: item.prev?.S ?? '',
    hash: item.hash?.S ?? '',
    nonce: item.nonce?.S ?? '',
  };
}
