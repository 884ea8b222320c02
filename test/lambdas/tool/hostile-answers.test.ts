import { defineSaga, defineTool } from 'counterstep';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { committed, pending } from '../../../lambdas/tool/answers.ts';
import { refused, retryable } from '../../../lambdas/tool/failures.ts';
import { implementTool } from '../../../lambdas/tool/implementation.ts';
import { keptCost, keptIds, keptWish } from '../../../lambdas/tool/kept.ts';
import { VirtualTime } from '../../../testing/virtual-time.ts';
import { FieldBench } from '../../field/bench.ts';
import { VirtualPlane } from '../../support/virtual-plane.ts';

/** Whatever an implementation says, its outcome enters the ledger. */

it('ids are kept short and well-formed, and the same id stays the same', () => {
  const long = 'x'.repeat(10_000);
  const kept = keptIds({ a: 'A-1', b: 7, c: long, d: '\ud800', e: null, f: { g: 1 } });
  expect(kept).toEqual({
    a: 'A-1',
    b: '7',
    c: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    d: '\ufffd',
  });
  expect(keptIds({ c: long }).c).toBe(kept.c);
  expect(keptIds({ c: `${long}y` }).c).not.toBe(kept.c);
  expect(
    Object.keys(
      keptIds(Object.fromEntries([...'abcdefghijklmnopqrstuvwxyz'].map((name) => [name, name]))),
    ),
  ).toHaveLength(16);
  for (const none of [undefined, null, 'x', 3]) expect(keptIds(none)).toEqual({});
});

it.each([
  [
    { costMinor: 250, currency: 'EUR' },
    { costMinor: 250, currency: 'EUR' },
  ],
  [{ costMinor: 2.5, currency: 'EUR' }, undefined],
  [{ costMinor: Number.NaN, currency: 'EUR' }, undefined],
  [{ costMinor: 1, currency: 'euro' }, undefined],
  [undefined, undefined],
])('the cost %j is kept as %j', (given, kept) => {
  expect(keptCost(given)).toEqual(kept);
});

it.each([
  [500, 500],
  [500.2, 501],
  [Number.NaN, undefined],
  [-1, undefined],
  [Number.POSITIVE_INFINITY, 86_400_000],
  ['5', undefined],
])('the wish to be asked after %j ms is kept as %j', (given, kept) => {
  expect(keptWish(given)).toBe(kept);
});

it.each([
  ['a wish in parts of milliseconds', () => pending({ askAgainInMs: 333.3 })],
  ['a wish that is no number', () => pending({ askAgainInMs: Number.NaN })],
  ['ids that are none', () => pending({ externalIds: { a: undefined } as never })],
  [
    'a retry after for ever',
    () => {
      throw retryable('later', 'later', { retryAfterMs: Number.NaN });
    },
  ],
  [
    'a code that is a page',
    () => {
      throw retryable(`<html>${'x'.repeat(1_000_000)}\ud800`, 'later');
    },
  ],
])('%s keeps no saga from its end', async (_what, answer) => {
  const bench = new FieldBench([
    { name: 'one', behave: (_call, commit, nth) => (nth === 1 ? answer() : commit()) },
  ]);
  const ended = await bench.run();
  expect(ended).toMatchObject({ state: 'completed', findings: [] });
  for (const body of ended.bodies) expect(body.length).toBeLessThan(4_096);
});

it('a cost that is none leaves the commit as it is', async () => {
  const bench = new FieldBench([
    {
      name: 'one',
      behave: (_call, commit) =>
        committed(commit(), { cost: { costMinor: Number.NaN, currency: 'EUR' } }),
    },
  ]);
  expect(await bench.run()).toMatchObject({ state: 'completed', findings: [] });
});

it('a refusal with an endless message is a refusal', async () => {
  const bench = new FieldBench([
    { name: 'one' },
    {
      name: 'two',
      behave: () => {
        throw refused('no', 'x'.repeat(2_000_000));
      },
    },
  ]);
  expect(await bench.run()).toMatchObject({ state: 'compensated', findings: [] });
});

it('an output schema that throws makes the answer unusable, and never loses the commit', async () => {
  const call = { dedupe: 'key', timeoutMs: 1_000, settleMs: 0 } as const;
  const tool = defineTool({
    name: 'odd',
    description: 'Has a schema that throws.',
    effect: 'reversible',
    input: z.object({}),
    output: z.object({ id: z.string() }).refine((value) => {
      throw new RangeError(`cannot judge ${value.id}`);
    }),
    forward: call,
    compensate: {
      ...call,
      input: z.object({ id: z.string() }),
      from: ({ output }) => ({ id: output.id }),
    },
  });
  const saga = defineSaga({ name: 'odd', version: '1', input: z.object({}) }, (steps) =>
    steps.step('one', tool, { input: () => ({}) }),
  );
  const undone: string[] = [];
  let calls = 0;
  const implemented = implementTool(tool, {
    forward: () => {
      calls += 1;
      return { id: 'ODD-1' };
    },
    compensate: ({ id }) => {
      undone.push(id);
    },
  });
  const time = new VirtualTime();
  const plane = new VirtualPlane({ sagas: [saga], tools: () => [implemented], time });
  const id = await time.use(async () => {
    await plane.up();
    const started = plane.start(saga, 'key', {});
    await time.run(() => false, time.now() + 30_000);
    return started;
  });
  expect(plane.state(id)?.status).toBe('compensated');
  expect([calls, undone]).toEqual([1, ['ODD-1']]);
  expect(plane.events(id).find((event) => event.type === 'step_committed')).toMatchObject({
    defect: { code: 'output_deviates', message: expect.stringContaining('RangeError') },
  });
});
