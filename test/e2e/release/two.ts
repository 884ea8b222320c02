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
 * The second release: the step `seat` is named `place`, an insurance was added, and there are no meals any
 * more, neither the step nor its tool. The undo of a seat reads `reservationId`, and knows no `bookingRef`.
 */
const partner = partnerOf(2);

const bookSeat = defineTool({
  name: 'book-seat',
  description: 'Books a seat for a trip.',
  effect: 'reversible',
  input: trip,
  output: z.object({ reservationId: z.string() }),
  forward: QUICK,
  compensate: {
    input: z.object({ reservationId: z.string() }),
    from: ({ output }) => ({ reservationId: output.reservationId }),
    ...QUICK,
  },
});

const insure = defineTool({
  name: 'insure',
  description: 'Insures a trip.',
  effect: 'reversible',
  input: trip,
  output: z.object({ policyId: z.string() }),
  forward: QUICK,
  compensate: {
    input: z.object({ ref: z.string() }),
    from: ({ output }) => ({ ref: output.policyId }),
    ...QUICK,
  },
});

export const two: Release = {
  sagas: TYPES.map((type) =>
    defineSaga({ name: tripOn(type), version: '2', type, input: trip }, (saga) =>
      saga
        .step('place', bookSeat, { input: ({ input }) => input })
        .step('insurance', insure, { input: ({ input }) => input })
        .step('payment', takePayment, { input: ({ input }) => input }),
    ),
  ),
  tools: [
    implementTool(bookSeat, {
      forward: async (args, call) => {
        const { id } = await partner.send('book-seat', args, call);
        return { reservationId: id };
      },
      compensate: async ({ reservationId }, call) => {
        await partner.send('cancel-seat', { ref: reservationId }, call);
      },
    }),
    implementTool(insure, {
      forward: async (args, call) => {
        const { id } = await partner.send('insure', args, call);
        return { policyId: id };
      },
      compensate: async ({ ref }, call) => {
        await partner.send('cancel-insurance', { ref }, call);
      },
    }),
    takePaymentTool(2),
  ],
};
