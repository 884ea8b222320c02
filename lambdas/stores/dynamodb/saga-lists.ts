import { sha256Hex } from '../../../statemachines/ledger/hash.ts';
import { isOpen, type OpenState } from '../../../statemachines/metrics.ts';
import type { SagaStatus } from '../../../statemachines/rules/events.ts';
import type { LedgerId } from '../../ports/ledger-store.ts';
import type { SagaQuery } from '../../ports/saga-index.ts';
import type { Place, SagaRow } from '../../projection/row.ts';
import { ledgerKey, parseLedgerKey } from '../checks.ts';

/**
 * Partitions of each list. One takes 1,000 writes a second, so a tenant may move 8,000 sagas a
 * second into one state. The number is part of the stored format: an entry is removed from the
 * shard its saga hashes to.
 */
export const LIST_SHARDS = 8;

/** Digits of the latest moment a Date can hold; padded to them, times order as text. */
const DIGITS = 16;

/**
 * States that have a list. Nearly all sagas are completed in the end: those are looked for among all of
 * their name, which saves each of them a write.
 */
type ListedState = Exclude<SagaStatus, 'completed'>;

function isListed(state: SagaStatus): state is ListedState {
  return state !== 'completed';
}

/** One of a tenant's lists: of all its sagas with one name, or in one state. */
export type List =
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'state'; readonly state: ListedState };

/** Where a list's shard lives. A tenant holds no "/", so it ends at the first one. */
export function listPartition(tenant: string, list: List, shard: number): string {
  const label = list.kind === 'name' ? `name=${list.name}` : `state=${list.state}`;
  return `index#${tenant}/${label}#${shard}`;
}

/** Where it is kept which names there are. */
export function namesPartition(tenant: string): string {
  return `index#${tenant}/names`;
}

export function shardOf(sagaId: string): number {
  return Number.parseInt(sha256Hex(sagaId).slice(0, 8), 16) % LIST_SHARDS;
}

/** The key of an entry in a list. */
export interface EntryKey {
  readonly pk: string;
  readonly sk: string;
}

/** Every entry of a saga: in its tenant's lists and, while it is open, in one of the plane's. */
export function entriesOf(row: SagaRow): EntryKey[] {
  const open = openEntryOf(row);
  const shard = shardOf(row.sagaId);
  const lists: List[] = [
    { kind: 'name', name: row.name },
    ...(isListed(row.state) ? [{ kind: 'state', state: row.state } as const] : []),
  ];
  const sk = positionOf(row);
  const entries = lists.map((list) => ({ pk: listPartition(row.tenant, list, shard), sk }));
  return open === undefined ? entries : [...entries, open];
}

/**
 * Most sagas are over within seconds, and two writes for each would be a tenth of what the projection
 * costs. One that stands still does not escape: the sweep's next grant is an event, and lists it.
 */
const BRIEF_MS = 30_000;

/** The saga's entry in the plane's lists of open sagas; none while it is brief and moves. */
export function openEntryOf(row: SagaRow): EntryKey | undefined {
  if (!isOpen(row.state)) return undefined;
  const moves = row.state === 'running' || row.state === 'compensating';
  if (moves && row.changedAt - row.startedAt < BRIEF_MS) return undefined;
  const pk = openPartition(row.state, shardOf(row.sagaId));
  return { pk, sk: `${padded(row.stateSince)}#${ledgerKey(row)}` };
}

/** A shard of the plane's own list of all sagas in one state, whoever's they are: longest there first. */
export function openPartition(state: OpenState, shard: number): string {
  return `open#${state}#${shard}`;
}

export interface OpenEntry extends LedgerId {
  /** When the saga came into the state. */
  readonly since: number;
}

export function openEntryAt(position: string): OpenEntry {
  const since = Number(position.slice(0, DIGITS));
  return { since, ...parseLedgerKey(position.slice(DIGITS + 1)) };
}

/** By age, then id. A saga stands at the same position in each of its lists. */
export function positionOf({ startedAt, sagaId }: Place): string {
  return `${padded(startedAt)}#${sagaId}`;
}

export function placeAt(position: string): Place {
  return { startedAt: Number(position.slice(0, DIGITS)), sagaId: position.slice(DIGITS + 1) };
}

/** Positions from `from` up to `to`; nothing that is no position lies between. */
export interface Span {
  readonly from: string;
  readonly to: string;
}

export function spanOf(query: SagaQuery, after: Place | undefined): Span {
  return {
    // Nothing lies between a text and the same text followed by U+0000.
    from: after === undefined ? padded(0) : `${positionOf(after)}\u0000`,
    // A position at that moment is longer than its digits alone, and so behind them.
    to: query.startedBefore === undefined ? ':' : padded(Math.max(0, query.startedBefore)),
  };
}

/**
 * The lists that hold every answer to the query, with the least beside it.
 * @param names tells every name that the tenant's sagas have; asked for where all lists are needed
 */
export async function listsFor(
  { states, name }: SagaQuery,
  names: () => Promise<readonly string[]>,
): Promise<List[]> {
  const listed = states?.filter(isListed);
  if (listed !== undefined && listed.length === states?.length) {
    return [...new Set(listed)].map((state) => ({ kind: 'state', state }));
  }
  const wanted = name === undefined ? await names() : [name];
  return wanted.map((each) => ({ kind: 'name', name: each }));
}

function padded(timeMs: number): string {
  return String(Math.ceil(timeMs)).padStart(DIGITS, '0');
}
