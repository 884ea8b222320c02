import {
  type AttributeValue,
  DeleteItemCommand,
  type DynamoDBClient,
  PutItemCommand,
  QueryCommand,
} from '@aws-sdk/client-dynamodb';
import { sha256Hex } from '../../../statemachines/ledger/hash.ts';
import type { Registry } from '../../ports/registry.ts';
import { ledgerKey } from '../checks.ts';
import { cursorAfter, type DueRange, dueRange, entryAt, positionOf } from '../due-order.ts';
import { answered } from './errors.ts';
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
      const shards = Array.from({ length: REGISTRY_SHARDS }, (_, shard) =>
        openShard(client, TableName, shard, range),
      );
      const page: string[] = [];
      for (;;) {
        await Promise.all(shards.map((shard) => shard.fill()));
        const oldest = shards.reduce((a, b) => (before(b.first(), a.first()) ? b : a));
        const position = oldest.first();
        const last = page.at(-1);
        if (position === undefined) return { entries: page.map(entryAt) };
        if (page.length === limit && last !== undefined) {
          return { entries: page.map(entryAt), cursor: cursorAfter(last) };
        }
        page.push(position);
        oldest.shift();
      }
    },
  };
}

interface Shard {
  /** Reads the next page where the last one is used up. */
  fill(): Promise<void>;
  first(): string | undefined;
  shift(): void;
}

function openShard(
  client: DynamoDBClient,
  TableName: string,
  shard: number,
  range: DueRange,
): Shard {
  let page: string[] = [];
  let at = 0;
  let next: Record<string, AttributeValue> | undefined;
  let ended = false;

  const read = async (): Promise<void> => {
    const answer = await answered('reading the registry', () =>
      client.send(
        new QueryCommand({
          TableName,
          ConsistentRead: true,
          // Positions behind the range's last moment begin with later digits, so `to` itself,
          // which is no position, may be included.
          KeyConditionExpression: 'pk = :shard AND sk BETWEEN :from AND :to',
          ExpressionAttributeValues: {
            ':shard': { S: partition(shard) },
            ':from': { S: range.from },
            ':to': { S: range.to },
          },
          ProjectionExpression: 'sk',
          Limit: Math.ceil(range.limit / REGISTRY_SHARDS) + SPARE,
          ...(next === undefined ? {} : { ExclusiveStartKey: next }),
        }),
      ),
    );
    page = (answer.Items ?? []).flatMap((item) => (item.sk?.S === undefined ? [] : [item.sk.S]));
    at = 0;
    next = answer.LastEvaluatedKey;
    ended = next === undefined;
  };

  return {
    async fill() {
      while (at >= page.length && !ended) await read();
    },
    first: () => page[at],
    shift() {
      at += 1;
    },
  };
}

/** By bytes, as DynamoDB orders; `undefined` comes last. */
function before(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return a !== undefined;
  return Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0;
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
