import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { counted, eventually, messagesTo } from '../../examples/demo/checks.ts';
import type { LedgerEvent } from '../../examples/demo/plane-client.ts';
import type { World } from '../../examples/demo/world.ts';
import { Executions, machineOf, startAndLoseDrive } from './aws.ts';
import { play, refundOfOrder } from './scenario.ts';
import { target } from './target.ts';
import { openDeployedWorld, openStandingWorld, orderId } from './worlds.ts';

/**
 * The demonstration's scenarios, wherever the plane runs: the same sagas, calls and claims; then what
 * happens to executions and functions, where there are any.
 */
const deploys = target.kind === 'emulator' || target.kind === 'endpoint';
/** Where time and processes are ours, or a stand-in's that hands them over. */
const killable = target.kind === 'local' || target.kind === 'emulator';

/** The promise: whatever is due is found within two minutes, by a sweep each minute. */
const FOUND_WITHIN_MS = 120_000;

let world: World;
let endpoint: string | undefined;
let close: () => Promise<void>;

beforeAll(async () => {
  if (!deploys) {
    world = await openStandingWorld();
    close = () => world.close();
    return;
  }
  const deployed = await openDeployedWorld('STANDARD');
  world = deployed.world;
  endpoint = deployed.standIn.endpoint;
  close = async () => {
    await world.close();
    await deployed.issuer.close();
  };
});
afterAll(() => close());

async function eventsOf(id: string): Promise<LedgerEvent[]> {
  return world.plane().events(id);
}

/** How long each drive that was granted because the saga was due was waited for. */
function waits(events: readonly LedgerEvent[]): number[] {
  return events.flatMap((event, index) => {
    const dueAt = events[index - 1]?.dueAt;
    const found = event.type === 'drive_granted' && event.reason === 'due';
    return found && dueAt !== undefined ? [event.at - dueAt] : [];
  });
}

describe('sagas that need no clock', () => {
  test('scenario (a): the refund succeeds', async () => {
    await play(world, 'a', orderId('a'));
  });

  // The machine's Catch takes whatever was thrown with its whole state: the ids are still there.
  test('ef-01 and ef-03: scenario (b), a terminal error takes the way of recovery', async () => {
    await play(world, 'b', orderId('b'));
  });

  test('scenario (c): the undo fails too, a person resumes', async () => {
    await play(world, 'c', orderId('c'));
  });

  test('ef-03: scenario (d), an ambiguous error takes the way of asking', async () => {
    await play(world, 'd', orderId('d'));
  });

  test('ef-03: an error that needs a person takes the way of review', async ({ expect }) => {
    const order = orderId('hold');
    world.mail.fault({
      fault: 'drop_after_data',
      match: { to: `${order}@customers.example` },
    });
    const { id } = await world.plane().start('refund', order, refundOfOrder(order));
    const saga = await world.plane().untilEnded(id);
    expect(saga).toMatchObject({
      state: 'needs_review',
      review: { reason: 'unknown_outcome' },
    });
    expect(messagesTo(world, `${order}@customers.example`)).toBe(1);
  });

  test('ef-13: what fails twice for now is tried a third time, and nothing is undone', async ({
    expect,
  }) => {
    const order = orderId('again');
    const match = { orderId: order };
    const fault = { system: 'erp', operation: 'create', match, times: 2 } as const;
    await world.fault({ ...fault, fault: 'unavailable' });
    const { id } = await world.plane().start('refund', order, refundOfOrder(order));
    expect(await world.plane().untilEnded(id)).toMatchObject({ state: 'completed' });
    expect(await counted(world, 'erp', 'create', order)).toEqual({ calls: 3, effects: 1 });
    expect(await counted(world, 'stock', 'release', order)).toEqual({ calls: 0, effects: 0 });
  });
});

describe('sagas that the sweep finds', () => {
  // Nobody can kill a Lambda of an account, or in another's emulator, from outside.
  const killing = test.skipIf(!killable);
  // Locally the plane is killed as a whole, so nothing else may run meanwhile.
  const beside = target.kind === 'local' ? killing : killing.concurrent;
  beside('scenario (e): killed between commit and record', async () => {
    await play(world, 'e', orderId('e'));
  });

  test.concurrent('scenario (f): the payment is pending, the saga parks', async ({ expect }) => {
    const id = await play(world, 'f', orderId('f'));
    for (const waited of waits(await eventsOf(id))) expect(waited).toBeLessThan(FOUND_WITHIN_MS);
  });

  test.concurrent('ef-04: a commit that lands after the call was given up is found, not repeated', async ({
    expect,
  }) => {
    const order = orderId('late');
    const match = { orderId: order };
    const fault = { system: 'erp', operation: 'create', match, delayMs: 3_000 } as const;
    await world.fault({ ...fault, fault: 'commit_late' });
    const { id } = await world.plane().start('refund', order, refundOfOrder(order));
    expect(await world.plane().untilEnded(id)).toMatchObject({ state: 'completed' });
    expect(await counted(world, 'erp', 'create', order)).toEqual({ calls: 1, effects: 1 });
  });

  test.concurrent('ef-06: a call that nobody answers ends by its own deadline, whatever the machine enforces', async ({
    expect,
  }) => {
    const order = orderId('silent');
    const match = { orderId: order };
    const fault = { system: 'erp', operation: 'create', match, delayMs: 3_600_000 } as const;
    await world.fault({ ...fault, fault: 'commit_late' });
    const { id } = await world.plane().start('refund', order, refundOfOrder(order));
    expect(await world.plane().untilEnded(id)).toMatchObject({ state: 'completed' });
    // After the settle window the partner says that nothing is there: once more is safe.
    expect(await counted(world, 'erp', 'create', order)).toMatchObject({ effects: 1 });
  });

  // The local plane and an account's own console are no place to stop executions from here.
  test
    .skipIf(!deploys)
    .concurrent(
      'ef-07: an execution that is stopped does no more, and its saga goes on',
      async ({ expect }) => {
        const order = orderId('stopped');
        const match = { orderId: order };
        const fault = { system: 'erp', operation: 'create', match, delayMs: 1_500 } as const;
        await world.fault({ ...fault, fault: 'slow' });
        const { id } = await world.plane().start('refund', order, refundOfOrder(order));
        await eventually('the call at the partner', world, async () => {
          return (await counted(world, 'erp', 'create', order)).calls === 1;
        });
        const executions = new Executions(endpoint ?? '', id, machineOf(await eventsOf(id)));
        await executions.stop(1);
        expect(await executions.status(1)).toBe('ABORTED');
        const again = await world.plane().start('refund', order, refundOfOrder(order));
        expect(again).toMatchObject({ id, replayed: true });
        await executions.start(1);
        await sleep(3_000);
        // On AWS a stopped execution stays ABORTED (docs.aws.amazon.com/step-functions, StopExecution).
        // Emulators go on to the end of the state they are in, and some then say FAILED: so nothing here
        // asks for the status again, only for what was done.
        expect(await counted(world, 'erp', 'create', order)).toEqual({ calls: 1, effects: 1 });
        expect(await world.plane().untilEnded(id)).toMatchObject({ state: 'completed' });
        const events = await eventsOf(id);
        const emails = events.filter(
          ({ step, type }) => step === 'email' && type === 'step_claimed',
        );
        expect(emails.map(({ epoch }) => epoch)).toEqual([2]);
        expect(await counted(world, 'erp', 'create', order)).toEqual({ calls: 1, effects: 1 });
        for (const waited of waits(events)) expect(waited).toBeLessThan(FOUND_WITHIN_MS);
      },
    );

  // As above: only on a stand-in.
  test
    .skipIf(!deploys)
    .concurrent(
      'ef-12: a start whose execution was stopped is answered from the ledger',
      async ({ expect }) => {
        const order = orderId('again-stopped');
        const match = { orderId: order };
        const fault = { system: 'erp', operation: 'create', match, delayMs: 1_500 } as const;
        await world.fault({ ...fault, fault: 'slow' });
        const { id } = await world.plane().start('refund', order, refundOfOrder(order));
        await eventually('the call at the partner', world, async () => {
          return (await counted(world, 'erp', 'create', order)).calls === 1;
        });
        const executions = new Executions(endpoint ?? '', id, machineOf(await eventsOf(id)));
        await executions.stop(1);
        const again = await world.plane().start('refund', order, refundOfOrder(order));
        expect(again).toMatchObject({ id, replayed: true });
        // A name that was used is refused for a closed execution, and means: this drive was started.
        await executions.start(1);
        expect(await world.plane().untilEnded(id)).toMatchObject({ state: 'completed' });
        expect(await counted(world, 'erp', 'create', order)).toEqual({ calls: 1, effects: 1 });
      },
    );

  // Only beside a deployed plane can its tables be written without its machine.
  test
    .skipIf(!deploys)
    .concurrent(
      'a saga whose first drive was never started is found and driven',
      async ({ expect }) => {
        const known = orderId('known');
        const before = await world.plane().start('refund', known, refundOfOrder(known));
        const machine = machineOf(await eventsOf(before.id));
        const order = orderId('lost');
        const { id } = await startAndLoseDrive(
          endpoint ?? '',
          machine,
          order,
          refundOfOrder(order),
        );
        expect(await world.plane().untilEnded(id)).toMatchObject({ state: 'completed' });
        const waited = waits(await eventsOf(id));
        expect(waited).toHaveLength(1);
        for (const each of waited) expect(each).toBeLessThan(FOUND_WITHIN_MS);
      },
    );
});
