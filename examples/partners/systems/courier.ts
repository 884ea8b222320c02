import * as z from 'zod/mini';
import type { PartnerSystem } from '../operation.ts';
import { effectOf, read, refusal, text, whole, write } from '../operation.ts';

export const BOOKING_PRICE_MINOR = 690;
/** Billed for each cancellation, a repeated one too. */
export const CANCELLATION_FEE_MINOR = 450;

const book = write({
  name: 'book',
  path: '/bookings',
  body: z.strictObject({
    orderId: text,
    address: text,
    parcels: whole(1, 20),
  }),
  orderId: (body) => body.orderId,
  decide: (body) => ({
    kind: 'effect',
    prefix: 'BK',
    costMinor: BOOKING_PRICE_MINOR,
    document: {
      orderId: body.orderId,
      parcels: body.parcels,
      priceMinor: BOOKING_PRICE_MINOR,
      currency: 'EUR',
    },
  }),
  render: (effect) => ({ bookingId: effect.externalId, ...effect.document }),
});

const cancel = write({
  name: 'cancel',
  path: '/bookings/:bookingId/cancellations',
  body: z.strictObject({}),
  orderId: (_body, { bookingId }, tx) =>
    effectOf(tx, 'courier', 'book', bookingId)?.orderId ?? null,
  decide(_body, { bookingId }, tx) {
    const booking = effectOf(tx, 'courier', 'book', bookingId);
    if (booking === undefined) {
      return refusal(404, 'unknown_booking', `No booking ${bookingId} was ever made.`);
    }
    return {
      kind: 'effect',
      prefix: 'BX',
      reverses: booking.externalId,
      costMinor: CANCELLATION_FEE_MINOR,
      document: {
        bookingId: booking.externalId,
        feeMinor: CANCELLATION_FEE_MINOR,
        currency: 'EUR',
      },
    };
  },
  render: (effect) => ({ cancellationId: effect.externalId, ...effect.document }),
});

/** By the courier's own number only: who lost the answer of `book` has no number to ask with. */
const status = read({
  name: 'status',
  path: '/bookings/:bookingId',
  answer(_query, { bookingId }, tx) {
    const booking = effectOf(tx, 'courier', 'book', bookingId);
    if (booking === undefined) {
      return refusal(404, 'unknown_booking', `No booking ${bookingId} was ever made.`);
    }
    const state = booking.reversedBy.length > 0 ? 'cancelled' : 'booked';
    return { kind: 'answer', body: { bookingId: booking.externalId, state } };
  },
});

/** The courier: neither idempotency keys nor a lookup by anything the caller knows. */
export const courier: PartnerSystem = {
  name: 'courier',
  honoursKeys: false,
  operations: [book, cancel, status],
};
