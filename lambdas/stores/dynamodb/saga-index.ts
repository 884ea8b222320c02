import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { type LedgerId, StoreUnavailable } from '../../ports/ledger-store.ts';
import type { SagaIndex, SagaPage, SagaQuery, SagaSummary } from '../../ports/saga-index.ts';
import type { NotedSaga, SagaChange, SagaProjection } from '../../ports/saga-projection.ts';
import { decodeCursor, encodeCursor } from '../../projection/cursor.ts';
import { headOf, NOTHING_NOTED, noted, summaryWithMark } from '../../projection/noted.ts';
import { matches, type SagaRow } from '../../projection/row.ts';
import { type SagaEntries, sagaEntries } from './saga-entries.ts';
import { type SagaItems, type StoredSaga, sagaItems } from './saga-items.ts';
import {
  type EntryKey,
  entriesOf,
  LIST_SHARDS,
  listPartition,
  listsFor,
  openEntryOf,
  placeAt,
  positionOf,
  spanOf,
} from './saga-lists.ts';
import { type SagaNames, sagaNames } from './saga-names.ts';
import { sortedItems } from './sorted-partitions.ts';
import { checkedTableName } from './tables.ts';

export interface DynamoSagaIndexOptions {
  readonly client: DynamoDBClient;
  /** The coordination table. */
  readonly table: string;
}

/** Entries looked at for one page: a rare name among many sagas takes several pages. */
const EXAMINED_PER_PAGE = 1_000;
/** Items fetched at a time, and the least asked for: some entries lead to nothing. */
const MAX_FETCH = 100;
const SPARE = 8;
/** A change that meets other writers again and again is given up after so many tries. */
const MAX_TRIES = 40;

/**
 * The projection in the coordination table: one item for each saga (`saga#<tenant>/<id>`), which
 * is what is known of it, and entries in lists (`index#…`), which only say where to look.
 *
 * The lists are partitions of their own, sharded by saga, and no index of the table: an index that
 * is throttled holds up its table, and the registry lives there. A saga is put into a list before its item
 * says so and taken out afterwards, and a list is read through the items behind its entries. So a
 * write that breaks off half-way hides no saga, and what it leaves behind shows nothing.
 */
export function dynamoSagaIndex(options: DynamoSagaIndexOptions): SagaIndex & SagaProjection {
  const { client } = options;
  const table = checkedTableName(options.table);
  const items = sagaItems(client, table);
  const entries = sagaEntries(client, table);
  const names = sagaNames(client, table);
  return {
    noted: async (id) => {
      const stored = await items.glance(id);
      return stored === undefined ? undefined : { ...stored.noted, revision: stored.revision };
    },
    note: (id, change, over) => note({ items, entries, names }, id, change, over),
    head: async (tenant, sagaId) => {
      const stored = await items.get({ tenant, sagaId });
      return stored === undefined ? undefined : headOf(stored.noted);
    },
    list: (query) => list({ client, table, items, names }, query),
  };
}

interface Writing {
  readonly items: SagaItems;
  readonly entries: SagaEntries;
  readonly names: SagaNames;
}

async function note(
  { items, entries, names }: Writing,
  id: LedgerId,
  change: SagaChange,
  over: NotedSaga | undefined,
): Promise<void> {
  const repair = change.repair === true;
  // Put into a list by a try that lost against another writer.
  let astray: SagaRow | undefined;
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const stored = tries === 0 && over !== undefined ? storedAs(over) : await items.get(id);
    const before = stored?.noted ?? NOTHING_NOTED;
    const next = noted(before, change);
    const { row } = next;
    if (astray !== undefined && row !== undefined) {
      await remove(entries, entriesOnlyOf(astray, row), astray.seq + 1);
      astray = undefined;
    }
    if (!repair && isSame(before, next)) return;
    if (row !== undefined) {
      if (before.row === undefined || repair) await names.ensure(row.tenant, row.name, repair);
      const joined = entriesJoined(before.row, row, repair);
      await Promise.all(joined.map((entry) => entries.put(row, entry)));
    }
    if (!(await items.put(id, stored, next))) {
      astray = row;
      continue;
    }
    if (row !== undefined && before.row !== undefined) {
      await remove(entries, entriesOnlyOf(before.row, row), row.seq);
    }
    return;
  }
  throw new StoreUnavailable('the saga is noted by many writers at once: try again later', {
    throttled: true,
  });
}

/** As it was read; nothing where nothing was there. */
function storedAs({ revision, ...noted }: NotedSaga): StoredSaga | undefined {
  return revision === undefined ? undefined : { noted, revision };
}

async function remove(
  entries: SagaEntries,
  keys: readonly EntryKey[],
  below: number,
): Promise<void> {
  await Promise.all(keys.map((key) => entries.remove(key, below)));
}

function entriesJoined(before: SagaRow | undefined, row: SagaRow, repair: boolean): EntryKey[] {
  if (before === undefined || repair) return entriesOf(row);
  const joined = entriesOnlyOf(row, before);
  const open = openEntryOf(row);
  const stays = open !== undefined && !joined.some(({ pk }) => pk === open.pk);
  // The entry holds the review's deadline.
  return stays && before.reviewDeadlineAt !== row.reviewDeadlineAt ? [...joined, open] : joined;
}

function entriesOnlyOf(row: SagaRow, other: SagaRow): EntryKey[] {
  const others = new Set(entriesOf(other).map(({ pk, sk }) => `${pk} ${sk}`));
  return entriesOf(row).filter(({ pk, sk }) => !others.has(`${pk} ${sk}`));
}

function isSame(before: NotedSaga, next: NotedSaga): boolean {
  return JSON.stringify(before) === JSON.stringify(next);
}

interface Reading {
  readonly client: DynamoDBClient;
  readonly table: string;
  readonly items: SagaItems;
  readonly names: SagaNames;
}

async function list(reading: Reading, query: SagaQuery): Promise<SagaPage> {
  const sagas: SagaSummary[] = [];
  let last: SagaRow | undefined;
  let examined = 0;
  for await (const { positions, seen, end } of stretchesOf(reading, query)) {
    const ids = positions.map((position) => placeAt(position).sagaId);
    const found = await reading.items.getMany(query.tenant, ids);
    for (const position of positions) {
      const known = found.get(placeAt(position).sagaId);
      const row = known?.row;
      if (known === undefined || row === undefined) continue;
      if (positionOf(row) !== position || !matches(row, query)) continue;
      // One more than wanted: so it is known that there is a next page.
      if (sagas.length === query.limit && last !== undefined) {
        return { sagas, cursor: encodeCursor(last, query) };
      }
      sagas.push(summaryWithMark(row, known));
      last = row;
    }
    examined += seen;
    if (examined >= EXAMINED_PER_PAGE) return { sagas, cursor: encodeCursor(placeAt(end), query) };
  }
  return { sagas };
}

/** A part of the query's lists, in order. */
interface Stretch {
  /** Where its items may match, each position once; as many as one fetch takes. */
  readonly positions: readonly string[];
  readonly seen: number;
  /** The last position seen. */
  readonly end: string;
}

async function* stretchesOf(reading: Reading, query: SagaQuery): AsyncGenerator<Stretch> {
  const { client, table, names } = reading;
  const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor, query);
  const lists = await listsFor(query, () => names.of(query.tenant));
  const partitions = lists.flatMap((each) =>
    Array.from({ length: LIST_SHARDS }, (_, shard) => listPartition(query.tenant, each, shard)),
  );
  const size = Math.min(MAX_FETCH, query.limit + SPARE);
  const { from, to } = spanOf(query, after);
  const found = sortedItems({
    client,
    table,
    partitions,
    from,
    to,
    attributes: ['name'],
    pageSize: Math.ceil(size / Math.max(1, partitions.length)) + SPARE,
    doing: 'reading a list of sagas',
  });
  let positions: string[] = [];
  let seen = 0;
  let end: string | undefined;
  for await (const { sk, name } of found) {
    const position = sk?.S;
    // A saga that changes its state may stand in two lists for a moment.
    if (position === undefined || position === end) continue;
    end = position;
    seen += 1;
    if (query.name === undefined || name?.S === query.name) positions.push(position);
    if (positions.length < size && seen < EXAMINED_PER_PAGE) continue;
    yield { positions, seen, end };
    positions = [];
    seen = 0;
  }
  if (end !== undefined && positions.length > 0) yield { positions, seen, end };
}
