import type { CountName } from '../../statemachines/metrics.ts';
import type { EventPublisher } from '../ports/event-publisher.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { PlaneEvent } from './plane-events.ts';

/** The publisher, with a count of what it took. An event that is published again is counted again. */
export function counted(publisher: EventPublisher, metrics: Metrics): EventPublisher {
  return {
    async publish(events) {
      const refused = await publisher.publish(events);
      const ids = new Set(refused.map(({ id }) => id));
      for (const event of events) {
        if (ids.has(event.detail.id)) continue;
        for (const name of countsOf(event)) metrics.count(name);
      }
      return refused;
    },
  };
}

function countsOf(event: PlaneEvent): CountName[] {
  switch (event.type) {
    case 'counterstep.saga.started':
      return ['SagasStarted'];
    case 'counterstep.saga.completed':
      return ['SagasCompleted'];
    case 'counterstep.saga.compensated':
      return ['SagasCompensated'];
    case 'counterstep.saga.incident':
      return ['IncidentsOpened'];
    case 'counterstep.saga.compensating':
      // Without a reason it only goes on, after a review.
      return event.detail.reason === undefined ? [] : ['RecoveriesStarted'];
    case 'counterstep.saga.needs_review': {
      const { reason } = event.detail;
      const failed = reason === 'recovery_failed' || reason === 'undo_unavailable';
      return failed ? ['ReviewsOpened', 'RecoveriesFailed'] : ['ReviewsOpened'];
    }
    case 'counterstep.ledger.tampered':
      return ['LedgersTampered'];
  }
}
