import { defineSaga, defineTool } from 'counterstep';
import * as z from 'zod/mini';

/**
 * Every undo may begin at once, and waits for no other; before a pivot that can be in doubt for long. So
 * nothing but the rule that the pivot decides keeps an undo back while nobody knows about the pivot.
 */
const call = {
  dedupe: 'lookup',
  timeoutMs: 2_000,
  settleMs: 20_000,
  retry: { maxAttempts: 3, backoffMs: 200, maxBackoffMs: 2_000 },
} as const;
const value = z.object({ id: z.string() });

const held = defineTool({
  name: 'hold-goods',
  description: 'Holds goods, and can be asked about it.',
  effect: 'reversible',
  reconcile: true,
  input: value,
  output: value,
  forward: call,
  compensate: { ...call, input: value, from: ({ output }) => ({ id: output.id }) },
});

const sent = defineTool({
  name: 'send-goods',
  description: 'Sends goods, which cannot be called back, but asked about.',
  effect: 'irreversible',
  reconcile: true,
  input: value,
  output: value,
  forward: call,
  contain: call,
});

export const eager = defineSaga(
  { name: 'eager', version: '1', input: value, recovery: { after: { here: [], there: [] } } },
  (saga) =>
    saga
      .step('here', held, { input: ({ input }) => input })
      .step('there', held, { after: [], input: ({ input }) => input })
      .step('send', sent, { after: ['here', 'there'], input: ({ input }) => input }),
);
