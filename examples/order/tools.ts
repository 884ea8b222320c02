import type { ToolResult } from 'counterstep';
import { absent, committed, implementTool, pending, refused } from 'counterstep/lambda';
import { get, list, member, type Partners, post } from '../http.ts';
import { ASK_AGAIN_MS } from '../limits.ts';
import {
  bookCourier,
  chargePayment,
  confirmBooking,
  readCustomer,
  reserveInventory,
} from './contracts.ts';

const RESERVATIONS = '/stock/reservations';
const BOOKINGS = '/courier/bookings';

export function readCustomerTool(partners: Partners) {
  return implementTool(readCustomer, {
    forward: async ({ customerId }, call) => {
      const path = `/customers/${encodeURIComponent(customerId)}`;
      return (await get<ToolResult<typeof readCustomer>>(partners, path, call)).body;
    },
  });
}

export function reserveInventoryTool(partners: Partners) {
  return implementTool(reserveInventory, {
    forward: async (args, call) =>
      (await post<ToolResult<typeof reserveInventory>>(partners, RESERVATIONS, args, call)).body,
    compensate: async ({ reservationId }, call) => {
      const path = `${RESERVATIONS}/${encodeURIComponent(reservationId)}/release`;
      await post(partners, path, {}, call);
    },
  });
}

export function chargePaymentTool(partners: Partners) {
  type Charge = ToolResult<typeof chargePayment>;
  return implementTool(chargePayment, {
    forward: async (args, call) => {
      const { body } = await post<Charge>(partners, '/payments/charges', args, call);
      if (member(body, 'status') === 'pending') return waiting('charge', body);
      throwIfDeclined(body);
      return body;
    },
    compensate: async (args, call) => {
      const { body } = await post<unknown>(partners, '/payments/refunds', args, call);
      if (member(body, 'status') === 'pending') return waiting('refund', body);
      throwIfDeclined(body);
      return committed(undefined, { externalIds: idsOf('refund', body) });
    },
    reconcile: async (question, call) => {
      const kind = question.action === 'forward' ? 'charge' : 'refund';
      const query = new URLSearchParams({ correlationId: question.correlationId, action: kind });
      const { body } = await get<unknown>(partners, `/payments/operations?${query}`, call);
      const operations = list(body, 'operations');
      const settled = operations.find((one) => member(one, 'status') === 'settled');
      if (settled !== undefined) {
        return question.action === 'forward'
          ? committed(settled as Charge)
          : committed(undefined, { externalIds: idsOf('refund', settled) });
      }
      const open = operations.find((one) => member(one, 'status') === 'pending');
      // Declined ones moved no money: for us the call never happened.
      return open === undefined ? absent() : waiting(kind, open);
    },
  });
}

export function bookCourierTool(partners: Partners) {
  return implementTool(bookCourier, {
    forward: async (args, call) =>
      (await post<ToolResult<typeof bookCourier>>(partners, BOOKINGS, args, call)).body,
    compensate: async ({ bookingId }, call) => {
      const path = `${BOOKINGS}/${encodeURIComponent(bookingId)}/cancellations`;
      const { body } = await post<unknown>(partners, path, {}, call);
      const fee = member(body, 'feeMinor');
      const currency = member(body, 'currency');
      return committed(undefined, {
        externalIds: idsOf('cancellation', body),
        ...(typeof fee === 'number' && typeof currency === 'string'
          ? { cost: { costMinor: fee, currency } }
          : {}),
      });
    },
  });
}

export function confirmBookingTool(partners: Partners) {
  return implementTool(confirmBooking, {
    forward: async ({ bookingId }, call) => {
      const path = `${BOOKINGS}/${encodeURIComponent(bookingId)}`;
      const { body } = await get<ToolResult<typeof confirmBooking>>(partners, path, call);
      if (member(body, 'state') === 'cancelled') {
        throw refused('booking_cancelled', `the courier has cancelled booking ${bookingId}`);
      }
      return body;
    },
  });
}

/** Every tool of the saga, for a process that serves them all. */
export function orderTools(partners: Partners) {
  return {
    readCustomer: readCustomerTool(partners),
    reserveInventory: reserveInventoryTool(partners),
    chargePayment: chargePaymentTool(partners),
    bookCourier: bookCourierTool(partners),
    confirmBooking: confirmBookingTool(partners),
  };
}

function waiting(kind: 'charge' | 'refund', body: unknown) {
  return pending({ externalIds: idsOf(kind, body), askAgainInMs: ASK_AGAIN_MS });
}

/** A replayed answer may tell that the payment was turned down after it had been accepted. */
function throwIfDeclined(body: unknown): void {
  if (member(body, 'status') === 'declined') {
    throw refused('payment_declined', 'the payment was turned down');
  }
}

function idsOf(kind: 'charge' | 'refund' | 'cancellation', body: unknown) {
  const id = member(body, `${kind}Id`);
  return typeof id === 'string' ? { [kind]: id } : {};
}
