import { defineSaga, defineTool } from 'counterstep';
import { implementTool } from 'counterstep/lambda';
import * as z from 'zod/mini';
import {
  partnerOf,
  QUICK,
  type Release,
  TYPES,
  takePayment,
  takePaymentTool,
  trip,
  tripOn,
} from './shared.ts';

/**
 * The first release: a seat, its payment, a meal. The undo of a seat reads `bookingRef`.
 */
const partner = partnerOf(1);

const bookSeat = defineTool({
  name: 'book-seat',
  description: 'Books a seat for a trip.',
  effect: 'reversible',
  input: trip,
  output: z.object({ bookingRef: z.string() }),
  forward: QUICK,
  compensate: {
    input: z.object({ bookingRef: z.string() }),
    from: ({ output }) => ({ bookingRef: output.bookingRef }),
    ...QUICK,
  },
});

const orderMeal = defineTool({
  name: 'order-meal',
  description: 'Orders a meal for a trip.',
  effect: 'reversible',
  input: trip,
  output: z.object({ mealId: z.string() }),
  forward: QUICK,
  compensate: {
    input: z.object({ ref: z.string() }),
    from: ({ output }) => ({ ref: output.mealId }),
    ...QUICK,
  },
});

export const one: Release = {
  sagas: TYPES.map((type) =>
    defineSaga({ name: tripOn(type), version: '1', type, input: trip }, (saga) =>
      saga
        .step('seat', bookSeat, { input: ({ input }) => input })
        .step('payment', takePayment, { input: ({ input }) => input })
        .step('meal', orderMeal, { input: ({ input }) => input }),
    ),
  ),
  tools: [
    implementTool(bookSeat, {
      forward: async (args, call) => {
        const { id } = await partner.send('book-seat', args, call);
        return { bookingRef: id };
      },
      compensate: async ({ bookingRef }, call) => {
        await partner.send('cancel-seat', { ref: bookingRef }, call);
      },
    }),
    takePaymentTool(1),
    implementTool(orderMeal, {
      forward: async (args, call) => {
        const { id } = await partner.send('order-meal', args, call);
        return { mealId: id };
      },
      compensate: async ({ ref }, call) => {
        await partner.send('cancel-meal', { ref }, call);
      },
    }),
  ],
};
