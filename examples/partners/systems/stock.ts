import * as z from 'zod/mini';
import type { PartnerSystem } from '../operation.ts';
import { effectOf, read, refusal, text, whole, write } from '../operation.ts';

/** An article that is never there, for a refusal without any fault. */
export const SOLD_OUT = 'SOLD-OUT';

const reserve = write({
  name: 'reserve',
  path: '/reservations',
  body: z.strictObject({
    orderId: text,
    sku: text,
    quantity: whole(1, 1_000),
  }),
  orderId: (body) => body.orderId,
  decide: (body) =>
    body.sku === SOLD_OUT
      ? refusal(409, 'out_of_stock', `There is no stock of ${body.sku}. Order another article.`)
      : { kind: 'effect', prefix: 'RES', document: body },
  render: (effect) => ({ reservationId: effect.externalId, ...effect.document }),
});

const release = write({
  name: 'release',
  path: '/reservations/:reservationId/release',
  body: z.strictObject({}),
  orderId: (_body, { reservationId }, tx) =>
    effectOf(tx, 'stock', 'reserve', reservationId)?.orderId ?? null,
  decide(_body, { reservationId }, tx) {
    const held = effectOf(tx, 'stock', 'reserve', reservationId);
    if (held === undefined) {
      return refusal(404, 'unknown_reservation', `No reservation ${reservationId} was ever made.`);
    }
    if (held.reversedBy.length > 0) {
      return refusal(409, 'already_released', `${held.externalId} was released under another key.`);
    }
    return {
      kind: 'effect',
      prefix: 'REL',
      reverses: held.externalId,
      document: { reservationId: held.externalId },
    };
  },
  render: (effect) => ({ releaseId: effect.externalId, ...effect.document }),
});

const status = read({
  name: 'status',
  path: '/reservations/:reservationId',
  answer(_query, { reservationId }, tx) {
    const held = effectOf(tx, 'stock', 'reserve', reservationId);
    if (held === undefined) {
      return refusal(404, 'unknown_reservation', `No reservation ${reservationId} was ever made.`);
    }
    const body = {
      reservationId: held.externalId,
      ...held.document,
      released: held.reversedBy.length > 0,
    };
    return { kind: 'answer', body };
  },
});

/** The warehouse: remembers idempotency keys for ever. */
export const stock: PartnerSystem = {
  name: 'stock',
  honoursKeys: true,
  operations: [reserve, release, status],
};
