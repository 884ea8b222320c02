import { beforeEach, describe, expect, test } from 'vitest';
import { DRIVE_CHECK_MS, SKEW_MS } from '../../statemachines/rules/protocol.ts';
import { TIMEOUT_MS } from '../support/saga-builder.ts';
import { SweepWorld } from './world.ts';

const LEASE_MS = TIMEOUT_MS + 1_000 + SKEW_MS;

describe('an execution that is over before its saga is', () => {
  let world: SweepWorld;
  const id = { tenant: 'acme', sagaId: 's' };
  beforeEach(async () => {
    world = new SweepWorld();
    await world.start(id);
  });

  test('is replaced at once where it had moved the saga, and nothing is at work any more', async () => {
    await world.claim(id, 'a');
    await world.commit(id, 'a');
    expect(await world.sweep.ended({ ...id, epoch: 1 })).toBe(true);
    expect(await world.state(id)).toMatchObject({ epoch: 2, drive: 'running', idleDrives: 0 });
    expect(world.drives.at(-1)).toMatchObject({ ...id, epoch: 2 });
  });

  test('is left to the pass where an attempt may still be at work', async () => {
    await world.claim(id, 'a');
    expect(await world.sweep.ended({ ...id, epoch: 1 })).toBe(false);
    await world.pass(LEASE_MS);
    expect(await world.sweep.ended({ ...id, epoch: 1 })).toBe(true);
  });

  test('is left to the pass where it moved nothing: a broken machine makes no storm of drives', async () => {
    for (let times = 0; times < 20; times += 1) {
      expect(await world.sweep.ended({ ...id, epoch: 1 })).toBe(false);
    }
    await world.pass(DRIVE_CHECK_MS);
    expect(await world.sweep.ended({ ...id, epoch: 1 })).toBe(true);
    expect(await world.state(id)).toMatchObject({ epoch: 2, idleDrives: 1 });
  });

  test('changes nothing where another drive runs, where the saga is parked, or is over', async () => {
    await world.claim(id, 'a');
    await world.commit(id, 'a');
    const refuse = async (epoch: number, of = id) => {
      const { seq } = await world.state(id);
      expect(await world.sweep.ended({ ...of, epoch })).toBe(false);
      expect((await world.state(id)).seq).toBe(seq);
    };
    await refuse(7);
    await refuse(1, { ...id, tenant: 'another' });
    await world.assess(id);
    await refuse(1);
    await world.pass(DRIVE_CHECK_MS);
    await world.sweep.run();
    await world.claim(id, 'b');
    await world.commit(id, 'b');
    const { epoch } = await world.state(id);
    expect(epoch).toBeGreaterThan(1);
    await refuse(1);
    await world.does(id, { ...world.forms.complete(), epoch } as never);
    await refuse(epoch);
  });

  test('told of by two at once is replaced once', async () => {
    await world.claim(id, 'a');
    await world.commit(id, 'a');
    let through = false;
    const both = Promise.all([
      world.sweep.ended({ ...id, epoch: 1 }),
      world.other().ended({ ...id, epoch: 1 }),
    ]);
    both.finally(() => {
      through = true;
    });
    await world.time.run(() => through, world.time.now() + 10_000);
    expect((await both).filter(Boolean)).toHaveLength(1);
    expect((await world.state(id)).epoch).toBe(2);
  });
});
