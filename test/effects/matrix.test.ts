import { defineSaga, defineTool } from 'counterstep';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { failureMatrix } from '../../testing/index.ts';

const call = { dedupe: 'key', timeoutMs: 1_000, settleMs: 500 } as const;
const id = z.object({ id: z.string() });

function toolOf(name: string) {
  return defineTool({
    name,
    description: `Does ${name}.`,
    effect: 'reversible',
    input: id,
    output: id,
    forward: call,
    compensate: { ...call, input: id, from: ({ output }) => output },
  });
}

const trip = defineSaga({ name: 'trip', version: '1', input: id }, (saga) =>
  saga
    .step('pay', toolOf('pay-card'), { input: ({ input }) => input, checkpoint: true })
    .step('pick', toolOf('pick-item'), { input: ({ input }) => input })
    .step('ship', toolOf('ship-parcel'), { input: ({ input }) => input }),
);

test('a saga with a checkpoint survives every failure of a step behind it', async () => {
  const { cells, notReached } = await failureMatrix(trip, { input: { id: 'A-1' }, only: 'ship' });
  expect(notReached).toEqual([]);
  const compensated = cells.filter(({ finally: end }) => end === 'compensated');
  expect(compensated.length).toBeGreaterThan(1);
  for (const { case: name, standing } of compensated) {
    expect([name, standing.pay]).toEqual([name, expect.stringMatching(/^(kept|stands)$/)]);
  }
  const refused = cells.find(({ step, failure }) => step === 'ship' && failure === 'refused');
  expect(refused).toMatchObject({
    end: 'compensated',
    standing: { pay: 'kept', pick: 'reversed' },
  });
});

test('the step that closes the checkpoint is undone where everything is asked back', async () => {
  const { cells, notReached } = await failureMatrix(trip, { only: 'undo of pay: ' });
  expect(notReached).toEqual([]);
  const silent = cells.find(({ failure }) => failure === 'silent');
  expect(silent).toMatchObject({ end: 'compensated', standing: { pay: 'reversed' } });
});
