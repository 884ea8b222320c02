import { defineTool } from 'counterstep';
import { implementTool } from 'counterstep/lambda';
import { expect, it } from 'vitest';
import { z } from 'zod';

const contract = defineTool({
  name: 'book',
  description: 'Books.',
  effect: 'reversible',
  reconcile: true,
  input: z.object({}),
  output: z.object({}),
  forward: { dedupe: 'lookup', timeoutMs: 1_000, settleMs: 0 },
  compensate: {
    dedupe: 'lookup',
    timeoutMs: 1_000,
    settleMs: 0,
    input: z.object({}),
    from: () => ({}),
  },
});

it('an implementation has what its contract promises', () => {
  expect(() => implementTool(contract, { forward: () => ({}) } as never)).toThrow(
    'tool "book" promises compensate, reconcile: implement it, or take it out of the contract',
  );
});

it.each([
  ['its contract', undefined, {}],
  ['it', contract, undefined],
])('an implementation of which %s is not there yet says so', (_what, given, implementation) => {
  expect(() => implementTool(given as never, implementation as never)).toThrow(
    'one of them is not there yet',
  );
});
