import { openRecord } from '../../statemachines/ledger/chain.ts';
import { keptSteps } from '../../statemachines/rules/checkpoint.ts';
import type {
  Action,
  Decision,
  ReviewDecided,
  SagaEvent,
} from '../../statemachines/rules/events.ts';
import type { SagaState } from '../../statemachines/rules/state.ts';
import {
  isFinal,
  isRecovered,
  isUnresolved,
  pivotInDoubt,
  stepsInOrder,
} from '../../statemachines/rules/view.ts';
import type { LedgerId } from '../ports/ledger-store.ts';
import { fetchStored, PayloadGone } from '../runtime/values.ts';
import { demandReader, ledgerIdOf, loadSaga, type Parts } from './parts.ts';
import type { Principal } from './principal.ts';
import { Problem } from './problems.ts';
import { incidentId, standingView } from './view.ts';
import { iso, type ReviewItemView, type ReviewView, reviewPath, sagaPath } from './wire.ts';

/** Advice shown beside a review, the latest first. */
const MAX_SUGGESTIONS = 10;

export function reviewUnknown(): Problem {
  return new Problem(
    'review-unknown',
    'there is no review with this id',
    'use an id from the list of reviews, or from the saga',
    { at: 'id' },
  );
}

/** A review is named after its saga and the event that opened it. */
export function parseReviewId(
  principal: Principal,
  review: string,
): { readonly id: LedgerId; readonly seq: number } {
  const match = /^([A-Za-z0-9_-]{1,80})\.([1-9]\d{0,11})$/.exec(review);
  if (match === null) throw reviewUnknown();
  const [, sagaId = '', seq = ''] = match;
  return { id: ledgerIdOf(principal, sagaId), seq: Number(seq) };
}

/** What is known of the saga behind a review. @throws Problem `review-unknown` */
export async function loadReviewed(parts: Parts, id: LedgerId): Promise<SagaState> {
  try {
    return await loadSaga(parts, id);
  } catch (error) {
    if (error instanceof Problem && error.type === 'saga-unknown') throw reviewUnknown();
    throw error;
  }
}

/** The snapshot a person decides on. Advice is shown to those who decide. @throws Problem */
export async function getReview(
  parts: Parts,
  principal: Principal,
  review: string,
): Promise<ReviewView> {
  demandReader(principal);
  const { id, seq } = parseReviewId(principal, review);
  const state = await loadReviewed(parts, id);
  const events = (await parts.host.stores.ledger.read(id)).map((record) => openRecord(record));
  const opened = events[seq - 1];
  const item =
    opened === undefined ? undefined : itemOf(state, opened, review, parts.host.clock.now());
  if (item === undefined) throw reviewUnknown();
  const decided = decidedBy(events, review);
  const advises = principal.roles.includes('reviewer') || principal.roles.includes('operator');
  return {
    ...item,
    decisions: item.status === 'open' ? possibleDecisions(state, item.kind) : [],
    answerable: item.status === 'open' && item.kind === 'review' ? answerable(state) : [],
    ...(state.plan === undefined ? {} : { plan: planView(state.plan) }),
    standing: standingView(state),
    ...(decided === undefined ? {} : { decided: decidedView(decided) }),
    suggestions: advises ? await suggestions(parts, id, events) : [],
  };
}

/** The open review or incident of a saga as a line of the queue; nothing where there is none. */
export function openItem(state: SagaState, now: number): ReviewItemView | undefined {
  const { review, incident } = state;
  if (review !== undefined && !isFinal(state)) {
    return {
      ...common(state, review.id, review.steps),
      kind: 'review',
      status: 'open',
      reason: review.reason,
      explanation: review.explanation,
      openedAt: iso(review.openedAt),
      deadlineAt: iso(review.deadlineAt),
      ...(now >= review.deadlineAt ? { overdue: true } : {}),
      ...(review.planHash === undefined ? {} : { planHash: review.planHash }),
      ...(review.maxCost === undefined ? {} : { maxCost: { ...review.maxCost } }),
    };
  }
  const id = incidentId(state);
  if (incident === undefined || id === undefined || incident.closed !== undefined) return undefined;
  return {
    ...common(state, id, incident.steps),
    kind: 'incident',
    status: 'open',
    reason: incident.reason,
    explanation: incident.explanation,
    openedAt: iso(state.at),
  };
}

function itemOf(
  state: SagaState,
  opened: SagaEvent,
  review: string,
  now: number,
): ReviewItemView | undefined {
  if (incidentId(state) === review && state.incident !== undefined) {
    const { reason, explanation, steps, closed } = state.incident;
    return {
      ...common(state, review, steps),
      kind: 'incident',
      status: closed === undefined ? 'open' : 'closed',
      reason,
      explanation,
      openedAt: iso(opened.at),
    };
  }
  if (opened.type !== 'review_opened' || opened.review !== review) return undefined;
  const open = state.review?.id === review && !isFinal(state);
  return {
    ...common(state, review, opened.steps),
    kind: 'review',
    status: open ? 'open' : 'decided',
    reason: opened.reason,
    explanation: opened.explanation,
    openedAt: iso(opened.at),
    deadlineAt: iso(opened.deadlineAt),
    ...(open && now >= opened.deadlineAt ? { overdue: true } : {}),
    ...(opened.planHash === undefined ? {} : { planHash: opened.planHash }),
    ...(opened.maxCost === undefined ? {} : { maxCost: { ...opened.maxCost } }),
  };
}

function common(
  state: SagaState,
  review: string,
  steps: readonly string[],
): Pick<ReviewItemView, 'id' | 'steps' | 'saga' | 'links'> {
  const { sagaId, name, version } = state.start;
  return {
    id: review,
    steps: [...steps],
    saga: { id: sagaId, name, version, state: state.status },
    links: { self: reviewPath(review), saga: sagaPath(sagaId) },
  };
}

type DecidedEvent = SagaEvent & ReviewDecided;

/** The decision that ended a review; `reject` leaves it open. */
export function decidedBy(events: readonly SagaEvent[], review: string): DecidedEvent | undefined {
  return events.findLast(
    (event): event is DecidedEvent =>
      event.type === 'review_decided' && event.review === review && event.decision !== 'reject',
  );
}

function decidedView(event: DecidedEvent): NonNullable<ReviewView['decided']> {
  return {
    decision: event.decision,
    by: event.actor,
    at: iso(event.at),
    ...(event.evidence === undefined ? {} : { evidence: event.evidence }),
  };
}

/** Nothing failed: asked again, the saga would ask the same. */
const NOTHING_TO_RETRY: readonly string[] = ['cost_ceiling', 'undo_unavailable', 'human_decision'];

function possibleDecisions(state: SagaState, kind: ReviewItemView['kind']): Decision[] {
  if (kind === 'incident') return ['close'];
  const recovers = state.halt !== undefined;
  const mayRecover = !recovers && pivotInDoubt(state) === undefined;
  const costs = (state.plan?.estimateMinor ?? 0) > 0;
  const kept = keptSteps(state);
  const stands = stepsInOrder(state).some(
    (step) => !isRecovered(step) && !kept.has(step.record.name),
  );
  return [
    ...(NOTHING_TO_RETRY.includes(state.review?.reason ?? '') ? [] : (['retry'] as const)),
    ...(mayRecover ? (['recover'] as const) : []),
    ...(costs ? (['approve'] as const) : []),
    ...(answerable(state).length === 0 ? [] : (['answer'] as const)),
    ...(recovers && stands ? (['resolve'] as const) : []),
    'reject',
  ];
}

/** Calls whose outcome a person may tell in the provider's place. */
function answerable(state: SagaState): { step: string; action: Action }[] {
  return stepsInOrder(state).flatMap((step) =>
    [step.forward, step.recovery].flatMap((action) =>
      action !== undefined && isUnresolved(action)
        ? [{ step: step.record.name, action: action.action }]
        : [],
    ),
  );
}

function planView(plan: NonNullable<SagaState['plan']>): NonNullable<ReviewView['plan']> {
  return {
    hash: plan.hash,
    ...(plan.checkpoint === undefined ? {} : { checkpoint: plan.checkpoint }),
    estimateMinor: plan.estimateMinor,
    ...(plan.currency === undefined ? {} : { currency: plan.currency }),
    entries: plan.entries.map((entry) => ({
      ...entry,
      after: [...entry.after],
      ...(entry.estimate === undefined ? {} : { estimate: { ...entry.estimate } }),
    })) as NonNullable<ReviewView['plan']>['entries'],
    consequences: [...plan.consequences],
  };
}

async function suggestions(
  parts: Parts,
  id: LedgerId,
  events: readonly SagaEvent[],
): Promise<ReviewView['suggestions']> {
  const given = events.flatMap((event) => (event.type === 'suggestion_recorded' ? [event] : []));
  const latest = given.slice(-MAX_SUGGESTIONS).reverse();
  return Promise.all(
    latest.map(async ({ actor, at, suggestion }) => {
      const head = { by: actor, at: iso(at) };
      try {
        return { ...head, value: await fetchStored(parts.host.stores, id, suggestion) };
      } catch (error) {
        if (error instanceof PayloadGone) return { ...head, gone: error.reason };
        throw error;
      }
    }),
  );
}
