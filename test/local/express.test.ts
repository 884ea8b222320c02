import { openRecord, type SagaEvent } from 'counterstep';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type MailSink, startMailSink } from '../../examples/mail/sink.ts';
import { orderOf } from '../../examples/order/saga.ts';
import { orderTools } from '../../examples/order/tools.ts';
import { refundOf } from '../../examples/refund/saga.ts';
import { refundTools } from '../../examples/refund/tools.ts';
import { EXPRESS_DRIVE_MS } from '../../lambdas/ledger/ledger-function.ts';
import { systemClock } from '../../lambdas/ports/clock.ts';
import type { Principal } from '../../lambdas/service/principal.ts';
import { SagaService } from '../../lambdas/service/service.ts';
import { memoryStores } from '../../lambdas/stores/memory/open.ts';
import { startEngine } from '../../local/engine.ts';
import { type Bench, startBench } from '../examples/support.ts';

/** What AWS gives an Express execution. */
const EXPRESS_MS = 300_000;
/** A drive that has this little left begins no further step of the examples. */
const ALMOST_OVER_MS = EXPRESS_DRIVE_MS - 1_000;

const WHO: Principal = { tenant: 'acme', id: 'ada', roles: ['starter', 'reader'] };
const GOODS = { sku: 'SKU-7', quantity: 1, amountMinor: 4_900, currency: 'EUR' };

let bench: Bench;
let mail: MailSink;
beforeAll(async () => {
  bench = await startBench();
  mail = await startMailSink();
});
afterAll(async () => {
  await bench.stop();
  await mail.stop();
});

let orders = 0;
let orderId: string;
beforeEach(() => {
  orders += 1;
  orderId = `express-${orders}`;
});

const refundInput = () => ({
  ...GOODS,
  orderId,
  email: `${orderId}@customers.example`,
  reason: 'broken',
});
const orderInput = () => ({ ...GOODS, orderId, customerId: 'C-1', address: '1 Main Street' });

/**
 * Runs an example saga as Express to its end, and answers its events. Where `slowAfter` holds of an
 * event, the drive's time is almost over from then on.
 */
async function run(
  saga: ReturnType<typeof refundOf> | ReturnType<typeof orderOf>,
  input: unknown,
  slowAfter: (event: SagaEvent) => boolean = () => false,
): Promise<readonly SagaEvent[]> {
  let passed = 0;
  const clock = { ...systemClock, now: () => Date.now() + passed };
  const stores = memoryStores();
  const engine = await startEngine({
    sagas: [saga],
    tools: [
      ...Object.values(refundTools({ partnersUrl: bench.partners.url, smtpUrl: mail.url })),
      ...Object.values(orderTools({ partnersUrl: bench.partners.url })),
    ],
    stores,
    heads: stores.openHeads(),
    ledgers: () => [],
    clock,
    appended: (_, event) => {
      if (slowAfter(event)) passed += ALMOST_OVER_MS;
    },
  });
  try {
    const service = new SagaService({
      host: engine.host,
      ledger: engine.ledger,
      sagas: [saga],
      index: engine.projection,
      machineOf: (each) => engine.machines.machineOf(each),
    });
    const { id } = await service.start(WHO, saga.name, orderId, JSON.stringify(input));
    const ledger = { tenant: WHO.tenant, sagaId: id };
    for (;;) {
      const events = (await stores.ledger.read(ledger)).map((record) => openRecord(record));
      if (events.at(-1)?.drive === 'ended') return events;
      await new Promise((later) => setTimeout(later, 10));
    }
  } finally {
    await engine.close();
  }
}

/** Every claim ends before AWS would end its execution, counted from when its drive was granted. */
function expectClaimsToFit(events: readonly SagaEvent[]): void {
  const granted = new Map<number, number>();
  let claims = 0;
  for (const event of events) {
    if (!granted.has(event.epoch)) granted.set(event.epoch, event.at);
    if (event.type !== 'step_claimed') continue;
    claims += 1;
    const endsAt = (granted.get(event.epoch) ?? 0) + EXPRESS_MS;
    expect([event.step, event.action, event.leaseUntil <= endsAt]).toEqual([
      event.step,
      event.action,
      true,
    ]);
  }
  expect(claims).toBeGreaterThan(0);
}

const claimed = (events: readonly SagaEvent[]) =>
  events.flatMap((event) =>
    event.type === 'step_claimed' ? [`${event.epoch} ${event.action} ${event.step}`] : [],
  );

describe.each([
  ['refund', () => refundOf('EXPRESS'), refundInput],
  ['order', () => orderOf('EXPRESS'), orderInput],
] as const)('%s on an Express machine', (_, sagaOf, inputOf) => {
  test('completes in one drive', async () => {
    const saga = sagaOf();
    expect(saga.plan.sagaType).toBe('EXPRESS');
    const events = await run(saga, inputOf());
    expect(events.at(-1)?.type).toBe('saga_completed');
    expect(claimed(events)).toEqual(saga.steps.map(({ name }) => `1 forward ${name}`));
    expectClaimsToFit(events);
  });

  test('where each step takes nearly all of a drive’s time, the next drive goes on, and nothing is done twice', async () => {
    const saga = sagaOf();
    const events = await run(saga, inputOf(), ({ type }) => type === 'step_committed');
    expect(events.at(-1)?.type).toBe('saga_completed');
    expect(claimed(events)).toEqual(saga.steps.map(({ name }, at) => `${at + 1} forward ${name}`));
    expectClaimsToFit(events);
  });
});

test('a failure at the end of a drive’s time is undone in the next one', async () => {
  await bench.fault({ system: 'erp', operation: 'create', fault: 'refuse', match: { orderId } });
  const events = await run(
    refundOf('EXPRESS'),
    refundInput(),
    ({ type }) => type === 'step_failed',
  );
  expect(events.at(-1)?.type).toBe('saga_compensated');
  expect(claimed(events)).toEqual(['1 forward stock', '1 forward credit', '2 compensate stock']);
  expectClaimsToFit(events);
});
