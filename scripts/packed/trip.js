import { defineSaga, defineTool } from 'counterstep';
import { implementTool, refused } from 'counterstep/lambda';
import * as z from 'zod/mini';

const call = { dedupe: 'key', timeoutMs: 2_000, settleMs: 0 };

const bookSeat = defineTool({
  name: 'book-seat',
  description: 'Books a seat on a flight.',
  effect: 'reversible',
  input: z.object({ flight: z.string() }),
  output: z.object({ seat: z.string() }),
  forward: call,
  compensate: {
    input: z.object({ seat: z.string() }),
    from: ({ output }) => ({ seat: output.seat }),
    ...call,
  },
});

export const trip = defineSaga(
  { name: 'trip', version: '1', input: z.object({ out: z.string(), back: z.string() }) },
  (saga) =>
    saga
      .step('out', bookSeat, { input: ({ input }) => ({ flight: input.out }) })
      .step('back', bookSeat, { input: ({ input }) => ({ flight: input.back }) }),
);

/** Seats that are booked now. */
export const booked = new Set();

export const bookSeatTool = implementTool(bookSeat, {
  forward: async ({ flight }) => {
    if (flight === 'full') throw refused('sold_out', 'no seat is left');
    booked.add(flight);
    return { seat: flight };
  },
  compensate: async ({ seat }) => {
    booked.delete(seat);
  },
});
