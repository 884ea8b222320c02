import { defineSaga, defineTool } from 'counterstep';
import * as z from 'zod/mini';

/**
 * What limits a saga, all in one: a checkpoint in the middle, a ceiling that two undos exceed together,
 * budgets of tries, of time and of what going forward costs (spent where the first room is too dear), a
 * breaker, an undo that some commits do not need, and a priority.
 */
const call = {
  dedupe: 'lookup',
  timeoutMs: 1_000,
  settleMs: 1_000,
  retry: { maxAttempts: 4, backoffMs: 200, maxBackoffMs: 2_000, forMs: 120_000 },
} as const;
const value = z.object({ id: z.string() });
const answer = z.object({ ref: z.string() });
const undo = {
  ...call,
  input: answer,
  from: ({ output }: { readonly output: { readonly ref: string } }) => ({ ref: output.ref }),
};
const common = {
  description: 'Does something that can be simulated.',
  reconcile: true,
  input: value,
  output: answer,
  externalIds: ({ output }: { readonly output: { readonly ref: string } }) => ({ ref: output.ref }),
  forward: call,
} as const;

const paper = defineTool({
  ...common,
  name: 'file-paper',
  effect: 'reversible',
  compensate: undo,
});

const room = defineTool({
  ...common,
  name: 'book-room',
  effect: 'reversible_with_cost',
  cost: { estimateMinor: 200, currency: 'EUR' },
  forwardCost: { estimateMinor: 30, currency: 'EUR' },
  compensate: undo,
  breaker: { failures: 3, withinMs: 60_000, openMs: 20_000 },
});

export const guarded = defineSaga(
  {
    name: 'guarded',
    version: '1',
    input: value,
    budget: { attempts: 20, cost: { costMinor: 70, currency: 'EUR' } },
    recovery: { ceiling: { costMinor: 300, currency: 'EUR' }, priority: { desk: 1 } },
  },
  (saga) =>
    saga
      .step('paper', paper, { checkpoint: true, input: ({ input }) => input })
      .step('desk', room, { input: ({ input }) => input })
      .step('hall', room, { input: ({ input }) => input })
      .step('notice', paper, { input: ({ input }) => input }),
);
