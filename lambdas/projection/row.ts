import type { SagaEvent } from '../../statemachines/rules/events.ts';
import type { LedgerId } from '../ports/ledger-store.ts';
import type { SagaQuery, SagaSummary } from '../ports/saga-index.ts';

/** What a projection keeps of one saga. Follows from the events alone, in order. */
export interface SagaRow extends Omit<SagaSummary, 'tampered'> {
  readonly tenant: string;
  /** Of the event with number `seq`. */
  readonly hash: string;
  /** When it came into its state (epoch milliseconds). */
  readonly stateSince: number;
  readonly dueAt?: number;
  readonly drive: SagaEvent['drive'];
}

/** The row after one more event; nothing where the saga's first event is not known. */
export function rowAfter(
  row: SagaRow | undefined,
  id: LedgerId,
  event: SagaEvent,
  hash: string,
): SagaRow | undefined {
  const moved = {
    seq: event.seq,
    hash,
    state: event.state,
    changedAt: event.at,
    stateSince: row?.state === event.state ? row.stateSince : event.at,
    drive: event.drive,
    ...(event.dueAt === undefined ? {} : { dueAt: event.dueAt }),
  };
  if (event.type === 'saga_started') {
    const { tenant, sagaId } = id;
    return {
      tenant,
      sagaId,
      name: event.name,
      version: event.version,
      startedAt: event.at,
      ...moved,
    };
  }
  if (row === undefined) return undefined;
  const {
    dueAt: _due,
    review: _review,
    reviewReason: _reason,
    reviewDeadlineAt: _deadline,
    checkpoint: _checkpoint,
    ...kept
  } = row;
  const review =
    event.type === 'review_opened'
      ? { review: event.review, reviewReason: event.reason, reviewDeadlineAt: event.deadlineAt }
      : reviewOf(row, event);
  return { ...kept, ...moved, ...review, ...checkpointOf(row, event) };
}

/** Where a compensated saga went back to. A later event that opens an incident ends that. */
function checkpointOf(row: SagaRow, event: SagaEvent): Pick<SagaRow, 'checkpoint'> {
  if (event.state !== 'compensated') return {};
  const checkpoint = event.type === 'saga_compensated' ? event.checkpoint : row.checkpoint;
  return checkpoint === undefined ? {} : { checkpoint };
}

/** A review stays in the list as long as the saga's state says so. */
function reviewOf(row: SagaRow, event: SagaEvent): Partial<SagaRow> {
  if (event.state !== 'needs_review' || row.review === undefined) return {};
  return {
    review: row.review,
    ...(row.reviewReason === undefined ? {} : { reviewReason: row.reviewReason }),
    ...(row.reviewDeadlineAt === undefined ? {} : { reviewDeadlineAt: row.reviewDeadlineAt }),
  };
}

export function matches(row: SagaRow, query: SagaQuery): boolean {
  return (
    row.tenant === query.tenant &&
    (query.states === undefined || query.states.includes(row.state)) &&
    (query.name === undefined || row.name === query.name) &&
    (query.startedBefore === undefined || row.startedAt < query.startedBefore)
  );
}

/** A place in a list. */
export interface Place {
  readonly startedAt: number;
  readonly sagaId: string;
}

export function byAge(left: Place, right: Place): number {
  return (
    left.startedAt - right.startedAt ||
    (left.sagaId < right.sagaId ? -1 : left.sagaId > right.sagaId ? 1 : 0)
  );
}

export function summaryOf(row: SagaRow): SagaSummary {
  const {
    tenant: _tenant,
    hash: _hash,
    stateSince: _since,
    dueAt: _dueAt,
    drive: _drive,
    ...summary
  } = row;
  return summary;
}
