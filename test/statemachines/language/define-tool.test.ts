import { DEFINITION_ERROR, DefinitionError, defineTool, EFFECT_CLASSES } from 'counterstep';
import { expect, test } from 'vitest';
import { z } from 'zod';
import * as mini from 'zod/mini';
import { call, toolOf } from '../samples.ts';

const output = z.object({ receipt: z.string() });
const common = { name: 'charge', description: 'Charges.', input: z.object({}), output };
const undo = {
  ...call,
  input: output,
  from: (facts: { output: { receipt: string } }) => ({ receipt: facts.output.receipt }),
};

/** A definition as plain JavaScript may write it. */
function problemsOf(spec: object): string {
  try {
    defineTool(spec as Parameters<typeof defineTool>[0]);
  } catch (error) {
    if (error instanceof DefinitionError) return error.message;
    throw error;
  }
  return 'none';
}

test('every effect class can be defined, is frozen, and carries its policies', () => {
  for (const effect of EFFECT_CLASSES) {
    const tool = toolOf(effect);
    expect(tool.effect).toBe(effect);
    expect(Object.isFrozen(tool) && Object.isFrozen(tool.forward)).toBe(true);
    expect(tool.forward).toEqual({
      ...call,
      pendingForMs: 86_400_000,
      retry: { maxAttempts: 3, backoffMs: 200, maxBackoffMs: 10_000 },
      reconcile: false,
    });
  }
});

test('a key counts if it is remembered for longer than a call under it may take to arrive', () => {
  const forward = { ...call, timeoutMs: 5_000, keyTtlMs: 7_001 };
  expect(defineTool({ ...common, effect: 'irreversible', forward }).forward.keyTtlMs).toBe(7_001);
});

test('a read may be repeated, whatever its call says of repeats', () => {
  for (const dedupe of ['none', 'lookup', 'key'] as const) {
    const spec = { ...common, effect: 'read_only', reconcile: true } as const;
    const { forward } = defineTool({ ...spec, forward: { ...call, dedupe } });
    expect(forward.dedupe).toBe('key');
    expect(forward.keyTtlMs).toBeUndefined();
  }
});

test('an action overrides the retry of its tool, and the tool overrides the default', () => {
  const tool = defineTool({
    ...common,
    effect: 'reversible',
    retry: { maxAttempts: 5 },
    reconcile: true,
    forward: { ...call, dedupe: 'lookup', retry: { backoffMs: 50 } },
    compensate: undo,
  });
  expect(tool.forward.retry).toEqual({ maxAttempts: 5, backoffMs: 50, maxBackoffMs: 10_000 });
  expect(tool.compensate?.call.retry.maxAttempts).toBe(5);
  expect(tool.compensate?.call.reconcile).toBe(true);
  expect(tool.compensate?.from({ input: {}, output: { receipt: 'r' } })).toEqual({ receipt: 'r' });
});

test('a reading tool need not say how repeats are kept apart', () => {
  const tool = defineTool({
    ...common,
    input: mini.object({}),
    effect: 'read_only',
    forward: { timeoutMs: 10 },
  });
  expect(tool.forward).toMatchObject({ dedupe: 'key', settleMs: 0 });
});

test('the error names itself by a constant and lists every problem with its remedy', () => {
  const attempt = () =>
    defineTool({
      ...common,
      name: '',
      description: ' ',
      effect: 'reversible',
      forward: { ...call, timeoutMs: 0 },
      compensate: undo,
    });
  expect(attempt).toThrow(DefinitionError);
  try {
    attempt();
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error;
    expect(error.name).toBe(DEFINITION_ERROR);
    expect(error.place).toBe('tool ""');
    expect(error.problems).toHaveLength(3);
    expect(error.message).toBe(
      [
        'tool "" cannot be built (3 problems):',
        '- tool "": the name is empty. Use letters, digits, "-" and "_", beginning with a letter or a digit.',
        '- tool "": it has no description. Say in one sentence what it does, for people and agents who look for a tool.',
        '- tool "", forward: timeoutMs is 0. Use whole milliseconds, from 1 to 840000.',
      ].join('\n'),
    );
  }
});

test.each([
  ['no compensate', { effect: 'reversible' }, 'has no compensate'],
  ['no compensate', { effect: 'compensable' }, 'has no compensate'],
  [
    'no compensate',
    { effect: 'reversible_with_cost', cost: { estimateMinor: 1, currency: 'EUR' } },
    'has no compensate',
  ],
  ['no cost', { effect: 'reversible_with_cost', compensate: undo }, 'has no cost'],
  [
    'cost in words',
    { effect: 'compensable', compensate: undo, cost: { estimateMinor: 0.5, currency: 'euro' } },
    'its cost is malformed',
  ],
  [
    'cost of a read',
    { effect: 'read_only', cost: { estimateMinor: 1, currency: 'EUR' } },
    'Remove `cost`',
  ],
  ['undo of a read', { effect: 'read_only', compensate: undo }, 'would never run'],
  ['undo of the pivot', { effect: 'irreversible', compensate: undo }, 'Use `contain`'],
  ['undo by a person', { effect: 'human_decision', compensate: undo }, 'Remove `compensate`'],
  [
    'contain elsewhere',
    { effect: 'reversible', compensate: undo, contain: call },
    'Remove `contain`',
  ],
  [
    'undo without schema',
    { effect: 'reversible', compensate: { ...undo, input: {} } },
    'no input schema',
  ],
  [
    'undo without from',
    { effect: 'reversible', compensate: { ...undo, from: 'x' } },
    'has no from',
  ],
  [
    'lookup, nobody to ask',
    { effect: 'irreversible', forward: { ...call, dedupe: 'lookup' } },
    'no reconcile to look it up with',
  ],
  [
    'unknown dedupe',
    { effect: 'irreversible', forward: { ...call, dedupe: 'maybe' } },
    'dedupe is "maybe"',
  ],
  [
    'key memory without key',
    { effect: 'irreversible', forward: { ...call, dedupe: 'none', keyTtlMs: 5 } },
    "dedupe is not 'key'",
  ],
  [
    'a key that is forgotten at once',
    { effect: 'irreversible', forward: { ...call, timeoutMs: 5_000, keyTtlMs: 7_000 } },
    'which is 7000',
  ],
  [
    'no settle time',
    { effect: 'irreversible', forward: { dedupe: 'key', timeoutMs: 5 } },
    'settleMs is undefined',
  ],
  [
    'longer than a Lambda',
    { effect: 'irreversible', forward: { ...call, timeoutMs: 840_001 } },
    'from 1 to 840000',
  ],
  ['no forward', { effect: 'irreversible', forward: undefined }, 'forward is not declared'],
  ['no tries', { effect: 'irreversible', retry: { maxAttempts: 0 } }, 'makes no sense'],
  ['unknown class', { effect: 'undoable' }, 'Use one of read_only, reversible'],
  [
    'a schema of another library',
    { effect: 'irreversible', input: { parse: () => 1 } },
    'its input is not a zod 4 schema',
  ],
])('refused: %s', (_, wrong, message) => {
  expect(problemsOf({ ...common, forward: call, ...wrong })).toContain(message);
});
