import { DefinitionError, defineSaga, defineSagaFromSteps, sagaGraph } from 'counterstep';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { stepRecords } from '../../../lambdas/service/start.ts';
import { line, spec, stepOf, toolOf, tools } from '../samples.ts';

type Steps = Parameters<typeof defineSagaFromSteps>[1];

/** A step that closes a checkpoint. */
const closing = (...args: Parameters<typeof stepOf>) => ({ ...stepOf(...args), checkpoint: true });

function problemsOf(steps: Steps): string {
  try {
    defineSagaFromSteps(spec, steps);
  } catch (error) {
    if (error instanceof DefinitionError) return error.message;
    throw error;
  }
  return 'none';
}

describe('a step that closes a checkpoint', () => {
  const saga = defineSaga(
    { name: 'trip', version: '1', input: z.object({ id: z.string() }) },
    (s) =>
      s
        .step('hold', tools.hold, { input: ({ input }) => input, checkpoint: true })
        .step('charge', tools.charge, { input: ({ input }) => input, checkpoint: false }),
  );

  test('says so in the plan, in event 1 and on the picture', () => {
    expect(saga.plan.steps.map((step) => step.checkpoint)).toEqual([true, undefined]);
    expect(stepRecords(saga)).toEqual([
      { name: 'hold', tool: 'hold-stock', effect: 'reversible', checkpoint: true },
      { name: 'charge', tool: 'charge-card', effect: 'compensable' },
    ]);
    const picture = sagaGraph(saga.plan);
    expect(picture).toContain('<b>hold</b><br/>hold-stock<br/>reversible<br/>checkpoint');
    expect(picture.match(/checkpoint/g)).toHaveLength(1);
  });

  test('is part of what the digest names; without one the plan is what it was', () => {
    const steps = [stepOf('hold', tools.hold), stepOf('charge', tools.charge)];
    const plain = defineSagaFromSteps(spec, steps);
    const [first, ...others] = steps as [Steps[number], ...Steps];
    const closed = defineSagaFromSteps(spec, [{ ...first, checkpoint: true }, ...others]);
    const open = defineSagaFromSteps(spec, [{ ...first, checkpoint: false }, ...others]);
    expect(closed.plan.digest).not.toBe(plain.plan.digest);
    expect(open.plan.digest).toBe(plain.plan.digest);
    expect(JSON.stringify(line.plan)).not.toContain('checkpoint');
  });
});

describe('a checkpoint is refused', () => {
  test('while another step may run beside it, with the order that mends it', () => {
    const text = problemsOf([
      stepOf('open', tools.hold),
      closing('left', tools.charge, ['open']),
      stepOf('right', tools.hold, ['open']),
      stepOf('far', tools.hold, ['open']),
      stepOf('close', tools.charge, ['left', 'right', 'far']),
    ]);
    expect(text).toContain(
      'step "left": it closes a checkpoint while "right", "far" may still run beside it, so nobody could say what the checkpoint keeps. Order "right", "far" with `after`: before "left", or behind it.',
    );
  });

  test.each([
    ['at the irreversible step', [closing('send', tools.send)], /at an irreversible step/],
    [
      'behind it',
      [stepOf('send', tools.send), closing('note', tools.look)],
      /step "note": it closes a checkpoint behind the irreversible "send".*Leave `checkpoint` out/,
    ],
  ])('%s, where nothing is undone any more', (_where, steps, problem) => {
    expect(problemsOf(steps)).toMatch(problem);
  });

  test('where it is neither true nor false', () => {
    const step = { ...stepOf('hold', tools.hold), checkpoint: 'paid' as unknown as boolean };
    expect(problemsOf([step])).toContain('Use `checkpoint: true`, or leave it out');
  });
});

test('a checkpoint may stand on any step before the pivot, on all of them, and where branches meet', () => {
  expect(
    problemsOf([
      closing('look', tools.look),
      stepOf('left', tools.hold, ['look']),
      stepOf('right', tools.charge, ['look']),
      closing('join', toolOf('human_decision'), ['left', 'right']),
      closing('next', tools.hold),
      stepOf('send', tools.send),
      stepOf('note', tools.look),
    ]),
  ).toBe('none');
});
