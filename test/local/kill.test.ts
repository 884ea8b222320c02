import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { messagesTo } from '../../examples/demo/checks.ts';
import { openWorld, type World } from '../../examples/demo/world.ts';

/**
 * The plane is a real process over the embedded store; it is killed without warning at moments spread
 * over a saga's life, again and again, while sagas run. Nothing may be lost, nothing done twice.
 */
const SAGAS_A_ROUND = 3;
/** From before the first claim to after the email, as measured on slow and fast machines. */
const KILL_AFTER_MS = [5, 30, 60, 100, 160, 260];

let world: World;

beforeAll(async () => {
  world = await openWorld();
}, 60_000);

afterAll(async () => {
  await world.close();
});

test('kill -9 at any moment: every saga ends, and no effect is made twice', async () => {
  const orders: { readonly orderId: string; readonly id: string }[] = [];
  for (const [round, delayMs] of KILL_AFTER_MS.entries()) {
    for (let n = 0; n < SAGAS_A_ROUND; n += 1) {
      const orderId = `kill-${round}-${n}`;
      const saga = await world.plane().start('refund', orderId, {
        orderId,
        email: `${orderId}@customers.example`,
        sku: 'SKU-1',
        quantity: 1,
        amountMinor: 1_000 + n,
        currency: 'EUR',
        reason: 'test',
      });
      orders.push({ orderId, id: saga.id });
    }
    await sleep(delayMs);
    await world.killAndRestart();
  }
  for (const { orderId, id } of orders) {
    const saga = await world.plane().untilEnded(id);
    // A mail server can neither deduplicate nor be asked: killed while it was called, a person decides.
    expect(['completed', 'needs_review'], `${orderId} is ${saga.state}`).toContain(saga.state);
    if (saga.state === 'needs_review') expect(saga.review?.reason).toBe('unknown_outcome');
    const erp = await world.records('erp', orderId);
    expect(
      erp.effects.map((effect) => effect.state),
      orderId,
    ).toEqual(['standing']);
    const creates = erp.calls.filter((call) => call.operation === 'create');
    expect(creates, orderId).toHaveLength(1);
    const stock = await world.records('stock', orderId);
    expect(
      stock.effects.map((effect) => effect.state),
      orderId,
    ).toEqual(['standing']);
    expect(messagesTo(world, `${orderId}@customers.example`), orderId).toBeLessThanOrEqual(1);
    expect((await world.plane().verification(id)).verdict, orderId).toBe('valid');
  }
}, 120_000);
