import { describe, expect, test } from 'vitest';
import { StoreUnavailable } from '../../lambdas/ports/ledger-store.ts';
import type { Stores } from '../../lambdas/ports/stores.ts';
import { DRIVE_CHECK_MS } from '../../statemachines/rules/protocol.ts';
import { faultyStores } from '../../testing/faulty-stores.ts';
import { SweepWorld } from './world.ts';

const BUDGET = { openSagas: 1 };

const open = async (world: SweepWorld): Promise<number> =>
  (await world.memory.budgets.usage('acme')).openSagas;

describe("what a saga holds of its tenant's budget", () => {
  test('is given back by the writer of its last event', async () => {
    const world = new SweepWorld();
    const id = world.id('s');
    await world.memory.budgets.charge(id, BUDGET);
    await world.start(id, { charged: true });
    expect(await open(world)).toBe(1);
    await world.finish(id);
    expect(await open(world)).toBe(0);
    expect(await world.entries()).toEqual([]);
  });

  test('is given back by the sweep where the start came to nothing', async () => {
    const world = new SweepWorld();
    const id = world.id('s');
    // As a starter that died before event 1 leaves it.
    await world.memory.registry.add({ ...id, dueAt: world.time.now() + DRIVE_CHECK_MS });
    await world.memory.budgets.charge(id, BUDGET);
    expect(await world.sweep.run()).toMatchObject({ seen: 0 });
    expect(await open(world)).toBe(1);
    await world.pass(DRIVE_CHECK_MS);
    expect(await world.sweep.run()).toMatchObject({ seen: 1, removed: 1 });
    expect(await open(world)).toBe(0);
    expect(await world.entries()).toEqual([]);
  });

  test('is given back by the sweep where the last writer did not come to it', async () => {
    let fails = false;
    const stores = (given: Stores): Stores =>
      faultyStores(given, {
        onCall: ({ store, operation, phase }) => {
          if (fails && store === 'budgets' && operation === 'giveBack' && phase === 'before') {
            throw new StoreUnavailable('no answer');
          }
        },
      });
    const world = new SweepWorld({ stores });
    const id = world.id('s');
    await world.memory.budgets.charge(id, BUDGET);
    await world.start(id, { charged: true });
    fails = true;
    await world.finish(id);
    expect(await open(world)).toBe(1);
    expect(await world.entries()).toHaveLength(1);
    await world.pass(DRIVE_CHECK_MS);
    // While it cannot be given back, the entry stays.
    expect(await world.sweep.run()).toMatchObject({ seen: 1, removed: 0 });
    fails = false;
    expect(await world.sweep.run()).toMatchObject({ seen: 1, removed: 1 });
    expect(await open(world)).toBe(0);
    expect(await world.entries()).toEqual([]);
  });

  test('stays while the saga is open, however often the sweep looks', async () => {
    const world = new SweepWorld();
    const id = world.id('s');
    await world.memory.budgets.charge(id, BUDGET);
    await world.start(id, { charged: true });
    await world.pass(DRIVE_CHECK_MS);
    await world.sweep.run();
    await world.pass(DRIVE_CHECK_MS);
    await world.sweep.run();
    expect(await open(world)).toBe(1);
  });

  test('is asked about by no saga that was never charged', async () => {
    const calls: string[] = [];
    const stores = (given: Stores): Stores =>
      faultyStores(given, {
        onCall: ({ store, operation }) => {
          if (store === 'budgets') calls.push(operation);
        },
      });
    const world = new SweepWorld({ stores });
    await world.start(world.id('s'));
    await world.finish(world.id('s'));
    expect(calls).toEqual([]);
  });
});
