import { defineTool, sensitive } from 'counterstep';
import * as z from 'zod/mini';
import { CALL } from '../limits.ts';

/** Free text that some partners send along. */
const note = z.optional(z.string());

export const readCustomer = defineTool({
  name: 'read-customer',
  description: 'Reads a customer from the customer master.',
  effect: 'read_only',
  input: z.object({ customerId: z.string() }),
  output: z.object({ customerId: z.string(), creditClass: z.int(), note }),
  forward: { ...CALL },
});

export const reserveInventory = defineTool({
  name: 'reserve-inventory',
  description: 'Holds articles in the warehouse for an order.',
  effect: 'reversible',
  input: z.object({ orderId: z.string(), sku: z.string(), quantity: z.int() }),
  output: z.object({ reservationId: z.string(), quantity: z.int(), note }),
  externalIds: ({ output }) => ({ reservation: output.reservationId }),
  forward: { dedupe: 'key', ...CALL },
  compensate: {
    input: z.object({ reservationId: z.string() }),
    from: ({ output }) => ({ reservationId: output.reservationId }),
    dedupe: 'key',
    ...CALL,
  },
});

/**
 * The provider keeps our key, and can be asked as well. A charge or a refund may stay pending for
 * long: the saga parks and asks again. The undo is a refund beside the charge.
 */
export const chargePayment = defineTool({
  name: 'charge-payment',
  description: 'Charges a customer for an order.',
  effect: 'compensable',
  input: z.object({
    orderId: z.string(),
    customerId: z.string(),
    amountMinor: z.int(),
    currency: z.string(),
  }),
  output: z.object({
    chargeId: z.string(),
    amountMinor: z.int(),
    currency: z.string(),
    status: z.literal('settled'),
    note,
  }),
  externalIds: ({ output }) => ({ charge: output.chargeId }),
  reconcile: true,
  forward: { dedupe: 'key', ...CALL },
  compensate: {
    input: z.object({ chargeId: z.string(), amountMinor: z.int(), currency: z.string() }),
    from: ({ output }) => ({
      chargeId: output.chargeId,
      amountMinor: output.amountMinor,
      currency: output.currency,
    }),
    dedupe: 'key',
    ...CALL,
  },
});

/**
 * Neither a key nor a lookup: a lost answer, of a booking or of a cancellation, holds for a person.
 * Each cancellation is billed.
 */
export const bookCourier = defineTool({
  name: 'book-courier',
  description: 'Books a courier to collect an order. Cancelling costs a fee.',
  effect: 'reversible_with_cost',
  input: z.object({ orderId: z.string(), address: sensitive(z.string()), parcels: z.int() }),
  output: z.object({ bookingId: z.string(), priceMinor: z.int(), currency: z.string(), note }),
  externalIds: ({ output }) => ({ booking: output.bookingId }),
  forward: { dedupe: 'none', ...CALL },
  compensate: {
    input: z.object({ bookingId: z.string() }),
    from: ({ output }) => ({ bookingId: output.bookingId }),
    dedupe: 'none',
    ...CALL,
  },
  cost: { estimateMinor: 450, currency: 'EUR' },
});

export const confirmBooking = defineTool({
  name: 'confirm-booking',
  description: 'Reads whether the courier still has a booking.',
  effect: 'read_only',
  input: z.object({ bookingId: z.string() }),
  output: z.object({ bookingId: z.string(), state: z.literal('booked'), note }),
  forward: { ...CALL },
});
