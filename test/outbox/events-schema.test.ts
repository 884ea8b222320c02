import { expect, test } from 'vitest';
import * as z from 'zod';
import schema from '../../docs/events.schema.json' with { type: 'json' };
import { TAMPERING_KINDS } from '../../lambdas/ports/saga-index.ts';
import { EVENT_SOURCE } from '../../statemachines/asl/environment.ts';
import { HALT_REASONS, REVIEW_REASONS, SAGA_STATES } from '../../statemachines/rules/events.ts';
import { TRANSITIONS } from '../../statemachines/transitions.ts';
import { textOf } from '../tidy/source.ts';
import { ALL_STORIES, inserted, ledgerOf, removed } from './ledgers.ts';
import { OutboxWorld } from './world.ts';

const events = z.fromJSONSchema(schema as unknown as Parameters<typeof z.fromJSONSchema>[0]);
const id = { tenant: 'acme', sagaId: 'saga-a' };
const { saga, tampered } = schema.$defs;

/** Everything that is ever published, as it is on the bus. */
async function published() {
  const all: { source: string; 'detail-type': string; detail: object }[] = [];
  for (const story of ALL_STORIES) {
    const world = new OutboxWorld();
    const records = ledgerOf(story, id);
    const [first] = records;
    if (first === undefined) throw new Error('the story is empty');
    await world.take(...records.map((record) => inserted(id, record)), removed(id, first));
    await world.take(removed({ tenant: 'acme', sagaId: 'never-seen' }, first));
    const taken = world.bus.taken.map(({ type, detail }) => ({
      source: EVENT_SOURCE,
      'detail-type': type,
      detail,
    }));
    all.push(...taken);
  }
  return all;
}

test('every event that is published fits the schema, and every type is published', async () => {
  const all = await published();
  for (const event of all) expect([event, events.safeParse(event).success]).toEqual([event, true]);
  const types = [...saga.properties['detail-type'].enum, tampered.properties['detail-type'].const];
  expect(new Set(all.map((event) => event['detail-type']))).toEqual(new Set(types));
});

test('the schema refuses what is not described', async () => {
  const [event] = await published();
  if (event === undefined) throw new Error('nothing was published');
  for (const wrong of [
    { ...event, source: 'other' },
    { ...event, 'detail-type': 'counterstep.saga.waiting' },
    { ...event, extra: 1 },
    { ...event, detail: { ...event.detail, input: {} } },
    { ...event, detail: { ...event.detail, reason: 'a customer called' } },
    { ...event, detail: { ...event.detail, id: 'acme/saga-a' } },
    { ...event, detail: { ...event.detail, at: 'yesterday' } },
    { ...event, detail: { ...event.detail, seq: 0 } },
  ]) {
    expect([wrong, events.safeParse(wrong).success]).toEqual([wrong, false]);
  }
});

test('the lists in the schema are those in the code', () => {
  const { detail } = saga.properties;
  expect(saga.properties['detail-type'].enum).toEqual(
    TRANSITIONS.map((transition) => `counterstep.saga.${transition}`),
  );
  const reasons = [
    ...HALT_REASONS,
    ...REVIEW_REASONS,
    'pivot_committed',
    'irreversible_failure',
    'late_evidence',
    'damaged',
  ];
  expect(detail.properties.reason.enum).toEqual(reasons);
  const unpublished = ['waiting'];
  const states = SAGA_STATES.filter((state) => !unpublished.includes(state));
  expect(detail.properties.state.enum).toEqual(states);
  expect(tampered.properties.detail.properties.state.enum).toEqual([...SAGA_STATES]);
  expect(tampered.properties.detail.properties.found.enum).toEqual([...TAMPERING_KINDS]);
});

test('the page for listeners names every type, reason and member', () => {
  const page = textOf('docs/events.md');
  const words = [
    ...saga.properties['detail-type'].enum,
    tampered.properties['detail-type'].const,
    ...saga.properties.detail.properties.reason.enum,
    ...tampered.properties.detail.properties.found.enum,
    ...Object.keys(saga.properties.detail.properties),
    ...Object.keys(tampered.properties.detail.properties),
  ];
  expect(words.filter((word) => !page.includes(`\`${word}\``))).toEqual([]);
});
