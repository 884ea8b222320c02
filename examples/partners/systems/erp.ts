import * as z from 'zod/mini';
import type { PartnerSystem } from '../operation.ts';
import { effectOf, lookupQuery, money, read, refusal, text, write } from '../operation.ts';
import type { EffectRow, JsonObject } from '../records.ts';

const create = write({
  name: 'create',
  path: '/credit-notes',
  body: z.strictObject({
    orderId: text,
    ...money,
    reason: text,
  }),
  orderId: (body) => body.orderId,
  decide: (body) => ({
    kind: 'effect',
    prefix: 'CN',
    amountMinor: body.amountMinor,
    currency: body.currency,
    document: body,
  }),
  render: (effect) => ({ creditNoteId: effect.externalId, ...effect.document }),
});

/**
 * Books a cancelling document; the credit note itself is never changed.
 * Asked twice it books twice: this system has no means to tell a repeat from a second wish.
 */
const cancel = write({
  name: 'cancel',
  path: '/credit-notes/:creditNoteId/cancellations',
  body: z.strictObject({ reason: text }),
  orderId: (_body, { creditNoteId }, tx) =>
    effectOf(tx, 'erp', 'create', creditNoteId)?.orderId ?? null,
  decide(body, { creditNoteId }, tx) {
    const note = effectOf(tx, 'erp', 'create', creditNoteId);
    if (note === undefined) {
      return refusal(404, 'unknown_credit_note', `No credit note ${creditNoteId} was ever booked.`);
    }
    return {
      kind: 'effect',
      prefix: 'CX',
      reverses: note.externalId,
      amountMinor: note.amountMinor ?? 0,
      currency: note.currency ?? 'EUR',
      document: { creditNoteId: note.externalId, amountMinor: note.amountMinor, ...body },
    };
  },
  render: (effect) => ({ cancellationId: effect.externalId, ...effect.document }),
});

const lookup = read({
  name: 'lookup',
  path: '/credit-notes',
  query: lookupQuery,
  answer({ correlationId, action }, _params, tx) {
    const documents = tx
      .effectsOf('erp', correlationId)
      .filter((row) => action === undefined || row.operation === action)
      .map(asDocument);
    return { kind: 'answer', body: { documents } };
  },
});

const status = read({
  name: 'status',
  path: '/credit-notes/:creditNoteId',
  answer(_query, { creditNoteId }, tx) {
    const note = effectOf(tx, 'erp', 'create', creditNoteId);
    if (note === undefined) {
      return refusal(404, 'unknown_credit_note', `No credit note ${creditNoteId} was ever booked.`);
    }
    return { kind: 'answer', body: { ...asDocument(note), cancelledBy: note.reversedBy } };
  },
});

function asDocument(row: EffectRow): JsonObject {
  return {
    documentId: row.externalId,
    action: row.operation,
    correlationId: row.correlationId,
    creditNoteId: row.reverses ?? row.externalId,
    ...row.document,
  };
}

/** The accounts: ignores idempotency keys, finds documents by correlation id. */
export const erp: PartnerSystem = {
  name: 'erp',
  honoursKeys: false,
  operations: [create, cancel, lookup, status],
};
