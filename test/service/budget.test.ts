import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { StoreUnavailable } from '../../lambdas/ports/ledger-store.ts';
import { DEFINITION_ERROR } from '../../statemachines/language/problems.ts';
import { faultyStores, type StoreCall } from '../../testing/faulty-stores.ts';
import { openServer, problemOf, type Server } from '../api/server.ts';
import { orderInput } from './sagas.ts';
import { ada, EMPTY, problemIn, stranger, World } from './world.ts';

const body = JSON.stringify(orderInput);
const document = '{}';

describe('a start within a budget', () => {
  test('is charged once, and says so in event 1', async () => {
    const world = new World({ tenants: { acme: { openSagas: 2 } } });
    const saga = await world.service.start(ada, 'order', 'k-1', body);
    await world.service.start(ada, 'order', 'k-1', body);
    expect(await world.stores.budgets.usage('acme')).toEqual({
      openSagas: 1,
      // Its one costly step is estimated at 300, of which recovery may spend 100 by itself.
      recoveryCostMinor: { EUR: 100 },
    });
    expect(world.events('acme', saga.id)[0]).toMatchObject({ charged: true });
    expect(world.stores.held.registry.size).toBe(1);
  });

  test('without a budget costs nothing, and is counted nowhere', async () => {
    const calls: string[] = [];
    const note = ({ store, operation, phase }: StoreCall): void => {
      if (phase === 'before') calls.push(`${store}.${operation}`);
    };
    const world = new World({
      tenants: { umbra: { openSagas: 0 } },
      around: (stores) => faultyStores(stores, { onCall: note }),
    });
    const saga = await world.service.start(ada, 'document', 'k-1', document);
    expect(calls.filter((call) => call.startsWith('budgets'))).toEqual([]);
    expect(world.events('acme', saga.id)[0]).not.toHaveProperty('charged');
  });

  test('is charged before event 1, and after the registry knows of it', async () => {
    const calls: string[] = [];
    const world = new World({
      tenants: { '*': { openSagas: 5 } },
      around: (stores) =>
        faultyStores(stores, {
          onCall: ({ store, operation, phase }) => {
            if (phase === 'before' && operation !== 'read') calls.push(`${store}.${operation}`);
          },
        }),
    });
    await world.service.start(ada, 'document', 'k-1', document);
    expect(calls).toEqual(['budgets.usage', 'registry.add', 'budgets.charge', 'ledger.append']);
  });

  test('is refused where there is no room, and leaves nothing behind', async () => {
    const world = new World({ tenants: { acme: { openSagas: 0 } } });
    const problem = await problemIn(world.service.start(ada, 'order', 'k-1', body));
    expect(problem).toMatchObject({
      type: 'budget-spent',
      status: 429,
      at: 'openSagas',
      until: world.clock.now() + 10_000,
    });
    expect(problem.message).toContain('ask for a larger budget (openSagas)');
    expect(world.held()).toBe(EMPTY);
    expect(await world.stores.budgets.usage('acme')).toMatchObject({ openSagas: 0 });
  });

  test('names the budget that recovery would exceed', async () => {
    const world = new World({ tenants: { acme: { recoveryCostMinor: { EUR: 250 } } } });
    await world.service.start(ada, 'order', 'k-1', body);
    await world.service.start(ada, 'order', 'k-2', body);
    const problem = await problemIn(world.service.start(ada, 'order', 'k-3', body));
    expect(problem).toMatchObject({ type: 'budget-spent', at: 'recoveryCostMinor.EUR' });
    expect(problem.detail).toContain('250 EUR');
    // What costs nothing to undo has room.
    await world.service.start(ada, 'document', 'k-4', document);
  });

  test('that was made before is found again, though the budget is full', async () => {
    const world = new World({ tenants: { acme: { openSagas: 1 } } });
    const first = await world.service.start(ada, 'document', 'k-1', document);
    expect(await world.service.start(ada, 'document', 'k-1', document)).toMatchObject({
      id: first.id,
      replayed: true,
    });
    const other = await problemIn(world.service.start(ada, 'document', 'k-2', document));
    expect(other.type).toBe('budget-spent');
    // Another tenant has none to spend.
    await world.service.start(stranger, 'document', 'k-2', document);
  });

  test('of many at once lets as many in as there is room for', async () => {
    const world = new World({ tenants: { acme: { openSagas: 3 } } });
    const starts = Array.from({ length: 10 }, (_, at) =>
      world.serving(world.sagas).start(ada, 'document', `k-${at}`, document),
    );
    const ends = await Promise.allSettled(starts);
    expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
    expect(world.stores.held.ledgers.size).toBe(3);
    expect((await world.stores.budgets.usage('acme')).openSagas).toBe(3);
  });

  test('of one key, many at once, is charged once', async () => {
    const world = new World({ tenants: { acme: { openSagas: 1 } } });
    const starts = Array.from({ length: 6 }, () =>
      world.serving(world.sagas).start(ada, 'document', 'k-1', document),
    );
    const ends = await Promise.all(starts);
    expect(new Set(ends.map(({ id }) => id)).size).toBe(1);
    expect((await world.stores.budgets.usage('acme')).openSagas).toBe(1);
  });

  test('whose answer is lost is charged no second time when it is repeated', async () => {
    let lost = false;
    const world = new World({
      tenants: { acme: { openSagas: 1 } },
      around: (stores) =>
        faultyStores(stores, {
          onCall: ({ store, operation, phase }) => {
            if (store !== 'budgets' || operation !== 'charge' || phase !== 'after' || lost) return;
            lost = true;
            throw new StoreUnavailable('no answer');
          },
        }),
    });
    await world.service.start(ada, 'document', 'k-1', document);
    expect(lost).toBe(true);
    expect((await world.stores.budgets.usage('acme')).openSagas).toBe(1);
  });

  test('that is charged too late to be sure of its entry is not made, and can be repeated', async () => {
    let slow = true;
    const world: World = new World({
      tenants: { acme: { openSagas: 1 } },
      around: (stores) =>
        faultyStores(stores, {
          onCall: ({ operation, phase }) => {
            if (slow && operation === 'charge' && phase === 'after') world.clock.pass(60_000);
          },
        }),
    });
    const start = () => world.service.start(ada, 'document', 'k-1', document);
    await expect(start()).rejects.toThrow(StoreUnavailable);
    expect(world.stores.held.ledgers.size).toBe(0);
    slow = false;
    expect((await start()).replayed).toBeUndefined();
    expect((await world.stores.budgets.usage('acme')).openSagas).toBe(1);
  });

  test('a book that makes no sense is refused when the service is made', () => {
    expect(() => new World({ tenants: { acme: { openSagas: 0.5 } } })).toThrow(
      expect.objectContaining({ name: DEFINITION_ERROR }) as Error,
    );
  });
});

describe('a saga run again within a budget', () => {
  /** A saga that was cancelled before it did anything. */
  async function compensated(world: World): Promise<string> {
    const { id } = await world.service.start(ada, 'document', 'k-1', document);
    const plan = world.sagas.find(({ name }) => name === 'document')?.plan;
    if (plan === undefined) throw new Error('no such definition');
    const ledger = { tenant: 'acme', sagaId: id };
    await world.ledger.write(ledger, { kind: 'cancel', reason: 'no' }, { actor: 'ada' });
    for (const kind of ['assess', 'settle'] as const) {
      await world.ledger.write(ledger, { kind, plan, epoch: 1 }, { actor: 'drive' });
    }
    return id;
  }

  test('is charged as every other, in place of the one that ended', async () => {
    const world = new World({ tenants: { acme: { openSagas: 1 } } });
    const old = await compensated(world);
    expect((await world.stores.budgets.usage('acme')).openSagas).toBe(0);
    const saga = await world.service.rerun(ada, old, 'again-1', '');
    expect(world.events('acme', saga.id)[0]).toMatchObject({ charged: true, previous: old });
    expect((await world.stores.budgets.usage('acme')).openSagas).toBe(1);
  });

  test('is refused where there is no room, before the old one is taken', async () => {
    const world = new World({ tenants: { acme: { openSagas: 1 } } });
    const old = await compensated(world);
    await world.service.start(ada, 'document', 'k-2', document);
    const held = world.held();
    const problem = await problemIn(world.service.rerun(ada, old, 'again-1', ''));
    expect(problem.type).toBe('budget-spent');
    expect(world.held()).toBe(held);
  });
});

describe('over HTTP', () => {
  let server: Server;
  beforeAll(async () => {
    const world = new World({ tenants: { acme: { openSagas: 1 } } });
    server = await openServer(world.service, { ada });
  });
  afterAll(() => server.close());

  test('a full budget is 429 with the time to ask again, the budget and the remedy', async () => {
    const start = (key: string) =>
      server.post('/v1/sagas/document', document, { 'idempotency-key': key });
    expect((await start('k-1')).status).toBe(202);
    const refused = await start('k-2');
    expect(refused.headers.get('retry-after')).toBe('10');
    expect(await problemOf(refused)).toMatchObject({
      type: 'urn:counterstep:problem:budget-spent',
      status: 429,
      title: 'Budget spent',
      at: 'openSagas',
      detail: 'the tenant has as many open sagas as its budget allows (1)',
    });
    expect((await start('k-1')).status).toBe(202);
  });
});
