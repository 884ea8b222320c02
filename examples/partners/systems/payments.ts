import * as z from 'zod/mini';
import type { PartnerSystem } from '../operation.ts';
import { effectOf, lookupQuery, money, read, refusal, text, write } from '../operation.ts';
import type { EffectRow, JsonObject } from '../records.ts';
import { settlement } from '../records.ts';
import type { Tx } from '../store.ts';

const charge = write({
  name: 'charge',
  path: '/charges',
  body: z.strictObject({ orderId: text, customerId: text, ...money }),
  orderId: (body) => body.orderId,
  decide: (body) => ({
    kind: 'effect',
    prefix: 'CH',
    amountMinor: body.amountMinor,
    currency: body.currency,
    document: body,
  }),
  render: (effect, now) => asCharge(effect, now),
});

const refund = write({
  name: 'refund',
  path: '/refunds',
  body: z.strictObject({ chargeId: text, ...money }),
  orderId: (body, _params, tx) =>
    effectOf(tx, 'payments', 'charge', body.chargeId)?.orderId ?? null,
  decide(body, _params, tx, now) {
    const charged = effectOf(tx, 'payments', 'charge', body.chargeId);
    if (charged === undefined) {
      return refusal(404, 'unknown_charge', `No charge ${body.chargeId} was ever made.`);
    }
    if (settlement(charged, now) !== 'settled') {
      return refusal(
        409,
        'charge_not_settled',
        `${body.chargeId} has not settled: ask again later.`,
      );
    }
    if (body.currency !== charged.currency) {
      return refusal(422, 'wrong_currency', `${body.chargeId} was charged in ${charged.currency}.`);
    }
    const left = (charged.amountMinor ?? 0) - refunded(charged, tx, now);
    if (body.amountMinor > left) {
      return refusal(
        409,
        'over_refunded',
        `${left} ${body.currency} (minor units) are left to refund.`,
      );
    }
    return { kind: 'effect', prefix: 'RF', reverses: body.chargeId, ...body, document: body };
  },
  render: (effect, now) => asRefund(effect, now),
});

const lookup = read({
  name: 'lookup',
  path: '/operations',
  query: lookupQuery,
  answer({ correlationId, action }, _params, tx, now) {
    const operations = tx
      .effectsOf('payments', correlationId)
      .filter((row) => action === undefined || row.operation === action)
      .map((row) => ({
        action: row.operation,
        correlationId: row.correlationId,
        ...(row.operation === 'charge' ? asCharge(row, now) : asRefund(row, now)),
      }));
    return { kind: 'answer', body: { operations } };
  },
});

const status = read({
  name: 'status',
  path: '/:kind{charges|refunds}/:id',
  answer(_query, { kind, id }, tx, now) {
    const row = effectOf(tx, 'payments', kind === 'charges' ? 'charge' : 'refund', id);
    if (row === undefined) return refusal(404, 'unknown_payment', `There is no ${id} in ${kind}.`);
    return {
      kind: 'answer',
      body: row.operation === 'charge' ? asCharge(row, now) : asRefund(row, now),
    };
  },
});

function asCharge(row: EffectRow, now: number): JsonObject {
  return { chargeId: row.externalId, ...row.document, status: settlement(row, now) };
}

function asRefund(row: EffectRow, now: number): JsonObject {
  return { refundId: row.externalId, ...row.document, status: settlement(row, now) };
}

/** Pending refunds count: their money is on its way. */
function refunded(charged: EffectRow, tx: Tx, now: number): number {
  return charged.reversedBy
    .map((id) => tx.effect(id))
    .filter((row) => row !== undefined && settlement(row, now) !== 'declined')
    .reduce((sum, row) => sum + (row?.amountMinor ?? 0), 0);
}

/** The payment provider: honours keys, can be asked by correlation id, and may take its time. */
export const payments: PartnerSystem = {
  name: 'payments',
  honoursKeys: true,
  operations: [charge, refund, lookup, status],
};

/** The operations that may be accepted now and settle later. */
export const SETTLING_OPERATIONS: readonly string[] = ['charge', 'refund'];
