import { refund } from '../../examples/refund/saga.ts';
import type { LedgerId } from '../../lambdas/ports/ledger-store.ts';
import { DriveSignal } from '../../lambdas/runtime/drive-signal.ts';
import { check } from '../../testing/checker/check.ts';
import { exampleOf } from '../../testing/example.ts';
import { isRefusal, type PlaneOptions, SimulatedPlane } from '../../testing/plane.ts';
import { VirtualTime } from '../../testing/virtual-time.ts';

export const DAY_MS = 86_400_000;

/** One plane, and the time it lives in. */
export interface World {
  readonly time: VirtualTime;
  readonly plane: SimulatedPlane;
}

/** Builds a world, and acts in it. */
export function world(
  options: Omit<PlaneOptions, 'time'>,
  play: (world: World) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const time = new VirtualTime();
  return time.use(() => play({ time, plane: new SimulatedPlane({ ...options, time }) }));
}

/** Lets time pass until the answer is there. */
export async function answerOf<T>({ time }: World, asked: Promise<T>): Promise<T> {
  let settled = false;
  const over = (): void => {
    settled = true;
  };
  asked.then(over, over);
  await time.run(() => settled, time.now() + DAY_MS);
  return asked;
}

/** A refusal is what is hoped for; anything else is a mistake of the probe. */
export async function orRefused(asked: Promise<unknown>): Promise<void> {
  try {
    await asked;
  } catch (error) {
    if (!(error instanceof DriveSignal) && !isRefusal(error)) throw error;
  }
}

/** A refund of acme's, once its start is answered. */
export async function started(of: World): Promise<LedgerId> {
  const input = exampleOf(refund.input, 'the input', { number: 1 });
  return answerOf(of, of.plane.start(refund.name, 'key-1', input));
}

/** What the checker finds in a saga and its providers' books. */
export function findings({ plane }: World, id: LedgerId): string[] {
  return check(id, plane.records(id), plane.providers.book.facts(id.tenant, id.sagaId));
}

export const NO_FAULTS = { sagas: [refund], providers: {} } satisfies Omit<PlaneOptions, 'time'>;
/** Nothing is driven but by the probe itself. */
export const UNDRIVEN = { ...NO_FAULTS, faults: { start: () => 'lost' as const } };
