import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { absent, committed, type ImplementedTool, pending } from 'counterstep/lambda';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type MailSink, startMailSink } from '../../examples/mail/sink.ts';
import { orderTools } from '../../examples/order/tools.ts';
import type { FaultName, FaultRequest } from '../../examples/partners/faults.ts';
import { refundTools } from '../../examples/refund/tools.ts';
import { type Bench, failureOf, fakeCall, startBench } from './support.ts';

let bench: Bench;
let sink: MailSink;
let tools: ReturnType<typeof refundTools> & ReturnType<typeof orderTools>;
beforeAll(async () => {
  bench = await startBench();
  sink = await startMailSink();
  const partnersUrl = bench.partners.url;
  tools = {
    ...refundTools({ partnersUrl, smtpUrl: sink.url }),
    ...orderTools({ partnersUrl }),
  };
});
afterEach(async () => {
  await bench.partners.ready();
  await fetch(`${bench.partners.url}/faults`, { method: 'DELETE' });
  sink.clearFaults();
});
afterAll(async () => {
  await sink.stop();
  await bench.stop();
});

let orders = 0;
const nextOrder = (): string => {
  orders += 1;
  return `T-${orders}`;
};
const creditNote = (orderId: string) => ({
  orderId,
  amountMinor: 1_000,
  currency: 'EUR',
  reason: 'broken',
});
const charge = (orderId: string) => ({
  orderId,
  customerId: 'C-1',
  amountMinor: 1_000,
  currency: 'EUR',
});
const reserve = { system: 'stock', operation: 'reserve' } as const;
const email = { to: 'ann@example.com', subject: 'Hello', text: 'A line.' };

/** A port that nobody listens on. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

type Result = Record<string, unknown>;
const forward = (tool: ImplementedTool, args: unknown, call = fakeCall()): Promise<Result> =>
  Promise.resolve(tool.forward(args, call)) as Promise<Result>;

/** A short deadline where no answer will come before it anyway. */
const silent = (fault: FaultName): { readonly timeoutMs?: number } =>
  fault === 'slow' || fault === 'commit_late' ? { timeoutMs: 300 } : {};

describe('what each answer of a partner means', () => {
  const cases: readonly [FaultName, Partial<FaultRequest>, Result][] = [
    ['refuse', { code: 'policy' }, { failure: 'terminal_compensate', code: 'policy' }],
    ['not_success', { code: 'policy' }, { failure: 'terminal_compensate', code: 'policy' }],
    ['throttle', { retryAfterMs: 3_000 }, { failure: 'retryable', retryAfterMs: 3_000 }],
    ['unavailable', {}, { failure: 'retryable', code: 'unavailable' }],
    ['drop_before', {}, { failure: 'ambiguous' }],
    ['commit_then_drop', {}, { failure: 'ambiguous' }],
    ['crash_before', {}, { failure: 'ambiguous' }],
    ['crash_after', {}, { failure: 'ambiguous' }],
    ['commit_late', {}, { failure: 'ambiguous', code: 'timeout' }],
    ['slow', {}, { failure: 'ambiguous', code: 'timeout' }],
  ];

  it.each(cases)('%s of a write (%#)', async (fault, more, expected) => {
    await bench.fault({ ...reserve, fault, ...more });
    const args = { orderId: nextOrder(), sku: 'LAMP', quantity: 1 };
    const call = fakeCall(silent(fault));
    expect(await failureOf(forward(tools.reserveStock, args, call))).toMatchObject(expected);
  });

  it.each([
    ['refuse', { failure: 'terminal_compensate' }],
    ['unavailable', { failure: 'retryable' }],
    ['drop_before', { failure: 'retryable' }],
    ['crash_before', { failure: 'retryable' }],
    ['commit_late', { failure: 'retryable', code: 'timeout' }],
  ] as const)('%s of a read', async (fault, expected) => {
    await bench.fault({ system: 'customers', operation: 'get', fault });
    const call = fakeCall(silent(fault));
    const failure = failureOf(forward(tools.readCustomer, { customerId: 'C-1' }, call));
    expect(await failure).toMatchObject(expected);
  });

  it.each([
    [404, () => forward(tools.readCustomer, { customerId: 'nobody' }), 'unknown_customer'],
    [409, () => forward(tools.reserveStock, soldOut()), 'out_of_stock'],
    [400, () => forward(tools.reserveStock, { orderId: '' }), 'invalid_request'],
  ])('%i is a refusal', async (_status, attempt, code) => {
    expect(await failureOf(attempt())).toMatchObject({ failure: 'terminal_compensate', code });
  });
  const soldOut = () => ({ orderId: nextOrder(), sku: 'SOLD-OUT', quantity: 1 });

  it('nobody at the address is retryable: nothing was sent', async () => {
    const port = await freePort();
    const nobody = refundTools({
      partnersUrl: `http://127.0.0.1:${port}`,
      smtpUrl: `smtp://127.0.0.1:${port}`,
    });
    const args = { orderId: nextOrder(), sku: 'LAMP', quantity: 1 };
    const refusedConnection = { failure: 'retryable', code: 'econnrefused' };
    expect(await failureOf(forward(nobody.reserveStock, args))).toMatchObject(refusedConnection);
    expect(await failureOf(forward(nobody.sendEmail, email))).toMatchObject(refusedConnection);
  });

  it.each([
    [500, '{}', 'ambiguous'],
    [502, '<html>', 'ambiguous'],
    // A partner's own 503 says that it did nothing; a gateway's, that it heard nothing in time.
    [503, '{"message":"Service Unavailable"}', 'ambiguous'],
    [504, '', 'ambiguous'],
    [201, '<html>', 'ambiguous'],
    [401, '{}', 'terminal_hold'],
    [403, '{}', 'terminal_hold'],
  ])('%i with "%s" from whoever stands in between', async (status, body, failure) => {
    const gateway = createServer((_request, response) => {
      response.writeHead(status, { connection: 'close' }).end(body);
    });
    await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve));
    const { port } = gateway.address() as AddressInfo;
    const { reserveInventory } = orderTools({ partnersUrl: `http://127.0.0.1:${port}` });
    const args = { orderId: nextOrder(), sku: 'LAMP', quantity: 1 };
    expect(await failureOf(forward(reserveInventory, args))).toMatchObject({ failure });
    await new Promise((resolve) => gateway.close(resolve));
  });

  it('a key that was used for something else is for a person', async () => {
    const call = fakeCall();
    const args = { orderId: nextOrder(), sku: 'LAMP', quantity: 1 };
    await forward(tools.reserveStock, args, call);
    const other = forward(tools.reserveStock, { ...args, quantity: 2 }, call);
    expect(await failureOf(other)).toMatchObject({ failure: 'terminal_hold' });
  });

  it('passes a misshapen answer on whole: the runtime judges it and keeps the effect', async () => {
    await bench.fault({ ...reserve, fault: 'wrong_shape' });
    const args = { orderId: nextOrder(), sku: 'LAMP', quantity: 1 };
    const answer = await forward(tools.reserveStock, args);
    expect(answer).toMatchObject({ data: { quantity: 1 } });
  });
});

describe('reserve-stock and reserve-inventory', () => {
  it.each(['reserveStock', 'reserveInventory'] as const)('%s holds and releases', async (name) => {
    const orderId = nextOrder();
    const call = fakeCall();
    const { reservationId } = await forward(
      tools[name],
      { orderId, sku: 'LAMP', quantity: 1 },
      call,
    );
    const undo = fakeCall({ action: 'compensate' });
    await tools[name].compensate?.({ reservationId }, undo);
    await tools[name].compensate?.({ reservationId }, undo);
    const { calls, effects } = await bench.records('stock', orderId);
    expect(effects.map(({ operation, state }) => [operation, state])).toEqual([
      ['reserve', 'reversed'],
      ['release', 'standing'],
    ]);
    expect(calls).toMatchObject([
      { correlationId: call.correlationId, idempotencyKey: call.idempotencyKey },
      { correlationId: undo.correlationId, outcome: 'committed' },
      { correlationId: undo.correlationId, outcome: 'replayed' },
    ]);
  });
});

describe('issue-credit-note', () => {
  const question = (action: 'forward' | 'compensate', correlationId: string) => ({
    action,
    args: undefined,
    idempotencyKey: 'unused',
    correlationId,
    externalIds: {},
  });

  it('finds the document whose answer was lost, with its result', async () => {
    const orderId = nextOrder();
    const call = fakeCall();
    const asked = question('forward', call.correlationId);
    const tool = tools.issueCreditNote;
    expect(await tool.reconcile?.(asked, fakeCall())).toEqual(absent());
    await bench.fault({ system: 'erp', operation: 'create', fault: 'commit_then_drop' });
    await failureOf(forward(tool, creditNote(orderId), call));
    const [effect] = (await bench.records('erp', orderId)).effects;
    expect(await tool.reconcile?.(asked, fakeCall())).toMatchObject({
      output: { creditNoteId: effect?.externalId, amountMinor: 1_000, currency: 'EUR' },
    });
  });

  it('asks for the action in question only', async () => {
    const orderId = nextOrder();
    const call = fakeCall();
    const { creditNoteId } = await forward(tools.issueCreditNote, creditNote(orderId), call);
    // Even under one correlation id for both, a credit note is no answer to "was it cancelled?".
    const asked = question('compensate', call.correlationId);
    expect(await tools.issueCreditNote.reconcile?.(asked, fakeCall())).toEqual(absent());
    const undo = { creditNoteId, reason: 'mistake' };
    const done = await tools.issueCreditNote.compensate?.(undo, call);
    const [, cancellation] = (await bench.records('erp', orderId)).effects;
    const externalIds = { cancellation: cancellation?.externalId ?? 'none' };
    expect(done).toEqual(committed(undefined, { externalIds }));
    expect(await tools.issueCreditNote.reconcile?.(asked, fakeCall())).toEqual(
      committed(undefined, { externalIds }),
    );
  });

  it('takes a lookup that fails for no answer', async () => {
    await bench.fault({ system: 'erp', operation: 'lookup', fault: 'drop_before' });
    const asked = tools.issueCreditNote.reconcile?.(question('forward', 'c-x'), fakeCall());
    expect(await failureOf(asked)).toMatchObject({ failure: 'retryable' });
  });
});

describe('charge-payment', () => {
  const asked = (action: 'forward' | 'compensate', correlationId: string) =>
    tools.chargePayment.reconcile?.(
      { action, args: undefined, idempotencyKey: 'unused', correlationId, externalIds: {} },
      fakeCall(),
    );
  const slow = (operation: 'charge' | 'refund', settlesAs: 'settled' | 'declined') =>
    bench.fault({ system: 'payments', operation, fault: 'pending', delayMs: 1_500, settlesAs });
  const notPending = async (action: 'forward' | 'compensate', correlationId: string) => {
    for (;;) {
      const answer = await asked(action, correlationId);
      if (JSON.stringify(answer) !== JSON.stringify(waiting)) return answer;
    }
  };
  let waiting: unknown;

  it('charges, refunds, and can be asked about both', async () => {
    const orderId = nextOrder();
    const call = fakeCall();
    expect(await asked('forward', call.correlationId)).toEqual(absent());
    const output = await forward(tools.chargePayment, charge(orderId), call);
    expect(await asked('forward', call.correlationId)).toMatchObject({
      output: { chargeId: output.chargeId, status: 'settled' },
    });
    const undo = fakeCall({ action: 'compensate' });
    const args = { chargeId: output.chargeId, amountMinor: 1_000, currency: 'EUR' };
    const refunded = await tools.chargePayment.compensate?.(args, undo);
    const [, refund] = (await bench.records('payments', orderId)).effects;
    expect(refunded).toEqual(
      committed(undefined, { externalIds: { refund: refund?.externalId ?? 'none' } }),
    );
    expect(await asked('compensate', undo.correlationId)).toEqual(refunded);
  });

  it('waits for a charge and a refund that settle later', async () => {
    const call = fakeCall();
    await slow('charge', 'settled');
    waiting = await forward(tools.chargePayment, charge(nextOrder()), call);
    const charged = await bench.get(
      `/payments/operations?correlationId=${call.correlationId}&action=charge`,
    );
    const [{ chargeId } = { chargeId: '' }] = charged.body.operations as { chargeId: string }[];
    expect(waiting).toEqual(pending({ externalIds: { charge: chargeId }, askAgainInMs: 500 }));
    expect(await notPending('forward', call.correlationId)).toMatchObject({
      output: { chargeId, status: 'settled' },
    });

    const undo = fakeCall({ action: 'compensate' });
    await slow('refund', 'settled');
    waiting = await tools.chargePayment.compensate?.(
      { chargeId, amountMinor: 1_000, currency: 'EUR' },
      undo,
    );
    expect(waiting).toMatchObject({ askAgainInMs: 500 });
    expect(await notPending('compensate', undo.correlationId)).toMatchObject({
      externalIds: { refund: expect.stringMatching(/^RF-/) },
    });
  });

  it('takes a declined charge for one that never happened', async () => {
    const call = fakeCall();
    await slow('charge', 'declined');
    const args = charge(nextOrder());
    waiting = await forward(tools.chargePayment, args, call);
    expect(await notPending('forward', call.correlationId)).toEqual(absent());
    expect(await failureOf(forward(tools.chargePayment, args, call))).toMatchObject({
      failure: 'terminal_compensate',
      code: 'payment_declined',
    });
  });
});

describe('book-courier and confirm-booking', () => {
  it('book, confirm, and report what the cancellation cost', async () => {
    const args = { orderId: nextOrder(), address: '1 High Street', parcels: 1 };
    const { bookingId } = await forward(tools.bookCourier, args);
    expect(await forward(tools.confirmBooking, { bookingId })).toMatchObject({ state: 'booked' });
    const undone = await tools.bookCourier.compensate?.({ bookingId }, fakeCall());
    expect(undone).toMatchObject({
      externalIds: { cancellation: expect.stringMatching(/^BX-/) },
      cost: { costMinor: 450, currency: 'EUR' },
    });
    expect(await failureOf(forward(tools.confirmBooking, { bookingId }))).toMatchObject({
      failure: 'terminal_compensate',
      code: 'booking_cancelled',
    });
  });
});

describe('send-email', () => {
  it('sends under an id that stays the same over attempts', async () => {
    const call = fakeCall();
    const { messageId } = await forward(tools.sendEmail, email, call);
    expect(sink.messages().at(-1)).toMatchObject({
      messageId,
      to: [email.to],
      correlationId: call.correlationId,
    });
    expect(await forward(tools.sendEmail, email, call)).toEqual({ messageId });
  });

  it.each([
    ['refuse_recipient', {}, { failure: 'terminal_compensate', code: 'smtp_550' }],
    ['refuse_recipient', { match: { correlationId: 'm' } }, { failure: 'terminal_compensate' }],
    ['temporary_refusal', {}, { failure: 'retryable', code: 'smtp_451' }],
    ['temporary_refusal', { match: { correlationId: 'm' } }, { failure: 'retryable' }],
    // The mail client reports a lost connection in the same way before and after the message.
    ['drop_before_data', {}, { failure: 'ambiguous' }],
    ['drop_after_data', {}, { failure: 'ambiguous' }],
    ['slow', {}, { failure: 'ambiguous', code: 'timeout' }],
  ] as const)('%s %o', async (fault, more, expected) => {
    sink.fault({ fault, delayMs: 600, ...more });
    const call = fakeCall({
      correlationId: 'm',
      ...(fault === 'slow' ? { timeoutMs: 300 } : {}),
    });
    expect(await failureOf(forward(tools.sendEmail, email, call))).toMatchObject(expected);
  });
});
