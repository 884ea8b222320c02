import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { counted, eventually } from '../../examples/demo/checks.ts';
import { refundOfOrder } from '../../examples/demo/inputs.ts';
import { Executions, machineOf, startAndLoseDrive } from './aws.ts';
import { expectFound, waits } from './scenario.ts';
import { deploys } from './target.ts';
import { type AwsSide, orderId, type Place } from './worlds.ts';

/**
 * What happens to executions, through AWS's own APIs.
 *
 * Express executions can be neither stopped ("This API action is not supported by EXPRESS state machines",
 * docs.aws.amazon.com/step-functions/latest/apireference/API_StopExecution.html) nor described on AWS
 * (API_DescribeExecution.html, beside it); they end unseen, by their time or by a failure of the service. A
 * stand-in stops them all the same, and that is how one is lost here. On AWS a second start by the same name
 * makes a twin of an Express drive (…/latest/dg/express-at-least-once-execution.html), and is answered with
 * the first for a Standard one that runs; MiniStack refuses both. Twins of one drive are tried in `npm test`.
 */
export function executionTests(at: () => Place): void {
  // Only on a stand-in: the local plane has no executions, and an account is no place to stop any from here.
  describe.skipIf(!deploys)('executions', () => {
    test('ef-07: an execution that is stopped does no more, and its saga goes on', async () => {
      const { world } = at();
      const plane = world.plane();
      const { order, id, executions } = await stoppedInCall(at(), 'stopped');
      const again = await plane.start('refund', order, refundOfOrder(order));
      expect(again).toMatchObject({ id, replayed: true });
      await executions.start(1);
      await sleep(3_000);
      // On AWS a stopped execution stays ABORTED (docs.aws.amazon.com/step-functions, StopExecution).
      // Emulators go on to the end of the state they are in, and some then say FAILED: so nothing here
      // asks for the status again, only for what was done.
      expect(await counted(world, 'erp', 'create', order)).toEqual({ calls: 1, effects: 1 });
      expect(await plane.untilEnded(id)).toMatchObject({ state: 'completed' });
      const events = await plane.events(id);
      const emails = events.filter(({ step, type }) => step === 'email' && type === 'step_claimed');
      expect(emails.map(({ epoch }) => epoch)).toEqual([2]);
      expect(await counted(world, 'erp', 'create', order)).toEqual({ calls: 1, effects: 1 });
      expectFound(events);
    });

    test('ef-12: a start whose execution was stopped is answered from the ledger', async () => {
      const { world } = at();
      const plane = world.plane();
      const { order, id, executions } = await stoppedInCall(at(), 'again-stopped');
      const again = await plane.start('refund', order, refundOfOrder(order));
      expect(again).toMatchObject({ id, replayed: true });
      // A name that was used is refused for a closed execution, and means: this drive was started.
      await executions.start(1);
      expect(await plane.untilEnded(id)).toMatchObject({ state: 'completed' });
      expect(await counted(world, 'erp', 'create', order)).toEqual({ calls: 1, effects: 1 });
    });

    // Only beside a deployed plane can its tables be written without its machine.
    test('a saga whose first drive was never started is found and driven', async () => {
      const { world, sagaType } = at();
      const plane = world.plane();
      const known = orderId('known');
      const before = await plane.start('refund', known, refundOfOrder(known));
      const order = orderId('lost');
      const { id } = await startAndLoseDrive({
        aws: awsOf(at()),
        sagaType,
        machine: machineOf(await plane.events(before.id)),
        key: order,
        input: refundOfOrder(order),
      });
      expect(await plane.untilEnded(id)).toMatchObject({ state: 'completed' });
      const events = await plane.events(id);
      expect(waits(events)).toHaveLength(1);
      expectFound(events);
    });
  });
}

/** A refund whose first drive was stopped while its partner took its time over the credit note. */
async function stoppedInCall(place: Place, name: string) {
  const { world } = place;
  const order = orderId(name);
  const match = { orderId: order };
  await world.fault({
    ...{ system: 'erp', operation: 'create', match },
    ...{ fault: 'slow', delayMs: 1_500 },
  });
  const { id } = await world.plane().start('refund', order, refundOfOrder(order));
  await eventually('the call at the partner', world, async () => {
    return (await counted(world, 'erp', 'create', order)).calls === 1;
  });
  const machine = machineOf(await world.plane().events(id));
  const executions = new Executions(awsOf(place).endpoint, id, machine);
  await executions.stop(1);
  expect(await executions.status(1)).toBe('ABORTED');
  return { order, id, executions };
}

function awsOf({ aws }: Place): AwsSide {
  if (aws === undefined) throw new Error('nothing of AWS is beside this plane');
  return aws;
}
