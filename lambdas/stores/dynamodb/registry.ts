import { DeleteItemCommand, type DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { sha256Hex } from '../../../statemachines/ledger/hash.ts';
import type { Registry } from '../../ports/registry.ts';
import { ledgerKey } from '../checks.ts';
import { cursorAfter, dueRange, entryAt, positionOf } from '../due-order.ts';
import { answered } from './errors.ts';
import { sortedItems } from './sorted-partitions.ts';
import { checkedTableName } from './tables.ts';

/**
 * One partition takes 1,000 writes a second. The number is part of the stored format: an entry is
 * removed from the shard its saga hashes to, so entries of another number would never leave.
 */
export const REGISTRY_SHARDS = 8;

/** Entries asked of a shard beyond its share of the limit, so that most calls need one page. */
const SPARE = 8;

export function dynamoRegistry(client: DynamoDBClient, tableName: string): Registry {
  const TableName = checkedTableName(tableName);

  return {
    async add(entry) {
      const Item = itemKey(shardOf(ledgerKey(entry)), positionOf(entry));
      await answered('adding to the registry', () =>
        client.send(new PutItemCommand({ TableName, Item })),
      );
    },

    async remove(entry) {
      const Key = itemKey(shardOf(ledgerKey(entry)), positionOf(entry));
      await answered('removing from the registry', () =>
        client.send(new DeleteItemCommand({ TableName, Key })),
      );
    },

    /** The shards are merged by due time, so the oldest come first over all of them. */
    async due(untilMs, limit, cursor) {
      const range = dueRange(untilMs, limit, cursor);
      if (range.from >= range.to) return { entries: [] };
      const found = sortedItems({
        client,
        table: TableName,
        partitions: Array.from({ length: REGISTRY_SHARDS }, (_, shard) => partition(shard)),
        from: range.from,
        // Positions behind the range's last moment begin with later digits, so `to` itself,
        // which is no position, may be included.
        to: range.to,
        pageSize: Math.ceil(limit / REGISTRY_SHARDS) + SPARE,
        doing: 'reading the registry',
      });
      const page: string[] = [];
      for await (const { sk } of found) {
        const last = page.at(-1);
        if (page.length === limit && last !== undefined) {
          return { entries: page.map(entryAt), cursor: cursorAfter(last) };
        }
        if (sk?.S !== undefined) page.push(sk.S);
      }
      return { entries: page.map(entryAt) };
    },
  };
}

function shardOf(ledger: string): number {
  return Number.parseInt(sha256Hex(ledger).slice(0, 8), 16) % REGISTRY_SHARDS;
}

function partition(shard: number): string {
  return `registry#${shard}`;
}

function itemKey(shard: number, position: string) {
  return { pk: { S: partition(shard) }, sk: { S: position } };
}
