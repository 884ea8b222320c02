import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { FAULTS, type FaultName } from '../../examples/partners/faults.ts';
import { type GatewayEvent, partnersHandler } from '../../examples/partners/function.ts';
import { type Dynalite, startDynalite } from '../support/dynalite.ts';
import { freshPartnerTable } from './partner-tables.ts';
import { partnersContract } from './partners.contract.ts';
import { callsTo, type PartnerCalls } from './support.ts';

let dynalite: Dynalite;
beforeAll(async () => {
  dynalite = await startDynalite();
});
afterAll(() => dynalite.close());

type Handler = ReturnType<typeof partnersHandler>;

class Crash extends Error {}

/** A function of its own over a table of its own; to end its process is to throw. */
async function freshFunction(): Promise<Handler> {
  const table = await freshPartnerTable(dynalite.client);
  return partnersHandler({
    client: dynalite.client,
    table,
    exit: (code) => {
      throw new Crash(`ended with ${code}`);
    },
  });
}

/** Calls by way of events, as a gateway hands them over. `waitedMs`: since the request arrived. */
function throughGateway(handler: Handler, waitedMs = 0): PartnerCalls {
  return callsTo('https://partners.example.com', async (url, init = {}) => {
    const { pathname, search } = new URL(url);
    const event: GatewayEvent = {
      rawPath: pathname,
      rawQueryString: search.slice(1),
      headers: (init.headers ?? {}) as Record<string, string>,
      isBase64Encoded: false,
      ...(typeof init.body === 'string' ? { body: init.body } : {}),
      requestContext: {
        http: { method: init.method ?? 'GET' },
        timeEpoch: Date.now() - waitedMs,
      },
    };
    const { statusCode, headers, body } = await handler(event);
    return new Response(body === '' ? null : body, { status: statusCode, headers });
  });
}

partnersContract('a function, records in a table', async () => ({
  calls: throughGateway(await freshFunction()),
  close: async () => {},
}));

const reserve = { system: 'stock', operation: 'reserve' } as const;
let orders = 0;
function order() {
  orders += 1;
  const orderId = `F-${orders}`;
  const headers = { 'idempotency-key': `key-${orders}`, 'x-correlation-id': `c-${orders}` };
  return { orderId, headers, body: { orderId, sku: 'LAMP', quantity: 1 } };
}

describe('faults of the function', () => {
  let handler: Handler;
  let calls: PartnerCalls;
  beforeAll(async () => {
    handler = await freshFunction();
    calls = throughGateway(handler);
  });
  afterEach(async () => {
    await handler({
      rawPath: '/faults',
      rawQueryString: '',
      headers: {},
      isBase64Encoded: false,
      requestContext: { http: { method: 'DELETE' }, timeEpoch: Date.now() },
    });
  });

  /** What the caller sees, and how many effects there are. A gateway says 5xx of whatever is silent. */
  const EXPECTED: Readonly<Record<Exclude<FaultName, 'pending'>, readonly [number, number]>> = {
    refuse: [422, 0],
    throttle: [429, 0],
    unavailable: [503, 0],
    not_success: [200, 0],
    drop_before: [502, 0],
    crash_before: [500, 0],
    slow: [201, 1],
    commit_late: [502, 1],
    commit_then_drop: [502, 1],
    crash_after: [500, 1],
    huge_result: [201, 1],
    wrong_shape: [201, 1],
  };

  it('are all tried here, but for payments that settle later', () => {
    expect([...Object.keys(EXPECTED), 'pending'].toSorted()).toEqual([...FAULTS].toSorted());
  });

  it.each(Object.entries(EXPECTED))('%s', async (name, [status, effects]) => {
    const { orderId, headers, body } = order();
    await calls.fault({ ...reserve, fault: name as FaultName, delayMs: 30 });
    expect((await calls.post('/stock/reservations', body, headers)).status).toBe(status);
    expect((await calls.records('stock', orderId)).effects).toHaveLength(effects);
    // Spent, and the key keeps the next call to one effect.
    expect((await calls.post('/stock/reservations', body, headers)).status).toBe(201);
    expect((await calls.records('stock', orderId)).effects).toHaveLength(1);
  });

  it.each(['slow', 'commit_late'] as const)(
    '%s is refused where it outlasts the function, which would never get to its effect',
    async (fault) => {
      const asked = await calls.post('/faults', { ...reserve, fault, delayMs: 20_001 });
      expect(asked).toMatchObject({ status: 400, body: { code: 'invalid_fault' } });
      expect(String(asked.body.detail)).toContain('at most 20000');
      const settling = { system: 'payments', operation: 'charge', fault: 'pending' } as const;
      expect((await calls.fault({ ...settling, delayMs: 60_000 })).status).toBe(201);
    },
  );
});

describe('a request that waited for the function to start', () => {
  it('does nothing where its caller’s settle window might be over, and says that it did nothing', async () => {
    const handler = await freshFunction();
    const { orderId, headers, body } = order();
    const waited = throughGateway(handler, 1_300);
    const answer = await waited.post('/stock/reservations', body, headers);
    expect(answer).toMatchObject({ status: 503, body: { code: 'starting' } });
    expect((await waited.records('stock', orderId)).calls).toEqual([]);
    await waited.fault({ ...reserve, fault: 'refuse' });
    const soon = throughGateway(handler, 1_000);
    expect((await soon.post('/stock/reservations', body, headers)).status).toBe(422);
  });
});
