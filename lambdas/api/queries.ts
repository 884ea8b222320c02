import { SAGA_STATES, type SagaStatus } from '../../statemachines/rules/events.ts';
import type { ListQuery } from '../service/list.ts';
import { Problem } from '../service/problems.ts';
import type { LedgerQuery } from '../service/read.ts';

/** Members of a query string, each at most once but `state`. */
export type QueryValues = ReadonlyMap<string, readonly string[]>;

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/**
 * The query's members, where each has one of the given names: a filter with a typo must not answer
 * everything.
 * @throws Problem `query-invalid`
 */
export function readQuery(url: string, known: readonly string[]): QueryValues {
  const values = new Map<string, string[]>();
  for (const [name, value] of new URL(url).searchParams) {
    if (!known.includes(name)) {
      const names = known.length === 0 ? 'this call has none' : `known here: ${known.join(', ')}`;
      throw invalid('the query has a member that means nothing here', names, 'query');
    }
    values.set(name, [...(values.get(name) ?? []), value]);
  }
  for (const [name, given] of values) {
    if (given.length > 1 && name !== 'state') {
      throw invalid(`"${name}" is given ${given.length} times`, 'give it once', name);
    }
  }
  return values;
}

export function listQuery(query: QueryValues, now: number): ListQuery {
  const states = statesOf(query.get('state') ?? []);
  const name = one(query, 'name');
  const olderThan = one(query, 'olderThan');
  return {
    ...page(query, 50, 200),
    ...(states.length === 0 ? {} : { states }),
    ...(name === undefined ? {} : { name }),
    ...(olderThan === undefined ? {} : { startedBefore: momentOf(olderThan, now) }),
  };
}

export function page(query: QueryValues, usual: number, most: number): LedgerQuery {
  const cursor = one(query, 'cursor');
  return { limit: limitOf(query, usual, most), ...(cursor === undefined ? {} : { cursor }) };
}

export function one(query: QueryValues, name: string): string | undefined {
  return query.get(name)?.[0];
}

function statesOf(given: readonly string[]): SagaStatus[] {
  const words = given.flatMap((value) => value.split(',')).filter((word) => word !== '');
  return words.map((word) => {
    const state = SAGA_STATES.find((known) => known === word);
    if (state !== undefined) return state;
    throw invalid('there is no such state', `use ${SAGA_STATES.join(', ')}`, 'state');
  });
}

/** A moment (`2025-01-31T12:00:00Z`), or an age counted back from now (`90s`, `15m`, `2h`, `7d`). */
function momentOf(text: string, now: number): number {
  const age = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text);
  if (age !== null) return Math.max(0, now - Number(age[1]) * (UNITS[age[2] ?? ''] ?? 1));
  const moment = /^\d{4}-\d{2}-\d{2}T[\d:.]+(Z|[+-]\d{2}:\d{2})$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  if (Number.isFinite(moment) && moment >= 0) return moment;
  throw invalid(
    'this is neither an age nor a moment',
    'use 15m, 2h, 7d or 2025-01-31T12:00:00Z',
    'olderThan',
  );
}

function limitOf(query: QueryValues, usual: number, most: number): number {
  const text = one(query, 'limit');
  if (text === undefined) return usual;
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= most) return limit;
  throw invalid('this is no page size', `use a whole number from 1 to ${most}`, 'limit');
}

function invalid(detail: string, remedy: string, at: string): Problem {
  return new Problem('query-invalid', detail, remedy, { at });
}
