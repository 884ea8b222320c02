import { refund } from '../../examples/refund/saga.ts';
import type { LedgerId } from '../../lambdas/ports/ledger-store.ts';
import { liveness } from '../../testing/checker/liveness.ts';
import {
  answerOf,
  DAY_MS,
  findings,
  NO_FAULTS,
  orRefused,
  started,
  UNDRIVEN,
  type World,
  world,
} from './probe-world.ts';

/** Runs the refund's first step for a drive of this epoch, whoever drives by now. */
async function invoked(of: World, id: LedgerId, epoch: number): Promise<void> {
  const [first] = refund.steps;
  if (first === undefined) throw new Error('the refund has no step');
  const worker = of.plane.worker(refund);
  const limits = { endsAt: worker.process.now() + 60_000 };
  const ids = { ...id, epoch, saga: refund.name, step: first.name, softDeadlineAt: 0 };
  const asked = worker.runtime(first.tool).handle({ ...ids, action: 'forward' }, limits);
  await answerOf(of, orRefused(asked));
}

/** Epoch 1 was never started, and is called upon after epoch 2 took its place. */
export function replacedDrive(): Promise<readonly string[]> {
  return world(UNDRIVEN, async (of) => {
    const { plane, time } = of;
    const id = await started(of);
    const replaced = (): boolean => plane.state(id)?.epoch === 2;
    if (!(await time.run(replaced, time.now() + DAY_MS)))
      return ['12: a start that was lost is never made up for'];
    await invoked(of, id, 1);
    const claimed = plane.events(id).some((event) => event.type === 'step_claimed');
    return claimed ? ['7: a drive of epoch 1 claims while epoch 2 runs'] : findings(of, id);
  });
}

/** The last task is run first. */
export function skippedSteps(): Promise<readonly string[]> {
  return world(UNDRIVEN, async (of) => {
    const { plane } = of;
    const id = await started(of);
    const worker = plane.worker(refund);
    const request = { ...id, op: 'complete', saga: refund.name, epoch: 1 } as const;
    const limits = { endsAt: worker.process.now() + 60_000 };
    const asked = worker.ledgerFunction.handle(request, limits);
    await answerOf(of, orRefused(asked));
    return findings(of, id);
  });
}

/**
 * The start comes late, so that the sweep meets a drive that moves, and is not due; then it is gone.
 * Half a minute before the start nothing happens: sweeps come on the full minute.
 */
export function lostBehindTheSweep(): Promise<readonly string[]> {
  const faults = { start: (index: number) => (index === 1 ? ('delayed' as const) : undefined) };
  const slow = { providers: { latencyMs: () => 1_500 }, faults, delayMs: () => 88_500 };
  return world({ ...NO_FAULTS, ...slow }, async (of) => {
    const { plane, time } = of;
    const began = time.now();
    await time.run(() => false, began + 30_000);
    const id = await started(of);
    await time.run(() => false, began + 120_500);
    plane.abort(id);
    await time.run(() => plane.rests(id, true), began + DAY_MS);
    const moment = { now: time.now(), registry: plane.registry(), disturbed: [] };
    return [...findings(of, id), ...liveness(id, plane.records(id), moment)];
  });
}

/** The holder of a claim falls silent, and its step is run again when the lease is over by the true time. */
export function endOfALease(): Promise<readonly string[]> {
  let claims = 0;
  let hung = false;
  const store = ({ phase }: { readonly phase: string }) => {
    if (hung || claims === 0 || phase !== 'after') return undefined;
    hung = true;
    return 'hang' as const;
  };
  const appended = ({ type }: { readonly type: string }): void => {
    if (type === 'step_claimed') claims += 1;
  };
  const options = { ...NO_FAULTS, faults: { store } };
  return world({ ...options, appended: (_id, event) => appended(event) }, async (of) => {
    const { plane, time } = of;
    const id = await started(of);
    await time.run(() => claims === 1, time.now() + DAY_MS);
    const claim = plane.events(id).find((event) => event.type === 'step_claimed');
    if (claim?.type !== 'step_claimed') return ['12: the saga got nowhere'];
    await time.run(() => false, claim.leaseUntil + 500);
    await invoked(of, id, claim.epoch);
    return findings(of, id);
  });
}
