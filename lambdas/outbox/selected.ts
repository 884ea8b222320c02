import type { Transition } from '../../statemachines/transitions.ts';
import type { EventPublisher } from '../ports/event-publisher.ts';
import { LEDGER_TAMPERED, type PlaneEvent, sagaEventType } from './plane-events.ts';

/** The publisher, for some transitions only: the others count as taken. Tampering is always told. */
export function selected(
  publisher: EventPublisher,
  transitions: readonly Transition[],
): EventPublisher {
  const types = new Set<PlaneEvent['type']>([LEDGER_TAMPERED, ...transitions.map(sagaEventType)]);
  return {
    async publish(events) {
      const wanted = events.filter(({ type }) => types.has(type));
      return wanted.length === 0 ? [] : publisher.publish(wanted);
    },
  };
}
