import { defineSaga, defineTool } from 'counterstep';
import * as z from 'zod/mini';

/** One step that can be undone: enough to drive every handler. */
export const holdItem = defineTool({
  name: 'hold-item',
  description: 'Holds an item.',
  effect: 'reversible',
  input: z.object({ id: z.string() }),
  output: z.object({ holdId: z.string() }),
  forward: { dedupe: 'key', timeoutMs: 5_000, settleMs: 2_000 },
  compensate: {
    input: z.object({ holdId: z.string() }),
    from: ({ output }) => ({ holdId: output.holdId }),
    dedupe: 'key',
    timeoutMs: 5_000,
    settleMs: 2_000,
  },
});

export const small = defineSaga(
  { name: 'small', version: '1', input: z.object({ id: z.string() }) },
  (saga) => saga.step('hold', holdItem, { input: ({ input }) => input }),
);
