import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type PlaneEvent, sagaEvent } from '../../lambdas/outbox/plane-events.ts';
import type { EventPublisher } from '../../lambdas/ports/event-publisher.ts';
import { eventsOf } from './ledgers.ts';

/** A publisher, and what is at its other end. */
export interface PublisherHarness {
  readonly publisher: EventPublisher;
  /** What was taken, in any order, repeats included. */
  taken(): readonly PlaneEvent[];
  /** From now on refuses these, the given number of times. */
  refuse(ids: readonly string[], times: number): void;
  close(): Promise<void>;
}

export function eventOf(sagaId: string): PlaneEvent {
  const id = { tenant: 'acme', sagaId };
  const [event] = eventsOf('completed', id);
  if (event === undefined) throw new Error('the story is empty');
  return sagaEvent({ ...id, name: 'sample', version: '1' }, event, { transition: 'started' });
}

/** What every publisher must do. */
export function eventPublisherContract(name: string, open: () => Promise<PublisherHarness>): void {
  describe(`event publisher: ${name}`, () => {
    let harness: PublisherHarness;
    beforeEach(async () => {
      harness = await open();
    });
    afterEach(() => harness.close());

    const events = Array.from({ length: 23 }, (_, n) => eventOf(`saga-${n}`));
    const ids = (of: readonly PlaneEvent[]) => of.map(({ detail }) => detail.id).sort();

    test('hands over every event, as it is', async () => {
      expect(await harness.publisher.publish(events)).toEqual([]);
      const byId = new Map(harness.taken().map((event) => [event.detail.id, event]));
      expect(events.map(({ detail }) => byId.get(detail.id))).toEqual(events);
      expect(harness.taken()).toHaveLength(events.length);
    });

    test('nothing to publish is nothing to do', async () => {
      expect(await harness.publisher.publish([])).toEqual([]);
      expect(harness.taken()).toEqual([]);
    });

    test('answers those that were refused for good, and them alone', async () => {
      const refused = [3, 12, 13].map((n) => `acme/saga-${n}/1`);
      harness.refuse(refused, Number.POSITIVE_INFINITY);
      const answer = await harness.publisher.publish(events);
      expect(answer.map(({ id }) => id).sort()).toEqual([...refused].sort());
      for (const { code } of answer) expect(code).toBe('ThrottlingException');
      const others = events.filter(({ detail }) => !refused.includes(detail.id));
      expect(ids(harness.taken())).toEqual(ids(others));
    });
  });
}
