import {
  DEFINITION_ERROR,
  type DefinitionError,
  defineSagaFromSteps,
  defineTool,
  type UncheckedSagaSpec,
} from 'counterstep';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { longestMs } from '../../../statemachines/language/budget-checks.ts';
import { sagaOf } from '../../support/saga-builder.ts';

const io = z.object({ id: z.string() });

/** Every problem as `place: problem. remedy`. */
function problemsOf(build: () => unknown): string[] {
  try {
    build();
  } catch (error) {
    if (!(error instanceof Error) || error.name !== DEFINITION_ERROR) throw error;
    const { problems } = error as DefinitionError;
    return problems.map(({ place, problem, remedy }) => `${place}: ${problem}. ${remedy}`);
  }
  return [];
}

const tool = (more: object) =>
  defineTool({
    name: 'book',
    description: 'Books.',
    effect: 'irreversible',
    input: io,
    output: io,
    forward: { dedupe: 'key', timeoutMs: 1_000, settleMs: 0 },
    ...more,
  } as Parameters<typeof defineTool>[0]);

describe('a tool is refused', () => {
  test.each([
    ['failures of none', { failures: 0, withinMs: 1, openMs: 1 }],
    ['failures without end', { failures: 101, withinMs: 1, openMs: 1 }],
    ['no time', { failures: 5, withinMs: 1_000 }],
    ['a fraction', { failures: 5, withinMs: 0.5, openMs: 1 }],
    ['a word', 'yes'],
    ['nothing', null],
  ])('with a breaker of %s', (_, breaker) => {
    const [problem, ...others] = problemsOf(() => tool({ breaker }));
    expect(others).toEqual([]);
    expect(problem).toContain('tool "book": its breaker');
    expect(problem).toContain('Use `{ failures, withinMs, openMs }`');
  });

  test('with a time for its tries in which not one has room', () => {
    expect(problemsOf(() => tool({ retry: { forMs: 999 } }))).toEqual([
      'tool "book", forward: retry.forMs is 999. Use whole milliseconds, 1000 or more',
    ]);
  });

  test('with an odd price', () => {
    expect(
      problemsOf(() => tool({ forwardCost: { estimateMinor: 0.5, currency: 'EUR' } })),
    ).toEqual([
      'tool "book": its forwardCost is malformed. Use `{ estimateMinor: <whole cents, 0 or more>, currency: \'EUR\' }` with an ISO 4217 code',
    ]);
  });

  test('and else it has what it declares', () => {
    const breaker = { failures: 5, withinMs: 60_000, openMs: 30_000 };
    const forwardCost = { estimateMinor: 5, currency: 'EUR' };
    expect(tool({ breaker, forwardCost, retry: { forMs: 5_000 } })).toMatchObject({
      breaker,
      forwardCost,
      forward: { retry: { maxAttempts: 3, forMs: 5_000 } },
    });
    expect(tool({})).not.toHaveProperty('breaker');
    expect(tool({}).forward.retry).not.toHaveProperty('forMs');
  });
});

describe('the longest that a step may take', () => {
  const call = (maxAttempts: number, forMs?: number) =>
    tool({
      retry: {
        maxAttempts,
        backoffMs: 100,
        maxBackoffMs: 300,
        ...(forMs === undefined ? {} : { forMs }),
      },
    }).forward;

  test.each([
    [1, undefined, 1_000],
    [2, undefined, 2_100],
    [5, undefined, 5_000 + 100 + 200 + 300 + 300],
    [5, 1_500, 2_500],
    [2, 60_000, 2_100],
    [1_000_000_000, 86_400_000, 86_401_000],
  ])('%i tries within %s ms: %i ms', (attempts, forMs, most) => {
    expect(longestMs(call(attempts, forMs))).toBe(most);
  });
});

describe('a saga is refused whose step cannot fit', () => {
  const two = [
    { name: 'a', maxAttempts: 1 },
    { name: 'b', maxAttempts: 3 },
  ];

  test('into its time', () => {
    expect(problemsOf(() => sagaOf(two, { deadlineMs: 3_299 }))).toEqual([
      'saga "sample", step "b": its tries may take 3300 ms, longer than the saga\'s deadline of 3299 ms. Give the tool fewer or shorter tries (timeoutMs, retry.maxAttempts, retry.forMs), or the saga a deadlineMs of 3300 or more',
    ]);
    expect(problemsOf(() => sagaOf(two, { deadlineMs: 3_300 }))).toEqual([]);
  });

  test('into its tries, beside one for each other step', () => {
    expect(problemsOf(() => sagaOf(two, { budget: { attempts: 3 } }))).toEqual([
      'saga "sample", step "b": its 3 tries, with one for each other step, do not fit in the saga\'s budget of 3. Give the tool fewer tries (retry.maxAttempts), or the saga a budget.attempts of 4 or more',
    ]);
    expect(problemsOf(() => sagaOf(two, { budget: { attempts: 4 } }))).toEqual([]);
  });

  test('into its cost: the first with which it is too much is named', () => {
    const priced = [
      { name: 'a', forwardCostMinor: 60 },
      { name: 'b', forwardCostMinor: 41 },
      { name: 'c', forwardCostMinor: 10 },
    ];
    const within = (costMinor: number) => () =>
      sagaOf(priced, { budget: { cost: { costMinor, currency: 'EUR' } } });
    expect(problemsOf(within(100))).toEqual([
      'saga "sample", step "b": with it the steps cost 101 (minor units) going forward, more than the saga\'s budget of 100. Use cheaper tools, or give the saga a budget.cost of 111 or more',
    ]);
    expect(problemsOf(within(111))).toEqual([]);
  });

  test('but not for what comes after the irreversible step', () => {
    const after = [
      { name: 'mail', effect: 'irreversible', maxAttempts: 1, forwardCostMinor: 5 },
      { name: 'note', effect: 'read_only', maxAttempts: 9, forwardCostMinor: 500 },
    ] as const;
    const budget = { attempts: 1, cost: { costMinor: 5, currency: 'EUR' } };
    expect(problemsOf(() => sagaOf(after, { deadlineMs: 1_000, budget }))).toEqual([]);
  });

  test('with a budget that makes no sense, or counts in another currency', () => {
    const build = (spec: Partial<UncheckedSagaSpec>) => () =>
      defineSagaFromSteps({ name: 'trip', version: '1', input: io, ...spec }, [
        {
          name: 'a',
          tool: tool({ forwardCost: { estimateMinor: 5, currency: 'EUR' } }),
          input: () => ({ id: 'a' }),
        },
      ]);
    expect(problemsOf(build({ budget: { attempts: 0 } }))).toEqual([
      'saga "trip": budget.attempts is 0. Use a whole number, 1 or more',
    ]);
    expect(problemsOf(build({ budget: { cost: { costMinor: 1.5, currency: 'EUR' } } }))).toEqual([
      'saga "trip": its budget.cost is malformed. Use `{ costMinor: <whole cents, 0 or more>, currency: \'EUR\' }` with an ISO 4217 code',
    ]);
    expect(problemsOf(build({ budget: { cost: { costMinor: 100, currency: 'USD' } } }))).toEqual([
      'saga "trip", step "a": its forwardCost is in EUR, but this saga counts in USD. Estimate all costs, the ceiling and the budget of a saga in one currency',
    ]);
  });
});
