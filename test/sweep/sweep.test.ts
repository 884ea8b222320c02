import { describe, expect, test } from 'vitest';
import { StoreUnavailable } from '../../lambdas/ports/ledger-store.ts';
import type { Stores } from '../../lambdas/ports/stores.ts';
import { reportSweep } from '../../lambdas/sweep/report.ts';
import { DRIVE_CHECK_MS } from '../../statemachines/rules/protocol.ts';
import { faultyStores, type StoreCall } from '../../testing/faulty-stores.ts';
import { SweepWorld } from './world.ts';

describe('an entry of the registry', () => {
  test('is left while a drive runs that is not due', async () => {
    const world = new SweepWorld();
    const id = world.id('s');
    await world.start(id);
    await world.pass(DRIVE_CHECK_MS - 500);
    // The claim moves the saga's clock; event 1's entry stays where it is.
    await world.claim(id, 'a');
    await world.pass(500);
    const before = await world.entries();
    expect(await world.sweep.run()).toMatchObject({ seen: 1, granted: 0, moved: 0, removed: 0 });
    expect(await world.entries()).toEqual(before);
    expect(before).toHaveLength(1);
  });

  test('of a drive that vanished: the next one is granted and started, and the entry stays', async () => {
    const world = new SweepWorld();
    const id = world.id('s');
    await world.start(id);
    await world.pass(DRIVE_CHECK_MS);
    const before = await world.entries();
    expect(await world.sweep.run()).toMatchObject({ seen: 1, granted: 1, finished: true });
    expect(world.drives.map(({ epoch }) => epoch)).toEqual([1, 2]);
    expect(await world.state(id)).toMatchObject({ epoch: 2, drive: 'running', idleDrives: 1 });
    expect(await world.entries()).toEqual(expect.arrayContaining([...before]));
  });

  test('of a saga that is parked for later is moved there, and at no moment is there none', async () => {
    const calls: string[] = [];
    const noted = (stores: Stores): Stores => ({
      ...stores,
      registry: {
        due: (...given) => stores.registry.due(...given),
        add: async (entry) => {
          calls.push(`add ${entry.dueAt}`);
          await stores.registry.add(entry);
        },
        remove: async (entry) => {
          calls.push(`remove ${entry.dueAt}`);
          await stores.registry.remove(entry);
        },
      },
    });
    const world = new SweepWorld({ stores: noted });
    const id = world.id('s');
    await world.start(id);
    const entered = world.time.now() + DRIVE_CHECK_MS;
    await world.pass(DRIVE_CHECK_MS - 500);
    await world.assess(id);
    const { dueAt } = await world.state(id);
    await world.pass(500);
    calls.length = 0;
    expect(await world.sweep.run()).toMatchObject({ seen: 1, moved: 1, granted: 0 });
    expect(calls).toEqual([`add ${dueAt}`, `remove ${entered}`]);
    expect((await world.entries()).map((entry) => entry.dueAt)).toEqual([dueAt]);
    await world.pass(1_000);
    expect(await world.sweep.run()).toMatchObject({ seen: 1, granted: 1 });
  });

  test('of a saga that is woken comes due before its drive does: a pass that just missed it comes again in time', async () => {
    const world = new SweepWorld();
    const id = world.id('s');
    await world.start(id);
    await world.pass(DRIVE_CHECK_MS - 500);
    await world.assess(id);
    await world.pass(2_000);
    await world.does(id, { kind: 'grant', reason: 'due' });
    const woken = world.time.now();
    expect(await world.state(id)).toMatchObject({
      drive: 'running',
      dueAt: woken + DRIVE_CHECK_MS,
    });
    expect((await world.entries()).map(({ dueAt }) => dueAt - woken)).toContain(
      DRIVE_CHECK_MS - 5_000,
    );
  });

  test('of a saga that is over is removed', async () => {
    const world = new SweepWorld();
    const id = world.id('s');
    await world.start(id);
    await world.finish(id);
    await world.memory.registry.add({ ...id, dueAt: world.time.now() });
    expect(await world.sweep.run()).toMatchObject({ seen: 1, removed: 1 });
    expect(await world.entries()).toEqual([]);
  });

  test('of a start that never came is removed', async () => {
    const world = new SweepWorld();
    await world.memory.registry.add({ ...world.id('never'), dueAt: world.time.now() });
    expect(await world.sweep.run()).toMatchObject({ seen: 1, removed: 1 });
    expect(await world.entries()).toEqual([]);
  });

  test('that is there several times grants once', async () => {
    const world = new SweepWorld();
    const id = world.id('s');
    await world.start(id);
    for (const early of [1, 2, 3]) {
      await world.memory.registry.add({ ...id, dueAt: world.time.now() + early });
    }
    await world.pass(DRIVE_CHECK_MS);
    expect(await world.sweep.run()).toMatchObject({ seen: 4, granted: 1 });
    expect((await world.state(id)).epoch).toBe(2);
  });

  test('of a ledger that does not hold stays, is told of each time, and delays no other', async () => {
    const world = new SweepWorld();
    const broken = world.id('broken');
    await world.start(broken);
    await world.pass(1);
    for (const name of ['a', 'b', 'c']) await world.start(world.id(name));
    world.damage(broken);
    await world.pass(DRIVE_CHECK_MS);
    for (const granted of [3, 0]) {
      const report = await world.sweep.run();
      expect(report).toMatchObject({ granted, finished: true });
      expect(report.damaged).toMatchObject([broken]);
    }
    expect(world.metrics.counts.get('DamagedLedgers')).toBe(2);
    expect((await world.entries()).map(({ sagaId }) => sagaId)).toContain('broken');
  });
});

describe('a pass', () => {
  const MANY = 450;
  const manyDue = async (world: SweepWorld) => {
    for (let n = 0; n < MANY; n += 1) await world.start(world.id(`s${n}`, `tenant-${n % 7}`));
    await world.pass(DRIVE_CHECK_MS);
  };

  test('reads every page', async () => {
    const world = new SweepWorld();
    await manyDue(world);
    expect(await world.sweep.run()).toMatchObject({ seen: MANY, granted: MANY, latestMs: 0 });
  });

  test('beside another pass grants each saga once', async () => {
    const world = new SweepWorld();
    await manyDue(world);
    let through = false;
    const both = Promise.all([world.sweep.run(), world.other().run()]);
    both.finally(() => {
      through = true;
    });
    await world.time.run(() => through, world.time.now() + 10_000);
    const [one, two] = await both;
    expect(one.granted + two.granted).toBe(MANY);
    const epochs = [...world.memory.held.ledgers.values()].map((records) => records.length);
    expect(new Set(epochs)).toEqual(new Set([2]));
  });

  test('whose time is up says so, and the next one does the rest', async () => {
    const world = new SweepWorld();
    await manyDue(world);
    expect(await world.sweep.run({ endsAt: world.time.now() })).toMatchObject({
      seen: 0,
      finished: false,
    });
    expect(await world.sweep.run()).toMatchObject({ granted: MANY, finished: true });
  });

  test('says how late it found the latest', async () => {
    const world = new SweepWorld();
    await world.start(world.id('a'));
    await world.pass(5_000);
    await world.start(world.id('b'));
    await world.pass(DRIVE_CHECK_MS + 2_000);
    expect(await world.sweep.run()).toMatchObject({ granted: 2, latestMs: 7_000 });
  });

  test('in which a due saga could not be looked at says how late that one is', async () => {
    let fails = false;
    const onCall = ({ store, operation, phase }: StoreCall): void => {
      const reading = store === 'ledger' && operation === 'head' && phase === 'before';
      if (fails && reading) throw new StoreUnavailable('no answer');
    };
    const world = new SweepWorld({ stores: (given) => faultyStores(given, { onCall }) });
    await world.start(world.id('s'));
    fails = true;
    await world.pass(DRIVE_CHECK_MS + 90_000);
    expect(await world.sweep.run()).toMatchObject({ seen: 1, granted: 0, latestMs: 90_000 });
    await world.pass(60_000);
    const report = await world.sweep.run();
    expect(report).toMatchObject({ seen: 1, granted: 0, latestMs: 150_000 });
    reportSweep(world.metrics, report);
    expect(world.metrics.gauges.get('OldestDue')).toBe(150);
    fails = false;
    expect(await world.sweep.run()).toMatchObject({ seen: 1, granted: 1, latestMs: 150_000 });
  });
});

test('12: a saga that cannot move on is found within two minutes of its `dueAt`, until a person is asked', async () => {
  const world = new SweepWorld();
  const SAGAS = 40;
  const ids = Array.from({ length: SAGAS }, (_, n) => world.id(`s${n}`));
  // Nothing that starts ever runs; the sweep comes once a minute, at its own second.
  for (const [n, id] of ids.entries()) {
    world.time.world.timer(n * 7_919, () => void world.start(id));
  }
  const again = (): void => {
    void world.sweep.run();
    world.time.world.timer(60_000, again);
  };
  world.time.world.timer(17_000, again);
  await world.pass(30 * 60_000);

  for (const id of ids) {
    const state = await world.state(id);
    expect(state).toMatchObject({ status: 'needs_review', review: { reason: 'no_progress' } });
  }
  const { held } = world.memory;
  const lateness = [...held.ledgers.values()].flatMap((records) =>
    records.slice(1).map((record, index) => {
      const found = JSON.parse(record.body) as { readonly at: number };
      const before = JSON.parse(records[index]?.body ?? '') as { readonly dueAt: number };
      return found.at - before.dueAt;
    }),
  );
  expect(lateness.length).toBe(SAGAS * 9);
  expect(Math.max(...lateness)).toBeLessThanOrEqual(120_000);
  expect(Math.min(...lateness)).toBeGreaterThanOrEqual(0);
});
