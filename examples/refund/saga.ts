import { defineSaga, type SagaType, sensitive } from 'counterstep';
import * as z from 'zod/mini';
import { issueCreditNote, reserveStock, sendEmail } from './contracts.ts';

/**
 * Refunds an order: holds the replacement, books the credit note, then tells the customer.
 * The message comes last because it is the pivot: whatever fails before it is undone in silence.
 */
export const refund = refundOf('STANDARD');

/** The same saga on a machine of either type. */
export function refundOf(type: SagaType) {
  return defineSaga(
    {
      name: 'refund',
      version: '1',
      type,
      input: z.object({
        orderId: z.string(),
        email: sensitive(z.string()),
        sku: z.string(),
        quantity: z.int(),
        amountMinor: z.int(),
        currency: z.string(),
        reason: z.string(),
      }),
    },
    (saga) =>
      saga
        .step('stock', reserveStock, {
          input: ({ input }) => ({
            orderId: input.orderId,
            sku: input.sku,
            quantity: input.quantity,
          }),
        })
        .step('credit', issueCreditNote, {
          input: ({ input }) => ({
            orderId: input.orderId,
            amountMinor: input.amountMinor,
            currency: input.currency,
            reason: input.reason,
          }),
        })
        .step('email', sendEmail, {
          input: ({ input, results }) => ({
            to: input.email,
            subject: `Your refund for order ${input.orderId}`,
            text: `We have credited ${money(input)} (credit note ${results.credit.creditNoteId}).`,
          }),
        }),
  );
}

function money({ amountMinor, currency }: { amountMinor: number; currency: string }): string {
  const units = Math.trunc(amountMinor / 100);
  return `${units}.${String(amountMinor % 100).padStart(2, '0')} ${currency}`;
}
