import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PartnerCalls } from './support.ts';

/** A running partner service, whatever carries its requests and wherever its records are. */
export interface OpenedPartners {
  readonly calls: PartnerCalls;
  close(): Promise<void>;
}

/** What each partner system promises its callers. Held by every way in which they run. */
export function partnersContract(name: string, open: () => Promise<OpenedPartners>): void {
  describe(`partner systems: ${name}`, () => {
    let bench: PartnerCalls;
    let close: () => Promise<void>;
    beforeAll(async () => {
      const opened = await open();
      bench = opened.calls;
      close = () => opened.close();
    });
    afterAll(() => close());

    describe('stock honours idempotency keys', () => {
      it('answers a repeat as the first time and makes no second effect', async () => {
        const headers = { 'idempotency-key': 'stock-1', 'x-correlation-id': 'c-stock-1' };
        const first = await bench.post('/stock/reservations', reservation('S-1'), headers);
        const second = await bench.post('/stock/reservations', reservation('S-1'), headers);
        expect(first.status).toBe(201);
        expect(second).toMatchObject({ status: first.status, body: first.body });
        const records = await bench.records('stock', 'S-1');
        expect(records.calls.map(({ outcome, effect }) => [outcome, effect])).toEqual([
          ['committed', first.body.reservationId],
          ['replayed', first.body.reservationId],
        ]);
        expect(records.counts).toEqual([
          { correlationId: 'c-stock-1', operation: 'reserve', calls: 2, effects: 1 },
        ]);
      });

      it('refuses another body under a known key', async () => {
        const headers = { 'idempotency-key': 'stock-2' };
        await bench.post('/stock/reservations', reservation('S-2'), headers);
        const other = { ...reservation('S-2'), quantity: 3 };
        const answer = await bench.post('/stock/reservations', other, headers);
        expect(answer).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } });
        expect((await bench.records('stock', 'S-2')).effects).toHaveLength(1);
      });

      it('lets one of many simultaneous calls under a key make the effect', async () => {
        const headers = { 'idempotency-key': 'stock-3' };
        const answers = await Promise.all(
          Array.from({ length: 8 }, () =>
            bench.post('/stock/reservations', reservation('S-3'), headers),
          ),
        );
        expect(new Set(answers.map(({ body }) => body.reservationId)).size).toBe(1);
        const records = await bench.records('stock', 'S-3');
        expect(records.calls).toHaveLength(8);
        expect(records.effects).toHaveLength(1);
      });

      it('releases once per key, and marks the reservation as reversed', async () => {
        const { body } = await bench.post('/stock/reservations', reservation('S-4'));
        const path = `/stock/reservations/${body.reservationId}/release`;
        const headers = { 'idempotency-key': 'stock-4' };
        const first = await bench.post(path, {}, headers);
        const second = await bench.post(path, {}, headers);
        expect(second.body).toEqual(first.body);
        expect(await bench.post(path, {}, { 'idempotency-key': 'stock-4b' })).toMatchObject({
          status: 409,
          body: { code: 'already_released' },
        });
        const { effects } = await bench.records('stock', 'S-4');
        expect(effects).toMatchObject([
          { externalId: body.reservationId, state: 'reversed', reversedBy: [first.body.releaseId] },
          { externalId: first.body.releaseId, state: 'standing', reverses: body.reservationId },
        ]);
      });

      it('knows no reservation that was never made, and has no stock of some articles', async () => {
        const unknown = await bench.post('/stock/reservations/RES-999999/release', {});
        expect(unknown).toMatchObject({ status: 404, body: { code: 'unknown_reservation' } });
        const soldOut = { ...reservation('S-5'), sku: 'SOLD-OUT' };
        const refused = await bench.post('/stock/reservations', soldOut);
        expect(refused).toMatchObject({ status: 409, body: { code: 'out_of_stock' } });
      });
    });

    describe('erp finds documents by correlation id and ignores keys', () => {
      const note = { orderId: 'E-1', amountMinor: 1_999, currency: 'EUR', reason: 'broken' };

      it('books again under the same key, and tells both documents', async () => {
        const headers = { 'idempotency-key': 'erp-1', 'x-correlation-id': 'c-erp-1' };
        const first = await bench.post('/erp/credit-notes', note, headers);
        const second = await bench.post('/erp/credit-notes', note, headers);
        expect(second.body.creditNoteId).not.toBe(first.body.creditNoteId);
        const found = await bench.get('/erp/credit-notes?correlationId=c-erp-1&action=create');
        expect(found.body.documents).toMatchObject([
          { documentId: first.body.creditNoteId, action: 'create', amountMinor: 1_999 },
          { documentId: second.body.creditNoteId, action: 'create', correlationId: 'c-erp-1' },
        ]);
      });

      it('cancels with a new document and tells the actions apart', async () => {
        const ids = { 'x-correlation-id': 'c-erp-2' };
        const { body } = await bench.post('/erp/credit-notes', { ...note, orderId: 'E-2' }, ids);
        const path = `/erp/credit-notes/${body.creditNoteId}/cancellations`;
        const cancelled = await bench.post(path, { reason: 'mistake' }, ids);
        expect(cancelled.body).toMatchObject({
          creditNoteId: body.creditNoteId,
          amountMinor: 1_999,
        });
        const found = await bench.get('/erp/credit-notes?correlationId=c-erp-2&action=cancel');
        expect(found.body.documents).toMatchObject([{ documentId: cancelled.body.cancellationId }]);
        const status = await bench.get(`/erp/credit-notes/${body.creditNoteId}`);
        expect(status.body.cancelledBy).toEqual([cancelled.body.cancellationId]);
        const { effects } = await bench.records('erp', 'E-2');
        expect(effects.map(({ state, reversedMinor }) => [state, reversedMinor])).toEqual([
          ['reversed', 1_999],
          ['standing', 0],
        ]);
      });

      it('finds nothing under an unknown id, and refuses a lookup without one', async () => {
        const none = await bench.get('/erp/credit-notes?correlationId=c-none');
        expect(none).toMatchObject({ status: 200, body: { documents: [] } });
        expect((await bench.get('/erp/credit-notes')).status).toBe(400);
      });
    });

    describe('courier can neither recognise a repeat nor be asked', () => {
      it('books and bills every call', async () => {
        const headers = { 'idempotency-key': 'courier-1', 'x-correlation-id': 'c-courier-1' };
        const booking = { orderId: 'B-1', address: '1 High Street', parcels: 1 };
        const first = await bench.post('/courier/bookings', booking, headers);
        await bench.post('/courier/bookings', booking, headers);
        const path = `/courier/bookings/${first.body.bookingId}`;
        const cancel = await bench.post(`${path}/cancellations`, {}, headers);
        await bench.post(`${path}/cancellations`, {}, headers);
        expect(cancel.body).toMatchObject({ feeMinor: 450, currency: 'EUR' });
        expect((await bench.get(path)).body.state).toBe('cancelled');
        const { counts, effects } = await bench.records('courier', 'B-1');
        expect(counts).toMatchObject([
          { operation: 'book', calls: 2, effects: 2 },
          { operation: 'cancel', calls: 2, effects: 2 },
        ]);
        expect(effects.map(({ costMinor }) => costMinor)).toEqual([690, 690, 450, 450]);
        expect((await bench.get('/courier/bookings?correlationId=c-courier-1')).status).toBe(404);
      });
    });

    describe('payments', () => {
      const charge = (orderId: string) => ({
        orderId,
        customerId: 'C-1',
        amountMinor: 5_000,
        currency: 'EUR',
      });

      it('deduplicates by key and is found by correlation id', async () => {
        const headers = { 'idempotency-key': 'pay-1', 'x-correlation-id': 'c-pay-1' };
        const first = await bench.post('/payments/charges', charge('P-1'), headers);
        const second = await bench.post('/payments/charges', charge('P-1'), headers);
        expect(second.body).toEqual(first.body);
        expect(first.body.status).toBe('settled');
        const found = await bench.get('/payments/operations?correlationId=c-pay-1&action=charge');
        expect(found.body.operations).toMatchObject([
          { chargeId: first.body.chargeId, action: 'charge', status: 'settled' },
        ]);
      });

      it('refunds up to what was charged, and shows partial refunds as such', async () => {
        const { body } = await bench.post('/payments/charges', charge('P-2'));
        const refund = { chargeId: body.chargeId, amountMinor: 2_000, currency: 'EUR' };
        expect((await bench.post('/payments/refunds', refund)).status).toBe(201);
        const partly = await bench.records('payments', 'P-2');
        expect(partly.effects[0]).toMatchObject({ state: 'standing', reversedMinor: 2_000 });
        const tooMuch = await bench.post('/payments/refunds', { ...refund, amountMinor: 3_001 });
        expect(tooMuch).toMatchObject({ status: 409, body: { code: 'over_refunded' } });
        await bench.post('/payments/refunds', { ...refund, amountMinor: 3_000 });
        const wholly = await bench.records('payments', 'P-2');
        expect(wholly.effects[0]).toMatchObject({ state: 'reversed', reversedMinor: 5_000 });
      });

      it('refuses a refund of an unknown charge or in another currency', async () => {
        const unknown = { chargeId: 'CH-999999', amountMinor: 1, currency: 'EUR' };
        expect((await bench.post('/payments/refunds', unknown)).status).toBe(404);
        const { body } = await bench.post('/payments/charges', charge('P-3'));
        const dollars = { chargeId: body.chargeId, amountMinor: 1, currency: 'USD' };
        expect((await bench.post('/payments/refunds', dollars)).body.code).toBe('wrong_currency');
      });
    });

    describe('errors', () => {
      it.each([
        ['/stock/reservations', '{"orderId":', 400, 'invalid_json'],
        ['/stock/reservations', { orderId: 'X' }, 400, 'invalid_request'],
        ['/stock/reservations', { ...reservation('X'), extra: 1 }, 400, 'invalid_request'],
        ['/stock/reservations', 'x'.repeat(70_000), 413, 'body_too_large'],
        ['/nowhere', {}, 404, 'unknown_route'],
        ['/faults', { system: 'moon', operation: 'x', fault: 'slow' }, 400, 'invalid_fault'],
        ['/faults', { system: 'stock', operation: 'fly', fault: 'slow' }, 400, 'invalid_fault'],
        [
          '/faults',
          { system: 'stock', operation: 'reserve', fault: 'pending' },
          400,
          'invalid_fault',
        ],
      ])('%s answers a bad request with a problem (%#)', async (path, body, status, code) => {
        const answer = await bench.post(path, body);
        expect(answer).toMatchObject({ status, body: { status, code } });
        expect(answer.headers.get('content-type')).toContain('application/problem+json');
        expect(String(answer.body.detail).length).toBeGreaterThan(10);
      });

      it('names the places that are wrong', async () => {
        const { body } = await bench.post('/stock/reservations', {
          ...reservation('X'),
          quantity: 0,
        });
        expect(body.errors).toMatchObject([{ place: 'quantity' }]);
      });

      it('refuses a correlation id too long to be kept', async () => {
        const headers = { 'x-correlation-id': 'c'.repeat(301) };
        const answer = await bench.post('/stock/reservations', reservation('X'), headers);
        expect(answer).toMatchObject({ status: 400, body: { code: 'bad_header' } });
      });

      it('knows customers by the form of their id', async () => {
        expect((await bench.get('/customers/C-7')).body).toMatchObject({ customerId: 'C-7' });
        expect((await bench.get('/customers/somebody')).status).toBe(404);
      });
    });
  });
}

const reservation = (orderId: string) => ({ orderId, sku: 'LAMP', quantity: 2 });
