import { implementTool, refused } from 'counterstep/lambda';
import { bookSeat } from './saga.ts';

export const bookSeatTool = implementTool(bookSeat, {
  // Real code calls the airline here, and sends call.idempotencyKey along.
  forward: async ({ flight }, call) => {
    if (flight === 'CS-2') throw refused('sold_out', 'no seat is left');
    return { seat: `${flight}/${call.idempotencyKey.slice(0, 4)}` };
  },
  compensate: async ({ seat }, call) => {},
});
