import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { LedgerId, LedgerRecord } from '../../lambdas/ports/ledger-store.ts';
import { StoreUnavailable } from '../../lambdas/ports/ledger-store.ts';
import type { SagaProjection } from '../../lambdas/ports/saga-projection.ts';
import { NOTHING_NOTED } from '../../lambdas/projection/noted.ts';
import { dynamoSagaIndex } from '../../lambdas/stores/dynamodb/saga-index.ts';
import { type Dynalite, startDynalite } from '../support/dynalite.ts';
import { ALL_STORIES, inserted, ledgerOf, type Story } from './ledgers.ts';
import { keyOf, MemoryProjection, OutboxWorld } from './world.ts';

let server: Dynalite;
beforeAll(async () => {
  server = await startDynalite();
});
afterAll(() => server.close());

let tenants = 0;
/** One tenant for each run, so that all may share a table. */
function freshTenant(): string {
  tenants += 1;
  return `tenant-${tenants}`;
}

interface Delivery {
  readonly id: LedgerId;
  readonly record: LedgerRecord;
}

/** How a run goes wrong. */
interface Trouble {
  readonly stories: readonly Story[];
  /** Sorts the deliveries; those behind their number are lost, but for each saga's last record. */
  readonly order: readonly number[];
  readonly repeats: readonly number[];
  readonly lost: readonly boolean[];
  readonly batchSize: number;
  /** True: the bus refuses, or the projection fails; one for each call, and then all is well. */
  readonly refusals: readonly boolean[];
  readonly failures: readonly boolean[];
}

const MAX_RECORDS = 3 * 12;
const troubles: fc.Arbitrary<Trouble> = fc.record({
  stories: fc.array(fc.constantFrom(...ALL_STORIES), { minLength: 1, maxLength: 3 }),
  order: fc.array(fc.nat(1_000), { minLength: MAX_RECORDS * 2, maxLength: MAX_RECORDS * 2 }),
  repeats: fc.array(fc.nat(MAX_RECORDS - 1), { maxLength: MAX_RECORDS }),
  lost: fc.array(fc.boolean(), { minLength: MAX_RECORDS, maxLength: MAX_RECORDS }),
  batchSize: fc.integer({ min: 1, max: 12 }),
  refusals: fc.array(fc.boolean(), { maxLength: 12 }),
  failures: fc.array(fc.boolean(), { maxLength: 12 }),
});

/** Fails as often as it is told, before or after it did what it was asked. */
function failing(projection: SagaProjection, failures: readonly boolean[]): SagaProjection {
  let calls = 0;
  const strike = (): void => {
    calls += 1;
    if (failures[calls - 1] === true) throw new StoreUnavailable('injected');
  };
  return {
    noted: (id) => projection.noted(id),
    async note(id, change, over) {
      strike();
      await projection.note(id, change, over);
      strike();
    },
  };
}

async function runs(trouble: Trouble, projection: SagaProjection): Promise<void> {
  const tenant = freshTenant();
  const world = new OutboxWorld({ projection: failing(projection, trouble.failures) });
  const sagas = trouble.stories.map((story, n) => ({ story, id: { tenant, sagaId: `saga-${n}` } }));
  const written: Delivery[] = [];
  for (const { story, id } of sagas) {
    const records = ledgerOf(story, id);
    await world.append(id, records);
    written.push(...records.map((record) => ({ id, record })));
  }
  let asked = 0;
  world.bus.refuses = () => {
    asked += 1;
    return trouble.refusals[asked - 1] === true;
  };

  const isLast = ({ id, record }: Delivery) =>
    !written.some((each) => each.id === id && each.record.seq > record.seq);
  const kept = written.filter((each, n) => isLast(each) || trouble.lost[n] !== true);
  const again = trouble.repeats.flatMap((n) => written[n] ?? []);
  const deliveries = [...kept, ...again]
    .map((delivery, n) => ({ delivery, at: trouble.order[n] ?? 0 }))
    .sort((a, b) => a.at - b.at)
    .map(({ delivery }) => inserted(delivery.id, delivery.record));
  for (let at = 0; at < deliveries.length; at += trouble.batchSize) {
    const batch = deliveries.slice(at, at + trouble.batchSize);
    // As Lambda does: handed over again until nothing of it fails.
    for (let tries = 0; (await world.take(...batch)).failed.length > 0; tries += 1) {
      if (tries > 100) throw new Error('it never ends');
    }
  }

  const calm = new OutboxWorld();
  for (const { story, id } of sagas) {
    for (const record of ledgerOf(story, id)) await calm.take(inserted(id, record));
  }
  for (const { id } of sagas) {
    // How often it was written is no part of what is known.
    const { revision: _, ...noted } = (await projection.noted(id)) ?? NOTHING_NOTED;
    expect(noted).toEqual(await calm.projection.noted(id));
    const own = world.bus.taken.filter(({ detail }) => keyOf(detail) === keyOf(id));
    const first = new Map(own.map((event) => [event.detail.id, event]));
    // Each once at least, none that is not due, in order where each is first seen.
    expect([...first.values()]).toEqual(
      calm.bus.taken.filter(({ detail }) => detail.sagaId === id.sagaId),
    );
    for (const event of own) expect(event).toEqual(first.get(event.detail.id));
  }
}

test('any order, repetition and loss of records ends the same, with each transition published in order', async () => {
  await fc.assert(
    fc.asyncProperty(troubles, (trouble) => runs(trouble, new MemoryProjection())),
    { numRuns: 200 },
  );
});

test('also over DynamoDB', async () => {
  const projection = dynamoSagaIndex({
    client: server.client,
    table: server.tables.coordination,
  });
  await fc.assert(
    fc.asyncProperty(troubles, (trouble) => runs(trouble, projection)),
    { numRuns: 12 },
  );
});
