import type { PlaneEvent } from '../outbox/plane-events.ts';

/**
 * Hands events to whoever listens. Provided by `aws/event-bus.ts`; both it and the fake of the
 * tests pass `test/outbox/event-publisher.contract.ts`.
 */
export interface EventPublisher {
  /**
   * Publishes each event on its own; they may reach listeners in any order and more than once.
   * MUST have tried again before it gives one up, and MUST NOT throw for a refusal.
   * @returns those that were not taken; they may still have been published
   */
  publish(events: readonly PlaneEvent[]): Promise<readonly Unpublished[]>;
}

export interface Unpublished {
  /** As in {@link PlaneEvent}'s detail. */
  readonly id: string;
  /** What the bus said. */
  readonly code: string;
}
