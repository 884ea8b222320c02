import { LedgerDamaged } from '../../statemachines/ledger/chain.ts';
import type { SagaSummary } from '../ports/saga-index.ts';
import { pageOf } from './list.ts';
import { demandReader, type Parts } from './parts.ts';
import type { Principal } from './principal.ts';
import { openItem } from './review.ts';
import { iso, type ReviewItemView, type ReviewPageView, reviewPath, sagaPath } from './wire.ts';

/** Pages of the index looked through for one page of the queue: closed incidents stay in the index. */
const MAX_INDEX_PAGES = 5;

export interface ReviewQuery {
  readonly limit: number;
  readonly cursor?: string;
}

/**
 * What waits for a person: open reviews and open incidents, oldest saga first. A page may hold fewer
 * than `limit`, even none, and still have a cursor.
 * @throws Problem
 */
export async function listReviews(
  parts: Parts,
  principal: Principal,
  query: ReviewQuery,
): Promise<ReviewPageView> {
  demandReader(principal);
  const reviews: ReviewItemView[] = [];
  let { cursor } = query;
  for (let pages = 0; pages < MAX_INDEX_PAGES && reviews.length < query.limit; pages += 1) {
    const page = await pageOf(parts, principal, {
      states: ['needs_review', 'incident'],
      limit: query.limit - reviews.length,
      ...(cursor === undefined ? {} : { cursor }),
    });
    const items = await Promise.all(page.sagas.map((saga) => itemOf(parts, principal, saga)));
    for (const item of items) if (item !== undefined) reviews.push(item);
    cursor = page.cursor;
    if (cursor === undefined) break;
  }
  return { reviews, ...(cursor === undefined ? {} : { cursor }) };
}

/** The ledger decides; the index only says where to look. */
async function itemOf(
  parts: Parts,
  principal: Principal,
  saga: SagaSummary,
): Promise<ReviewItemView | undefined> {
  try {
    const state = await parts.ledger.load({ tenant: principal.tenant, sagaId: saga.sagaId });
    return state === undefined ? undefined : openItem(state, parts.host.clock.now());
  } catch (error) {
    if (!(error instanceof LedgerDamaged)) throw error;
    return damagedItem(saga, error);
  }
}

/** One damaged ledger must not hide the others from the queue; it is work for a person itself. */
function damagedItem(saga: SagaSummary, error: LedgerDamaged): ReviewItemView {
  const id = saga.review ?? `${saga.sagaId}.${error.seq}`;
  return {
    id,
    kind: 'incident',
    status: 'open',
    reason: 'damaged',
    steps: [],
    explanation: error.message,
    openedAt: iso(saga.changedAt),
    saga: { id: saga.sagaId, name: saga.name, version: saga.version, state: saga.state },
    links: { self: reviewPath(id), saga: sagaPath(saga.sagaId) },
  };
}
