import { afterEach, describe, expect, test } from 'vitest';
import { refused } from '../../lambdas/tool/failures.ts';
import { EffectBench, type EffectStep, gate } from './bench.ts';

/** Forward graphs over the real engine. */

let bench: EffectBench | undefined;
afterEach(() => bench?.close());

/** `left` and `right` begin together; each waits for the test. */
async function open(
  left: NonNullable<EffectStep['forward']>,
  right: NonNullable<EffectStep['forward']>,
): Promise<EffectBench> {
  bench = await EffectBench.open([
    { name: 'open' },
    { name: 'left', after: ['open'], forward: left },
    { name: 'right', after: ['open'], forward: right },
    { name: 'close', after: ['left', 'right'] },
  ]);
  return bench;
}

describe('independent steps', () => {
  test('run side by side', async () => {
    const both = gate();
    let under = 0;
    const meet = async (): Promise<undefined> => {
      under += 1;
      if (under === 2) both.open();
      // Neither ends before the other has begun.
      await both.through;
      return undefined;
    };
    const world = await open(meet, meet);
    const saga = await world.run();
    expect(saga.state).toBe('completed');
    const asked = world.taken();
    expect([asked[0], asked.slice(1, 3).sort(), asked[3]]).toEqual([
      'open',
      ['left', 'right'],
      'close',
    ]);
    expect(world.findings(saga.id)).toEqual([]);
  });

  test('of which one fails: the other finishes, and is then undone; what follows both never begins', async () => {
    const failed = gate();
    const world = await open(
      () => {
        failed.open();
        throw refused('no', 'not today');
      },
      async () => {
        await failed.through;
        // Long enough for the refusal to stand in the ledger before this call commits.
        await new Promise((resolve) => setTimeout(resolve, 100));
        return { id: 'right-1' };
      },
    );
    const saga = await world.run();
    expect(saga).toMatchObject({
      state: 'compensated',
      steps: [
        { compensation: { state: 'done' } },
        { forward: { state: 'failed_terminal' }, compensation: { state: 'not_required' } },
        { forward: { state: 'done' }, compensation: { state: 'done' } },
        { forward: { state: 'pending', attempts: 0 } },
      ],
    });
    expect(world.taken().slice(3)).toEqual(['undo right', 'undo open']);
    const order = world
      .events(saga.id)
      .flatMap((event) =>
        'step' in event && event.type !== 'step_claimed' ? [`${event.type} ${event.step}`] : [],
      );
    expect(order.indexOf('step_failed left')).toBeLessThan(order.indexOf('step_committed right'));
    expect(world.findings(saga.id)).toEqual([]);
  });
});
