import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { FAULTS, type FaultName } from '../../examples/partners/faults.ts';
import { type Bench, startBench } from './support.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterEach(async () => {
  await fetch(`${bench.partners.url}/faults`, { method: 'DELETE' });
});
afterAll(() => bench.stop());

let orders = 0;
function order() {
  orders += 1;
  const orderId = `O-${orders}`;
  const headers = { 'idempotency-key': `key-${orders}`, 'x-correlation-id': `c-${orders}` };
  return { orderId, headers, body: { orderId, sku: 'LAMP', quantity: 2 } };
}

const reserve = { system: 'stock', operation: 'reserve' } as const;

interface Expected {
  /** Status of the answer; `null` where the connection is lost. */
  readonly status: number | null;
  readonly outcome: string;
  readonly effects: number;
  readonly restarts?: number;
}

/** What each fault does to one reservation. `pending` and `commit_late` have tests of their own. */
const EXPECTED: Readonly<Record<Exclude<FaultName, 'pending' | 'commit_late'>, Expected>> = {
  refuse: { status: 422, outcome: 'refused', effects: 0 },
  throttle: { status: 429, outcome: 'throttled', effects: 0 },
  unavailable: { status: 503, outcome: 'unavailable', effects: 0 },
  not_success: { status: 200, outcome: 'refused', effects: 0 },
  drop_before: { status: null, outcome: 'dropped', effects: 0 },
  crash_before: { status: null, outcome: 'interrupted', effects: 0, restarts: 1 },
  slow: { status: 201, outcome: 'committed', effects: 1 },
  commit_then_drop: { status: null, outcome: 'committed', effects: 1 },
  crash_after: { status: null, outcome: 'committed', effects: 1, restarts: 1 },
  huge_result: { status: 201, outcome: 'committed', effects: 1 },
  wrong_shape: { status: 201, outcome: 'committed', effects: 1 },
};

describe('each fault', () => {
  it('has an expectation here', () => {
    const named = [...Object.keys(EXPECTED), 'pending', 'commit_late'];
    expect(named.toSorted()).toEqual([...FAULTS].toSorted());
  });

  it.each(Object.entries(EXPECTED))('%s strikes once and is recorded', async (name, expected) => {
    const fault = name as FaultName;
    const { orderId, headers, body } = order();
    const { restarts } = bench.partners;
    await bench.fault({ ...reserve, fault, delayMs: 50 });
    const answer = await bench.post('/stock/reservations', body, headers).catch(() => null);
    await bench.partners.ready();
    expect(answer?.status ?? null).toBe(expected.status);
    expect(bench.partners.restarts - restarts).toBe(expected.restarts ?? 0);
    const records = await bench.records('stock', orderId);
    expect(records.effects).toHaveLength(expected.effects);
    expect(records.calls).toMatchObject([
      { outcome: expected.outcome, fault, status: expected.status },
    ]);

    // Spent, over a crash too: the same call goes through, and the key keeps it to one effect.
    const again = await bench.post('/stock/reservations', body, headers);
    expect(again.status).toBe(201);
    const after = await bench.records('stock', orderId);
    expect(after.effects).toHaveLength(1);
    expect(after.calls[1]).toMatchObject({
      outcome: expected.effects === 1 ? 'replayed' : 'committed',
      fault: null,
    });
  });
});

describe('the answers of faults', () => {
  it('tell when to come back, in whole seconds', async () => {
    await bench.fault({ ...reserve, fault: 'throttle', retryAfterMs: 1_200 });
    const answer = await bench.post('/stock/reservations', order().body);
    expect(answer.headers.get('retry-after')).toBe('2');
  });

  it('carry the code they were given', async () => {
    await bench.fault({ ...reserve, fault: 'refuse', code: 'policy' });
    expect((await bench.post('/stock/reservations', order().body)).body.code).toBe('policy');
    await bench.fault({ ...reserve, fault: 'not_success', code: 'policy' });
    const { body } = await bench.post('/stock/reservations', order().body);
    expect(body).toMatchObject({ success: false, code: 'policy' });
  });

  it('are huge to the byte, or misshapen in either way, and so is their replay', async () => {
    const huge = order();
    await bench.fault({ ...reserve, fault: 'huge_result', bytes: 500_000 });
    const first = await bench.post('/stock/reservations', huge.body, huge.headers);
    expect(String(first.body.note)).toHaveLength(500_000);
    const replay = await bench.post('/stock/reservations', huge.body, huge.headers);
    expect(replay.body).toEqual(first.body);

    await bench.fault({ ...reserve, fault: 'wrong_shape' });
    const wrapped = await bench.post('/stock/reservations', order().body);
    expect(wrapped.body).toMatchObject({ data: { quantity: 2 } });
    await bench.fault({ ...reserve, fault: 'wrong_shape', shape: 'types' });
    const mistyped = await bench.post('/stock/reservations', order().body);
    expect(mistyped.body).toMatchObject({
      quantity: 'about 2',
      reservationId: expect.stringMatching(/^RES-/),
    });
  });
});

describe('commit_late', () => {
  it('commits after the caller has given up', async () => {
    const { orderId, headers, body } = order();
    await bench.fault({ ...reserve, fault: 'commit_late', delayMs: 1_500 });
    const sent = fetch(`${bench.partners.url}/stock/reservations`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(100),
    });
    await expect(sent).rejects.toThrow();
    const early = await bench.records('stock', orderId);
    expect(early.calls).toMatchObject([{ outcome: 'open' }]);
    expect(early.effects).toEqual([]);
    await bench.quiet();
    const late = await bench.records('stock', orderId);
    expect(late.calls).toMatchObject([{ outcome: 'committed', status: null }]);
    expect(late.effects).toHaveLength(1);
  });

  it('makes no second effect where the key was used meanwhile', async () => {
    const { orderId, headers, body } = order();
    await bench.fault({ ...reserve, fault: 'commit_late', delayMs: 1_500 });
    const sent = fetch(`${bench.partners.url}/stock/reservations`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(100),
    });
    await expect(sent).rejects.toThrow();
    await bench.post('/stock/reservations', body, headers);
    await bench.quiet();
    const { calls, effects } = await bench.records('stock', orderId);
    expect(calls.map(({ outcome }) => outcome)).toEqual(['replayed', 'committed']);
    expect(effects).toHaveLength(1);
  });
});

describe('pending', () => {
  const charge = (orderId: string) => ({
    orderId,
    customerId: 'C-1',
    amountMinor: 900,
    currency: 'EUR',
  });
  const settle = async (path: string): Promise<unknown> => {
    for (;;) {
      const { status } = (await bench.get(path)).body;
      if (status !== 'pending') return status;
    }
  };

  it('settles a charge later, over a restart too; a refund must wait for it', async () => {
    const { orderId, headers } = order();
    await bench.fault({
      system: 'payments',
      operation: 'charge',
      fault: 'pending',
      delayMs: 2_500,
    });
    const accepted = await bench.post('/payments/charges', charge(orderId), headers);
    expect(accepted).toMatchObject({ status: 202, body: { status: 'pending' } });
    const { chargeId } = accepted.body;
    const refund = { chargeId, amountMinor: 900, currency: 'EUR' };
    expect(await bench.post('/payments/refunds', refund)).toMatchObject({
      status: 409,
      body: { code: 'charge_not_settled' },
    });
    expect((await bench.records('payments', orderId)).effects[0]?.state).toBe('pending');
    await bench.partners.restart();
    expect(await settle(`/payments/charges/${chargeId}`)).toBe('settled');
    const replay = await bench.post('/payments/charges', charge(orderId), headers);
    expect(replay.body).toMatchObject({ chargeId, status: 'settled' });
    expect((await bench.records('payments', orderId)).effects).toMatchObject([
      { state: 'standing' },
    ]);
  });

  it('can end in a decline, which counts as no effect', async () => {
    const { orderId, headers } = order();
    await bench.fault({
      system: 'payments',
      operation: 'charge',
      fault: 'pending',
      delayMs: 50,
      settlesAs: 'declined',
    });
    const { body } = await bench.post('/payments/charges', charge(orderId), headers);
    expect(await settle(`/payments/charges/${body.chargeId}`)).toBe('declined');
    const { effects, counts } = await bench.records('payments', orderId);
    expect(effects).toMatchObject([{ state: 'declined' }]);
    expect(counts).toMatchObject([{ operation: 'charge', calls: 1, effects: 0 }]);
  });

  it('leaves a charge standing until its refund has settled', async () => {
    const { orderId } = order();
    const { body } = await bench.post('/payments/charges', charge(orderId));
    const { chargeId } = body;
    await bench.fault({
      system: 'payments',
      operation: 'refund',
      fault: 'pending',
      delayMs: 1_500,
    });
    const refund = { chargeId, amountMinor: 900, currency: 'EUR' };
    const accepted = await bench.post('/payments/refunds', refund);
    expect(accepted.status).toBe(202);
    const early = await bench.records('payments', orderId);
    expect(early.effects[0]).toMatchObject({ state: 'standing', reversedMinor: 0 });
    expect(await settle(`/payments/refunds/${accepted.body.refundId}`)).toBe('settled');
    const late = await bench.records('payments', orderId);
    expect(late.effects[0]).toMatchObject({ state: 'reversed', reversedMinor: 900 });
  });
});

describe('which calls a fault strikes', () => {
  const status = async ({ body, headers }: ReturnType<typeof order>): Promise<number> =>
    (await bench.post('/stock/reservations', body, headers)).status;

  it('is bounded by order, correlation id, skip and times', async () => {
    const one = order();
    const two = order();
    await bench.fault({ ...reserve, fault: 'refuse', match: { orderId: two.orderId } });
    expect([await status(one), await status(two), await status(two)]).toEqual([201, 422, 201]);

    const three = order();
    const match = { correlationId: three.headers['x-correlation-id'] };
    await bench.fault({ ...reserve, fault: 'unavailable', match, skip: 1, times: 2 });
    expect(await status(order())).toBe(201);
    const answers = [];
    for (let n = 0; n < 4; n += 1) answers.push(await status(three));
    expect(answers).toEqual([201, 503, 503, 201]);
  });

  it('follows an order to calls that name only an external id', async () => {
    const { orderId, body } = order();
    const { reservationId } = (await bench.post('/stock/reservations', body)).body;
    const release = { system: 'stock', operation: 'release' } as const;
    await bench.fault({ ...release, fault: 'refuse', match: { orderId } });
    const path = `/stock/reservations/${reservationId}/release`;
    expect((await bench.post(path, {})).status).toBe(422);
  });

  it('is listed, and switched off for all', async () => {
    await bench.fault({ ...reserve, fault: 'refuse', times: 3 });
    const listed = (await bench.get('/faults')).body.faults;
    expect(listed).toMatchObject([{ system: 'stock', fault: 'refuse', times: 3 }]);
    await fetch(`${bench.partners.url}/faults`, { method: 'DELETE' });
    expect((await bench.get('/faults')).body.faults).toEqual([]);
    expect(await status(order())).toBe(201);
  });

  it('may be a lookup or a read', async () => {
    await bench.fault({ system: 'erp', operation: 'lookup', fault: 'unavailable' });
    const path = '/erp/credit-notes?correlationId=c-none';
    expect((await bench.get(path)).status).toBe(503);
    expect((await bench.get(path)).status).toBe(200);
    await bench.fault({ system: 'customers', operation: 'get', fault: 'drop_before' });
    await expect(bench.get('/customers/C-1')).rejects.toThrow();
    expect((await bench.get('/customers/C-1')).status).toBe(200);
  });
});
