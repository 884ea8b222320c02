import { defineSaga, type SagaType, sensitive } from 'counterstep';
import * as z from 'zod/mini';
import {
  bookCourier,
  chargePayment,
  confirmBooking,
  readCustomer,
  reserveInventory,
} from './contracts.ts';

/** One cancellation of the courier is paid without asking; two are not. */
const CEILING_MINOR = 600;

/**
 * Places an order.
 *
 * The order of the steps follows from what each partner can do when something is lost:
 * - what is most often refused comes first and costs nothing: the customer, then the stock;
 * - payment comes before the courier. Cards are declined every day; with the courier booked first,
 *   each of them would cost a cancellation fee, paid through a call that cannot be repeated safely.
 *   The payment provider keeps our key and can be asked, so its refund needs nobody;
 * - the courier comes last of the writing steps because it can do neither: when its answer is lost
 *   a person must find out, and then nothing else is open. The price is that money may be held
 *   while they do;
 * - the confirmation only reads. A courier that dropped the booking meanwhile is found here, and
 *   the order is undone.
 */
export const order = orderOf('STANDARD');

/** The same saga on a machine of either type. */
export function orderOf(type: SagaType) {
  return defineSaga(
    {
      name: 'order',
      version: '1',
      type,
      input: z.object({
        orderId: z.string(),
        customerId: z.string(),
        address: sensitive(z.string()),
        sku: z.string(),
        quantity: z.int(),
        amountMinor: z.int(),
        currency: z.string(),
      }),
      recovery: {
        ceiling: { costMinor: CEILING_MINOR, currency: 'EUR' },
        after: {
          // Goods that a courier may still collect are not free for another customer.
          inventory: ['courier'],
          // Nor is the money given back for them. Once they are safe, both go side by side.
          payment: ['courier'],
        },
      },
    },
    (saga) =>
      saga
        .step('customer', readCustomer, {
          input: ({ input }) => ({ customerId: input.customerId }),
        })
        .step('inventory', reserveInventory, {
          input: ({ input }) => ({
            orderId: input.orderId,
            sku: input.sku,
            quantity: input.quantity,
          }),
        })
        .step('payment', chargePayment, {
          input: ({ input, results }) => ({
            orderId: input.orderId,
            customerId: results.customer.customerId,
            amountMinor: input.amountMinor,
            currency: input.currency,
          }),
        })
        .step('courier', bookCourier, {
          input: ({ input }) => ({ orderId: input.orderId, address: input.address, parcels: 1 }),
        })
        .step('confirm', confirmBooking, {
          input: ({ results }) => ({ bookingId: results.courier.bookingId }),
        }),
  );
}
