import type { SagaStatus } from '../../statemachines/rules/events.ts';
import type { SagaPage, SagaQuery, SagaSummary } from '../ports/saga-index.ts';
import { demandReader, type Parts } from './parts.ts';
import type { Principal } from './principal.ts';
import { Problem } from './problems.ts';
import { iso, type SagaPageView, type SummaryView, sagaPath } from './wire.ts';

export interface ListQuery {
  readonly states?: readonly SagaStatus[];
  readonly name?: string;
  /** Only sagas started before then (epoch milliseconds). */
  readonly startedBefore?: number;
  readonly limit: number;
  readonly cursor?: string;
}

/** Oldest first, of the caller's own tenant. @throws Problem `query-invalid` */
export async function listSagas(
  parts: Parts,
  principal: Principal,
  query: ListQuery,
): Promise<SagaPageView> {
  demandReader(principal);
  const page = await pageOf(parts, principal, query);
  return {
    sagas: page.sagas.map(summaryView),
    ...(page.cursor === undefined ? {} : { cursor: page.cursor }),
  };
}

/**
 * The index's page. "Older than ten minutes" moves on between two pages, so the cursor carries the
 * moment that was meant on the first.
 */
export async function pageOf(
  parts: Parts,
  principal: Principal,
  query: ListQuery,
): Promise<SagaPage> {
  const { cursor, startedBefore, ...rest } = query;
  const place = cursor === undefined ? { before: startedBefore } : openCursor(cursor);
  const asked: SagaQuery = {
    ...rest,
    tenant: principal.tenant,
    ...(place.before === undefined ? {} : { startedBefore: place.before }),
    ...(place.inner === undefined ? {} : { cursor: place.inner }),
  };
  try {
    const page = await parts.index.list(asked);
    if (page.cursor === undefined) return page;
    return { ...page, cursor: `${place.before ?? ''}~${page.cursor}` };
  } catch (error) {
    if (error instanceof Error && CURSOR_ERRORS.includes(error.name)) throw cursorInvalid();
    throw error;
  }
}

/** By name, since the index comes from elsewhere. */
const CURSOR_ERRORS = ['Counterstep.CursorInvalid', 'Counterstep.InvalidStoreArgument'];

function openCursor(cursor: string): {
  readonly before?: number | undefined;
  readonly inner?: string;
} {
  const parts = /^(\d{0,16})~(.+)$/.exec(cursor);
  if (parts === null) throw cursorInvalid();
  const [, before = '', inner = ''] = parts;
  return { before: before === '' ? undefined : Number(before), inner };
}

function cursorInvalid(): Problem {
  return new Problem(
    'query-invalid',
    'the cursor is none of this list',
    'begin again without one',
    {
      at: 'cursor',
    },
  );
}

function summaryView(saga: SagaSummary): SummaryView {
  return {
    id: saga.sagaId,
    name: saga.name,
    version: saga.version,
    state: saga.state,
    startedAt: iso(saga.startedAt),
    changedAt: iso(saga.changedAt),
    ...(saga.checkpoint === undefined ? {} : { checkpoint: saga.checkpoint }),
    ...(saga.review === undefined ? {} : { review: saga.review }),
    ...(saga.reviewReason === undefined ? {} : { reviewReason: saga.reviewReason }),
    ...(saga.reviewDeadlineAt === undefined
      ? {}
      : { reviewDeadlineAt: iso(saga.reviewDeadlineAt) }),
    ...(saga.tampered === undefined
      ? {}
      : { tampered: { ...saga.tampered, at: iso(saga.tampered.at) } }),
    links: { self: sagaPath(saga.sagaId) },
  };
}
