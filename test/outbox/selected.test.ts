import { describe, expect, test } from 'vitest';
import { counted } from '../../lambdas/outbox/counted.ts';
import { Outbox } from '../../lambdas/outbox/outbox.ts';
import { selected } from '../../lambdas/outbox/selected.ts';
import { arrivalOf } from '../../lambdas/outbox/stream.ts';
import type { Metrics } from '../../lambdas/ports/metrics.ts';
import {
  PUBLISHED_BY_DEFAULT,
  TRANSITIONS,
  type Transition,
  transitionsIn,
} from '../../statemachines/transitions.ts';
import { inserted, ledgerOf, removed, type Story } from './ledgers.ts';
import { MemoryBus, NOW, OutboxWorld } from './world.ts';

const id = { tenant: 'acme', sagaId: 'saga-a' };

/** What goes out of one saga, and what is counted, where only some transitions are published. */
async function passedOn(story: Story, events: readonly Transition[]) {
  const bus = new MemoryBus();
  const counts: string[] = [];
  const metrics: Metrics = { count: (name) => counts.push(name), gauge: () => {} };
  const publisher = counted(selected(bus, events), metrics);
  const world = new OutboxWorld();
  const outbox = new Outbox({ ...world.parts, publisher });
  const records = ledgerOf(story, id);
  const take = (from: readonly Parameters<typeof arrivalOf>[0][]) =>
    outbox.take(from.map((record) => arrivalOf(record, NOW)));
  const report = await take(records.map((record) => inserted(id, record)));
  return { bus, counts, report, take, records, world };
}

describe('what a plane publishes', () => {
  test.each([
    ['completed', ['completed']],
    ['undone', ['compensating', 'compensated']],
    ['undo failed', ['compensating', 'needs_review']],
    ['reviewed', ['needs_review', 'completed']],
    ['failed behind the pivot', ['compensating', 'incident']],
    ['known late', ['compensating', 'compensated', 'incident']],
  ] as const)('by default, of a saga that is %s', async (story, types) => {
    const { bus } = await passedOn(story, PUBLISHED_BY_DEFAULT);
    expect(bus.types('saga-a')).toEqual(types);
    expect(bus.taken).toHaveLength(types.length);
  });

  test('can be all of it, a part, or nothing', async () => {
    const types = async (events: readonly Transition[]) =>
      (await passedOn('undone', events)).bus.types('saga-a');
    expect(await types(TRANSITIONS)).toEqual(['started', 'compensating', 'compensated']);
    expect(await types(['compensated'])).toEqual(['compensated']);
    expect(await types([])).toEqual([]);
  });

  test('what is not among it is counted, and is not published later', async () => {
    const { bus, counts, report, take, records, world } = await passedOn('completed', ['incident']);
    expect(counts).toEqual(['SagasStarted', 'SagasCompleted']);
    expect(report).toMatchObject({ published: 2, failed: [] });
    expect(await world.projection.noted(id)).toMatchObject({ published: records.length });
    await take(records.map((record) => inserted(id, record)));
    expect(counts).toHaveLength(2);
    expect(bus.taken).toEqual([]);
  });

  test('always tells of tampering', async () => {
    const { bus, take, records } = await passedOn('completed', []);
    const [first] = records;
    if (first === undefined) throw new Error('the story is empty');
    await take([removed(id, first)]);
    expect(bus.types('saga-a')).toEqual(['ledger.tampered']);
  });

  test('is named as events are; another name is refused with those there are', () => {
    expect(transitionsIn(['completed', 'incident'])).toEqual(['completed', 'incident']);
    for (const wrong of ['', 'waiting', 'counterstep.saga.completed']) {
      expect(() => transitionsIn(['completed', wrong])).toThrow(
        `there is no event "${wrong}": give some of started, compensating,`,
      );
    }
  });
});
