import type { LedgerId } from '../lambdas/ports/ledger-store.ts';
import { cancelSaga, resumeSaga } from '../lambdas/service/change.ts';
import type { SagaEvent } from '../statemachines/rules/events.ts';
import { SKEW_MS } from '../statemachines/rules/protocol.ts';
import type { Part } from './matrix-case.ts';
import { isRefusal, type SimulatedPlane } from './plane.ts';

/** What people and callers do to a saga from outside while it runs. */

export async function cancel(
  plane: SimulatedPlane,
  id: LedgerId,
  everything = false,
): Promise<void> {
  const more = everything ? { everything } : {};
  const body = JSON.stringify({ reason: 'no longer wanted', ...more });
  await outside(() =>
    plane.ask(id.tenant, (parts, principal) => cancelSaga(parts, principal, id.sagaId, body)),
  );
}

/** A request that the rules may refuse: then it simply changes nothing. */
async function outside(request: () => Promise<unknown>): Promise<void> {
  try {
    await request();
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
}

/** The one saga of a play. */
export function idIn(plane: SimulatedPlane): LedgerId {
  const [key = ''] = plane.heads.keys();
  const at = key.indexOf('/');
  return { tenant: key.slice(0, at), sagaId: key.slice(at + 1) };
}

/** It is asked back as soon as an event stands: the first one of which `when` is true. */
export function cancelAt(
  when: (event: SagaEvent) => boolean,
  struck: () => void,
  { times = 1, everything = false }: CancelOptions = {},
): Part {
  let asked = false;
  return {
    appended: (event, plane) => {
      if (asked || !when(event)) return;
      asked = true;
      struck();
      for (let each = 0; each < times; each += 1) void cancel(plane, idIn(plane), everything);
    },
  };
}

interface CancelOptions {
  /** So many requests at once. Default 1. */
  readonly times?: number;
  /** No checkpoint is kept. Default false. */
  readonly everything?: boolean;
}

/** Asks to go on at the end of every lease, a little early and as soon as it is over. */
export async function resumeAfterLeases(plane: SimulatedPlane, id: LedgerId): Promise<void> {
  const { world } = plane.time;
  for (let looks = 0; looks < 20; looks += 1) {
    await world.sleep(500);
    if (plane.rests(id)) return;
    const claim = plane.events(id).findLast((event) => event.type === 'step_claimed');
    if (claim?.type !== 'step_claimed') continue;
    for (const until of [
      claim.leaseUntil - 1,
      claim.leaseUntil + SKEW_MS - 1_000,
      claim.leaseUntil + SKEW_MS + 1_000,
    ]) {
      await world.sleep(Math.max(0, until - world.now()));
      await outside(() =>
        plane.ask(id.tenant, (parts, principal) => resumeSaga(parts, principal, id.sagaId, '{}')),
      );
    }
  }
}
