import { describe, expect, test } from 'vitest';
import { counted, messagesTo } from '../../examples/demo/checks.ts';
import { refundOfOrder } from '../../examples/demo/inputs.ts';
import type { FaultRequest } from '../../examples/partners/faults.ts';
import { expectFound, play } from './scenario.ts';
import { orderId, type Place } from './worlds.ts';

/** The demonstration's scenarios, and what else partners do to a saga. */
export function scenarioTests(at: () => Place): void {
  describe('scenarios', () => {
    test('scenario (f): the payment is pending, the saga parks', async () => {
      expectFound(await play(at(), 'f', orderId('f')));
    });

    test('scenario (a): the refund succeeds', async () => {
      await play(at(), 'a', orderId('a'));
    });

    // The machine's Catch takes whatever was thrown with its whole state: the ids are still there.
    test('ef-01 and ef-03: scenario (b), a terminal error takes the way of recovery', async () => {
      await play(at(), 'b', orderId('b'));
    });

    test('ef-03: scenario (d), an ambiguous error takes the way of asking', async () => {
      await play(at(), 'd', orderId('d'));
    });
  });

  describe('partners', () => {
    test('ef-03: an error that needs a person takes the way of review', async () => {
      const { world } = at();
      const order = orderId('hold');
      const { email: to } = refundOfOrder(order);
      world.mail.fault({ fault: 'drop_after_data', match: { to } });
      expect(await refundEnded(at(), order)).toMatchObject({
        state: 'needs_review',
        review: { reason: 'unknown_outcome' },
      });
      expect(messagesTo(world, to)).toBe(1);
    });

    test('ef-13: what fails twice for now is tried a third time, and nothing is undone', async () => {
      const { world } = at();
      const order = orderId('again');
      await world.fault({ ...onCreate(order), fault: 'unavailable', times: 2 });
      expect(await refundEnded(at(), order)).toMatchObject({ state: 'completed' });
      expect(await counted(world, 'erp', 'create', order)).toEqual({ calls: 3, effects: 1 });
      expect(await counted(world, 'stock', 'release', order)).toEqual({ calls: 0, effects: 0 });
    });

    test('ef-04: a commit that lands after the call was given up is found, not repeated', async () => {
      const { world } = at();
      const order = orderId('late');
      await world.fault({ ...onCreate(order), fault: 'commit_late', delayMs: 3_000 });
      expect(await refundEnded(at(), order)).toMatchObject({ state: 'completed' });
      expect(await counted(world, 'erp', 'create', order)).toEqual({ calls: 1, effects: 1 });
    });

    test('ef-06: a call that nobody answers ends by its own deadline, whatever the machine enforces', async () => {
      const { world } = at();
      const order = orderId('silent');
      await world.fault({ ...onCreate(order), fault: 'commit_late', delayMs: 3_600_000 });
      expect(await refundEnded(at(), order)).toMatchObject({ state: 'completed' });
      // After the settle window the partner says that nothing is there: once more is safe.
      expect(await counted(world, 'erp', 'create', order)).toMatchObject({ effects: 1 });
    });
  });
}

async function refundEnded({ world }: Place, order: string) {
  const { id } = await world.plane().start('refund', order, refundOfOrder(order));
  return world.plane().untilEnded(id);
}

/** Where the credit note of that order is booked. */
function onCreate(order: string) {
  return {
    system: 'erp',
    operation: 'create',
    match: { orderId: order },
  } as const satisfies Partial<FaultRequest>;
}
