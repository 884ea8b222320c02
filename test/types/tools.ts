import { type AnyTool, defineTool, skip } from 'counterstep';
import { z } from 'zod';
import { call, findOrder, notify, reserve } from './contracts.ts';

const input = z.object({ id: z.string() });
const output = z.object({ receipt: z.string() });
const common = { name: 'charge', description: 'Charges a card.', input, output, forward: call };
const undo = { ...call, input: z.object({ receipt: z.string() }) };

export const registry: readonly AnyTool[] = [findOrder, reserve, notify];

// @ts-expect-error a reversible tool has no compensate
defineTool({ ...common, effect: 'reversible' });

// @ts-expect-error a compensable tool has no compensate
defineTool({ ...common, effect: 'compensable' });

// @ts-expect-error a reversible_with_cost tool has no compensate
defineTool({
  ...common,
  effect: 'reversible_with_cost',
  cost: { estimateMinor: 1, currency: 'EUR' },
});

// @ts-expect-error a reversible_with_cost tool has no cost
defineTool({
  ...common,
  effect: 'reversible_with_cost',
  compensate: { ...undo, from: ({ output }) => ({ receipt: output.receipt }) },
});

// @ts-expect-error a read_only tool has a compensate
defineTool({
  ...common,
  effect: 'read_only',
  compensate: { ...undo, from: () => ({ receipt: 'r' }) },
});

// @ts-expect-error an irreversible tool has a compensate
defineTool({
  ...common,
  effect: 'irreversible',
  compensate: { ...undo, from: () => ({ receipt: 'r' }) },
});

// @ts-expect-error a human_decision tool has a compensate
defineTool({
  ...common,
  effect: 'human_decision',
  compensate: { ...undo, from: () => ({ receipt: 'r' }) },
});

// @ts-expect-error a reversible tool has a contain
defineTool({
  ...common,
  effect: 'reversible',
  contain: call,
  compensate: { ...undo, from: ({ output }) => ({ receipt: output.receipt }) },
});

defineTool({
  ...common,
  effect: 'reversible',
  compensate: {
    ...undo,
    // @ts-expect-error `from` answers a number where the undo takes a text
    from: ({ output }) => ({ receipt: output.receipt.length }),
  },
});

defineTool({
  ...common,
  effect: 'reversible',
  compensate: {
    ...undo,
    // @ts-expect-error `from` reads a field that the output does not have
    from: ({ output }) => ({ receipt: output.receiptId }),
  },
});

defineTool({
  ...common,
  effect: 'irreversible',
  // @ts-expect-error an external id is a text
  externalIds: ({ output }) => ({ receipt: output.receipt.length }),
});

// @ts-expect-error a writing call says how long it may still land
defineTool({
  ...common,
  effect: 'irreversible',
  forward: { dedupe: 'key', timeoutMs: 1_000 },
});

// A superseding tool may have the hook or not.
defineTool({ ...common, effect: 'supersede' });
defineTool({
  ...common,
  effect: 'supersede',
  compensate: { ...undo, from: ({ output }) => ({ receipt: output.receipt }) },
});

// `from` may say that there is nothing to undo.
defineTool({
  ...common,
  effect: 'compensable',
  compensate: {
    ...undo,
    from: ({ output }) =>
      output.receipt === '' ? skip('nothing was charged') : { receipt: output.receipt },
  },
});

defineTool({
  ...common,
  effect: 'compensable',
  compensate: {
    ...undo,
    // @ts-expect-error a reason alone is no `skip`
    from: () => ({ why: 'nothing was charged' }),
  },
});
