import { type AttributeValue, type DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb';
import { OPEN_STATES, type OpenState } from '../../../statemachines/metrics.ts';
import type { Census, SagaCensus, StateCensus } from '../../ports/saga-census.ts';
import { answered } from './errors.ts';
import { type SagaEntries, sagaEntries } from './saga-entries.ts';
import { type SagaItems, sagaItems } from './saga-items.ts';
import {
  type EntryKey,
  LIST_SHARDS,
  openEntryAt,
  openEntryOf,
  openPartition,
} from './saga-lists.ts';
import { sortedItems } from './sorted-partitions.ts';
import { checkedTableName } from './tables.ts';

export interface DynamoSagaCensusOptions {
  readonly client: DynamoDBClient;
  /** The coordination table. */
  readonly table: string;
}

/** Pages of 1 MB counted in one shard: some 8,000 sagas each. */
const MAX_PAGES = 4;
/** Entries behind which a saga is looked for, until one is found that is still in the state. */
const MAX_LOOKS = 50;
const SIDE_BY_SIDE = 16;

const doing = 'counting sagas';

interface Parts {
  readonly client: DynamoDBClient;
  readonly table: string;
  readonly items: SagaItems;
  readonly entries: SagaEntries;
}

/**
 * Reads the lists of open sagas that `saga-index.ts` keeps over all tenants. What stands in a list is
 * counted as it stands; what an alarm would name, the oldest and the overdue, is looked up first. An
 * entry that a broken-off write left behind is taken out on the way.
 */
export function dynamoSagaCensus(options: DynamoSagaCensusOptions): SagaCensus {
  const { client } = options;
  const table = checkedTableName(options.table);
  const parts = {
    client,
    table,
    items: sagaItems(client, table),
    entries: sagaEntries(client, table),
  };
  return {
    async take(now) {
      const taken = await Promise.all(
        OPEN_STATES.map(async (state): Promise<[OpenState, StateCensus, number]> => {
          const { sagas, overdue } = await counted(parts, state, now);
          const oldestSince = sagas === 0 ? undefined : await oldest(parts, state);
          const late = await confirmed(parts, overdue);
          return [state, { sagas, ...(oldestSince === undefined ? {} : { oldestSince }) }, late];
        }),
      );
      return {
        states: Object.fromEntries(
          taken.map(([state, census]) => [state, census]),
        ) as Census['states'],
        reviewsOverdue: taken.reduce((sum, [, , late]) => sum + late, 0),
      };
    },
  };
}

interface Entry extends EntryKey {
  /** Number of the event that put it there. */
  readonly seq: number;
}

async function counted(
  parts: Parts,
  state: OpenState,
  now: number,
): Promise<{ readonly sagas: number; readonly overdue: readonly Entry[] }> {
  const shards = await Promise.all(
    Array.from({ length: LIST_SHARDS }, (_, shard) =>
      countedIn(parts, openPartition(state, shard), now),
    ),
  );
  return {
    sagas: shards.reduce((sum, { sagas }) => sum + sagas, 0),
    overdue: shards.flatMap(({ overdue }) => overdue),
  };
}

/** One reading tells both: the filter keeps what is overdue, and the table says how much it saw. */
async function countedIn({ client, table }: Parts, pk: string, now: number) {
  const overdue: Entry[] = [];
  let sagas = 0;
  let next: Record<string, AttributeValue> | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const answer = await answered(doing, () =>
      client.send(
        new QueryCommand({
          TableName: table,
          KeyConditionExpression: 'pk = :pk',
          FilterExpression: 'deadlineAt <= :now',
          ExpressionAttributeValues: { ':pk': { S: pk }, ':now': { N: String(Math.floor(now)) } },
          ProjectionExpression: 'pk, sk, #seq',
          ExpressionAttributeNames: { '#seq': 'seq' },
          ...(next === undefined ? {} : { ExclusiveStartKey: next }),
        }),
      ),
    );
    sagas += answer.ScannedCount ?? 0;
    overdue.push(...(answer.Items ?? []).map((item) => entryIn(pk, item)));
    next = answer.LastEvaluatedKey;
    if (next === undefined) break;
  }
  return { sagas, overdue };
}

async function oldest(parts: Parts, state: OpenState): Promise<number | undefined> {
  const { client, table } = parts;
  const partitions = Array.from({ length: LIST_SHARDS }, (_, shard) => openPartition(state, shard));
  const range = { client, table, partitions, from: '0', to: ':', attributes: ['pk', 'seq'] };
  let looks = 0;
  for await (const item of sortedItems({ ...range, pageSize: 2, doing })) {
    const entry = entryIn(item.pk?.S ?? '', item);
    if (await isTrue(parts, entry)) return openEntryAt(entry.sk).since;
    looks += 1;
    if (looks === MAX_LOOKS) return undefined;
  }
  return undefined;
}

/** How many of them there are. Beyond a bound they are believed. */
async function confirmed(parts: Parts, entries: readonly Entry[]): Promise<number> {
  let count = Math.max(0, entries.length - MAX_LOOKS);
  for (let at = 0; at < Math.min(entries.length, MAX_LOOKS); at += SIDE_BY_SIDE) {
    const group = entries.slice(at, Math.min(at + SIDE_BY_SIDE, MAX_LOOKS));
    const found = await Promise.all(group.map((entry) => isTrue(parts, entry)));
    count += found.filter(Boolean).length;
  }
  return count;
}

/** Whether the saga is where the entry says. An entry that its saga has left is taken out. */
async function isTrue({ items, entries }: Parts, entry: Entry): Promise<boolean> {
  const stored = await items.get(openEntryAt(entry.sk));
  const row = stored?.noted.row;
  // Put in just now: the saga's own item follows.
  if (row === undefined || row.seq < entry.seq) return false;
  const standing = openEntryOf(row);
  if (standing?.pk === entry.pk && standing.sk === entry.sk) return true;
  await entries.remove(entry, entry.seq + 1);
  return false;
}

function entryIn(pk: string, item: Readonly<Record<string, AttributeValue>>): Entry {
  return { pk, sk: item.sk?.S ?? '', seq: Number(item.seq?.N) };
}
