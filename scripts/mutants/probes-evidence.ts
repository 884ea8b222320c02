import type { AnySaga } from 'counterstep';
import type { LedgerId } from '../../lambdas/ports/ledger-store.ts';
import { decideOn } from '../../lambdas/service/decision.ts';
import type { Mishap } from '../../testing/mishaps.ts';
import { answerOf, DAY_MS, findings, type World, world } from './probe-world.ts';
import { nameless } from './sagas.ts';

/** Worlds in which something is told of late, at providers whose answers hold no id to tell effects apart. */

/** The first call got lost, and the second one was made: then the question about the first is asked again. */
export function askedAgain(): Promise<readonly string[]> {
  return once(nameless.lookup, ['request_lost'], (of, id) =>
    told(of, nameless.lookup, id, 1, { via: 'reconcile', foundAt: of.time.now() }),
  );
}

/** A refusal is overcome; then an answer gets lost, and comes when its call has been sent once more. */
export function heardInLaterRound(): Promise<readonly string[]> {
  return once(nameless.key, ['held', 'answer_lost'], (of, id) =>
    told(of, nameless.key, id, 2, { via: 'call' }),
  );
}

async function once(
  saga: AnySaga,
  mishaps: readonly Mishap[],
  late: (of: World, id: LedgerId) => Promise<void>,
): Promise<readonly string[]> {
  const mishap = ({ nth }: { readonly nth: number }): Mishap | undefined => mishaps[nth - 1];
  return world({ sagas: [saga], providers: { mishap } }, async (of) => {
    const { plane, time } = of;
    const id = await answerOf(of, plane.start(saga.name, 'key-1', { id: 'x' }));
    await time.run(() => plane.rests(id), time.now() + DAY_MS);
    const review = plane.state(id)?.review;
    if (review !== undefined) {
      await answerOf(
        of,
        plane.ask(id.tenant, (parts, principal) =>
          decideOn(parts, { ...principal, id: 'ada' }, review.id, '{"decision":"retry"}'),
        ),
      );
      await time.run(() => plane.rests(id, true), time.now() + DAY_MS);
    }
    if (plane.state(id)?.status !== 'completed') return ['12: the saga got nowhere'];
    await answerOf(of, late(of, id));
    return findings(of, id);
  });
}

/** The one effect that stands is told of by an attempt that had been in doubt. */
async function told(
  { plane }: World,
  saga: AnySaga,
  id: LedgerId,
  attempt: number,
  how: { readonly via: 'call' } | { readonly via: 'reconcile'; readonly foundAt: number },
): Promise<void> {
  const claims = plane.events(id).filter((event) => event.type === 'step_claimed');
  const claim = claims.find((each) => each.attempt === attempt);
  if (claim === undefined) throw new Error(`there is no attempt ${attempt}`);
  const { step, action, attemptNonce } = claim;
  const commit = {
    kind: 'commit',
    step,
    action,
    attempt,
    attemptNonce,
    ...how,
    externalIds: {},
    result: { kind: 'inline', value: { ref: 'x' } },
    undo: null,
  } as const;
  await plane.worker(saga).ledger.write(id, commit, { actor: 'drive' });
}
