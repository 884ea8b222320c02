import { defineTool, sensitive } from 'counterstep';
import * as z from 'zod/mini';
import { CALL } from '../limits.ts';

/** Free text that some partners send along. */
const note = z.optional(z.string());

export const reserveStock = defineTool({
  name: 'reserve-stock',
  description: 'Holds articles in the warehouse for an order, so that a replacement can be sent.',
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
 * Accounts are never erased: the undo of a credit note is a second document that cancels it.
 * The accounting system forgets our key but finds documents by correlation id.
 */
export const issueCreditNote = defineTool({
  name: 'issue-credit-note',
  description: 'Books a credit note for an order in the accounts.',
  effect: 'compensable',
  input: z.object({
    orderId: z.string(),
    amountMinor: z.int(),
    currency: z.string(),
    reason: z.string(),
  }),
  output: z.object({
    creditNoteId: z.string(),
    amountMinor: z.int(),
    currency: z.string(),
    note,
  }),
  externalIds: ({ output }) => ({ creditNote: output.creditNoteId }),
  reconcile: true,
  forward: { dedupe: 'lookup', ...CALL },
  compensate: {
    input: z.object({ creditNoteId: z.string(), reason: z.string() }),
    from: ({ output }) => ({
      creditNoteId: output.creditNoteId,
      reason: 'The refund was not completed',
    }),
    dedupe: 'lookup',
    ...CALL,
  },
});

/**
 * A mail server takes a message or it does not; it can neither recognise a repeat nor be asked
 * afterwards. So a lost answer is a question for a person.
 */
export const sendEmail = defineTool({
  name: 'send-email',
  description: 'Sends a plain text message to a customer. It cannot be called back.',
  effect: 'irreversible',
  input: z.object({ to: sensitive(z.string()), subject: z.string(), text: z.string() }),
  output: z.object({ messageId: z.string() }),
  externalIds: ({ output }) => ({ message: output.messageId }),
  forward: { dedupe: 'none', ...CALL },
});
