import { type Check, check, counted, eventually, messagesTo, standing } from './checks.ts';
import { undelivered } from './document-scenario.ts';
import { addressOf, orderOfId, refundOfOrder } from './inputs.ts';
import type { LedgerEvent, Saga } from './plane-client.ts';
import type { World } from './world.ts';

export interface Scenario {
  readonly name: string;
  readonly title: string;
  /** Answers the saga's id and what was found. */
  run(
    world: World,
    orderId: string,
  ): Promise<{ readonly id: string; readonly checks: readonly Check[] }>;
}

async function startRefund(world: World, orderId: string): Promise<Saga> {
  return world.plane().start('refund', `refund-${orderId}`, refundOfOrder(orderId));
}

function foundByAsking(events: readonly LedgerEvent[]): boolean {
  return events.some((event) => event.type === 'step_committed' && event.via === 'reconcile');
}

const succeeds: Scenario = {
  name: 'a',
  title: 'The refund succeeds',
  run: async (world, orderId) => {
    const { id } = await startRefund(world, orderId);
    const { state } = await world.plane().untilEnded(id);
    return {
      id,
      checks: [
        check('the saga is completed', state === 'completed'),
        check('one credit note was booked', (await standing(world, 'erp', orderId)) === 1),
        check('one email was sent', messagesTo(world, addressOf(orderId)) === 1),
      ],
    };
  },
};

const refused: Scenario = {
  name: 'b',
  title: 'The credit note is refused',
  run: async (world, orderId) => {
    const match = { orderId };
    await world.fault({ system: 'erp', operation: 'create', fault: 'refuse', match });
    const { id } = await startRefund(world, orderId);
    const { state } = await world.plane().untilEnded(id);
    return {
      id,
      checks: [
        check('the saga is compensated', state === 'compensated'),
        check('the stock was released', (await standing(world, 'stock', orderId)) === 0),
        check('no credit note was booked', (await standing(world, 'erp', orderId)) === 0),
        check('no email was sent', messagesTo(world, addressOf(orderId)) === 0),
      ],
    };
  },
};

const undoFails: Scenario = {
  name: 'c',
  title: 'The release of the stock fails too; a person mends the cause and resumes',
  run: async (world, orderId) => {
    const match = { orderId };
    await world.fault({ system: 'erp', operation: 'create', fault: 'refuse', match });
    await world.fault({
      system: 'stock',
      operation: 'release',
      fault: 'refuse',
      match: {},
      times: 1,
    });
    const { id } = await startRefund(world, orderId);
    const stopped = await world.plane().untilEnded(id);
    const before = await world.plane().standing(id);
    const stood = await standing(world, 'stock', orderId);
    const creates = await counted(world, 'erp', 'create', orderId);
    await world.mend();
    await world.plane().resume(id);
    const { state } = await world.plane().until(id, (saga) => saga.state === 'compensated');
    const after = await counted(world, 'erp', 'create', orderId);
    return {
      id,
      checks: [
        check('the saga waited for a person', stopped.state === 'needs_review'),
        check('it said that the stock still stood, as it did', !before.clear && stood === 1),
        check('after mending it is compensated', state === 'compensated'),
        check('the stock was released', (await standing(world, 'stock', orderId)) === 0),
        check('nothing else ran again', after.calls === creates.calls),
      ],
    };
  },
};

const dropped: Scenario = {
  name: 'd',
  title: 'The partner commits and drops the connection',
  run: async (world, orderId) => {
    const match = { orderId };
    await world.fault({ system: 'erp', operation: 'create', fault: 'commit_then_drop', match });
    const { id } = await startRefund(world, orderId);
    const { state } = await world.plane().untilEnded(id);
    const created = await counted(world, 'erp', 'create', orderId);
    const events = await world.plane().events(id);
    return {
      id,
      checks: [
        check('the saga is completed', state === 'completed'),
        check('the outcome was found by asking', foundByAsking(events)),
        check('exactly one call, exactly one effect', created.calls === 1 && created.effects === 1),
      ],
    };
  },
};

const killed: Scenario = {
  name: 'e',
  title: 'The process is killed between commit and record, and started again',
  run: async (world, orderId) => {
    const match = { orderId };
    await world.fault({
      system: 'erp',
      operation: 'create',
      fault: 'commit_late',
      match,
      delayMs: 100,
    });
    const { id } = await startRefund(world, orderId);
    await eventually('the commit at the partner', world, async () => {
      return (await counted(world, 'erp', 'create', orderId)).effects === 1;
    });
    await world.killAndRestart('issue-credit-note');
    const { state } = await world.plane().untilEnded(id);
    const created = await counted(world, 'erp', 'create', orderId);
    const events = await world.plane().events(id);
    return {
      id,
      checks: [
        check('the saga is completed', state === 'completed'),
        check('what the dead process knew was found by asking', foundByAsking(events)),
        check('exactly one call, exactly one effect', created.calls === 1 && created.effects === 1),
        check('one email was sent', messagesTo(world, addressOf(orderId)) === 1),
      ],
    };
  },
};

const pending: Scenario = {
  name: 'f',
  title: 'The payment provider answers "pending" for a while',
  run: async (world, orderId) => {
    const match = { orderId };
    await world.fault({
      system: 'payments',
      operation: 'charge',
      fault: 'pending',
      match,
      delayMs: 7_000 * world.pace,
    });
    const input = orderOfId(orderId);
    const { id } = await world.plane().start('order', `order-${orderId}`, input);
    const parked = await world.plane().until(id, (saga) => saga.drive.state === 'parked');
    const { state } = await world.plane().untilEnded(id);
    const charged = await counted(world, 'payments', 'charge', orderId);
    const events = await world.plane().events(id);
    return {
      id,
      checks: [
        check('the saga parked and waited', parked.state === 'waiting'),
        check('nobody was asked', !events.some((event) => event.type === 'review_opened')),
        check('it went on by itself and is completed', state === 'completed'),
        check('one charge', charged.calls === 1 && charged.effects === 1),
      ],
    };
  },
};

export const SCENARIOS: readonly Scenario[] = [
  succeeds,
  refused,
  undoFails,
  dropped,
  killed,
  pending,
  undelivered,
];
