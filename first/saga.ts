import { defineSaga, defineTool } from 'counterstep';
import { z } from 'zod';

const limits = { timeoutMs: 5_000, settleMs: 1_000 };
export const bookSeat = defineTool({
  name: 'book-seat',
  description: 'Books a seat on a flight.',
  effect: 'reversible',
  input: z.object({ flight: z.string() }),
  output: z.object({ seat: z.string() }),
  externalIds: ({ output }) => ({ seat: output.seat }),
  forward: { dedupe: 'key', ...limits },
  compensate: {
    input: z.object({ seat: z.string() }),
    from: ({ output }) => ({ seat: output.seat }),
    dedupe: 'key',
    ...limits,
  },
});

export const trip = defineSaga(
  { name: 'trip', version: '1', input: z.object({ out: z.string(), back: z.string() }) },
  (saga) =>
    saga
      .step('out', bookSeat, { input: ({ input }) => ({ flight: input.out }) })
      .step('back', bookSeat, { input: ({ input }) => ({ flight: input.back }) }),
);
