import type { SagaEvent, SagaStatus } from '../../statemachines/rules/events.ts';
import type { Publication } from './plane-events.ts';

/**
 * The transition that an event makes, if it makes one that is published. Follows from the event and
 * the state before it alone, so that a repeat publishes the same.
 */
export function transitionOf(
  before: SagaStatus | undefined,
  event: SagaEvent,
): Publication | undefined {
  if (event.type === 'saga_started') return { transition: 'started' };
  // Each review is a question of its own, also where one follows another.
  if (event.type === 'review_opened') {
    return { transition: 'needs_review', reason: event.reason, review: event.review };
  }
  if (event.state === before) return undefined;
  switch (event.state) {
    case 'completed':
      return { transition: 'completed' };
    case 'compensated':
      return { transition: 'compensated', ...endOf(event) };
    case 'incident':
      return {
        transition: 'incident',
        reason: event.type === 'incident_opened' ? event.reason : 'late_evidence',
      };
    case 'compensating':
      return { transition: 'compensating', ...whyUndone(event) };
    case 'queued':
    case 'running':
    case 'waiting':
    case 'needs_review':
      return undefined;
  }
}

function endOf(event: SagaEvent): Pick<Publication, 'checkpoint'> {
  if (event.type !== 'saga_compensated' || event.checkpoint === undefined) return {};
  return { checkpoint: event.checkpoint };
}

function whyUndone(event: SagaEvent): Pick<Publication, 'reason'> {
  switch (event.type) {
    case 'saga_halted':
      return { reason: event.reason };
    case 'cancel_requested':
      return { reason: 'cancelled' };
    case 'step_failed':
      return { reason: event.reason ?? 'step_failed' };
    case 'step_committed':
      return event.defect === undefined ? {} : { reason: 'output_refused' };
    case 'review_decided':
      return { reason: 'person' };
    default:
      // Recovery goes on after something else; why it began was published when it did.
      return {};
  }
}
