import { refund } from '../../examples/refund/saga.ts';
import type { LedgerId } from '../../lambdas/ports/ledger-store.ts';
import { cancelSaga } from '../../lambdas/service/change.ts';
import { decideOn } from '../../lambdas/service/decision.ts';
import { checkTenants } from '../../testing/checker/tenants.ts';
import { exampleOf } from '../../testing/example.ts';
import type { Mishap } from '../../testing/mishaps.ts';
import type { SimulatedPlane } from '../../testing/plane.ts';
import { play } from '../../testing/play.ts';
import type { ProviderCall } from '../../testing/providers.ts';
import type { VirtualTime } from '../../testing/virtual-time.ts';
import {
  answerOf,
  DAY_MS,
  findings,
  NO_FAULTS,
  orRefused,
  started,
  type World,
  world,
} from './probe-world.ts';
import { endOfALease, lostBehindTheSweep, replacedDrive, skippedSteps } from './probes-drives.ts';
import { askedAgain, heardInLaterRound } from './probes-evidence.ts';
import { guarded, kept, loose } from './sagas.ts';

/**
 * Worlds in which one thing is done that no machine, provider or clock does as long as it keeps its word:
 * here a rule is all that is left. Each answers what it finds wrong.
 */
export const probes: Readonly<Record<string, () => Promise<readonly string[]>>> = {
  'a drive that was replaced': replacedDrive,
  'a machine that skips its steps': skippedSteps,
  'a drive lost behind the sweep': lostBehindTheSweep,
  'the end of a lease': endOfALease,
  'an old attempt that speaks up': oldAttempt,
  'a refusal of the second call': refusedSecond,
  'a question without an answer': unheardQuestion,
  'a person in a hurry': hastyPerson,
  'a cancel while the pivot is in doubt': cancelledInDoubt,
  'an effect after the end': afterTheEnd,
  'a second effect during recovery': () => besideTheFirst(undone),
  'a call carried out twice': () =>
    besideTheFirst(({ step }) => (step === 'email' ? 'refused' : undefined)),
  'one key at two tenants': sameKey,
  'a provider that comes back': comesBack,
  'a question asked again': askedAgain,
  'an answer within a later round': heardInLaterRound,
};

/** The first attempt's process fell silent; it fails, and says so, while the second one is under way. */
function oldAttempt(): Promise<readonly string[]> {
  const slow = { latencyMs: () => 1_000, mishap: (call: { nth: number }) => silentOnce(call) };
  return world({ ...NO_FAULTS, providers: slow }, async (of) => {
    const { plane, time } = of;
    const id = await started(of);
    const claims = () => plane.events(id).filter((event) => event.type === 'step_claimed');
    await time.run(() => claims().length === 2, time.now() + DAY_MS);
    const [first] = claims();
    if (first?.type !== 'step_claimed') return ['12: the saga got nowhere'];
    const { step, action, attempt, attemptNonce } = first;
    const late = { kind: 'fail', step, action, attempt, attemptNonce } as const;
    const told = { failure: 'retryable', code: 'late', message: 'too late', retryInMs: 0 } as const;
    const writer = { actor: 'drive' };
    const { verdict } = await answerOf(
      of,
      plane.worker(refund).ledger.write(id, { ...late, ...told }, writer),
    );
    if (verdict.kind === 'append') return ['7: the failure of attempt 1 ends attempt 2'];
    return findings(of, id);
  });
}

function silentOnce({ nth }: { readonly nth: number }): 'silent' | undefined {
  return nth === 1 ? 'silent' : undefined;
}

/** The first call lands late; the second one, under the same key, is refused before that. */
async function refusedSecond(): Promise<readonly string[]> {
  const mishap = ({ step, action, nth }: ProviderCall): Mishap | undefined => {
    if (step !== 'third' || action !== 'forward') return undefined;
    return nth === 1 ? 'lands_late' : nth === 2 ? 'refused' : undefined;
  };
  const played = await play({ saga: kept, input: { id: 'x' }, providers: { mishap } });
  return played.findings;
}

/** The effect stands, its answer is lost, and for a while nobody can be asked about it. */
async function unheardQuestion(): Promise<readonly string[]> {
  const mishap = ({ step, action, nth }: ProviderCall): Mishap | undefined =>
    step === 'left' && action === 'forward' && nth === 1 ? 'answer_lost' : undefined;
  const questionMishap = ({ nth }: ProviderCall) => (nth <= 8 ? ('fails' as const) : undefined);
  const providers = { mishap, questionMishap };
  return (await play({ saga: loose, input: { id: 'x' }, providers })).findings;
}

/** The pivot is accepted, and settles half a minute later: meanwhile all is asked back. */
async function cancelledInDoubt(): Promise<readonly string[]> {
  const mishap = ({ step, action }: ProviderCall): Mishap | undefined =>
    step === 'pivot' && action === 'forward' ? 'pending_then_done' : undefined;
  const meanwhile = async (plane: SimulatedPlane, { tenant, sagaId }: LedgerId): Promise<void> => {
    await plane.time.world.sleep(10_000);
    await plane.ask(tenant, (parts, principal) =>
      cancelSaga(parts, principal, sagaId, '{"reason":"no longer wanted"}'),
    );
  };
  const providers = { mishap };
  const played = await play({ saga: loose, input: { id: 'x' }, providers, meanwhile });
  return played.findings;
}

/** Nobody knows yet whether the message left, and a person says at once that it did not. */
function hastyPerson(): Promise<readonly string[]> {
  const mishap = ({ step }: ProviderCall): Mishap | undefined =>
    step === 'email' ? 'silent' : undefined;
  return world({ ...NO_FAULTS, providers: { mishap } }, async (of) => {
    const { plane, time } = of;
    const id = await started(of);
    await time.run(() => plane.rests(id), time.now() + DAY_MS);
    const review = plane.state(id)?.review;
    if (review === undefined) return ['4: nobody was asked about a call that may have been made'];
    const answer = {
      decision: 'answer',
      step: 'email',
      action: 'forward',
      answer: 'absent',
      evidence: 'not in the outbox',
    };
    const asked = plane.ask(id.tenant, (parts, principal) =>
      decideOn(parts, { ...principal, id: 'ada' }, review.id, JSON.stringify(answer)),
    );
    await answerOf(of, orRefused(asked));
    return findings(of, id);
  });
}

/** The credit note was asked for twice, and the email is refused: all of it is undone. */
function undone({ step, nth, action }: { step: string; nth: number; action: string }) {
  if (step === 'email') return 'refused' as const;
  return step === 'credit' && nth === 1 && action === 'forward'
    ? ('request_lost' as const)
    : undefined;
}

/** A provider that breaks its word: its first call takes effect long after its settle window, or once more. */
async function landsNow({ plane, time }: World, id: LedgerId): Promise<void> {
  const claim = plane
    .events(id)
    .find((event) => event.type === 'step_claimed' && event.step === 'credit');
  if (claim?.type !== 'step_claimed') return;
  const { step, action, attempt, attemptNonce, correlationId, key } = claim;
  const tool = refund.steps.find(({ name }) => name === step)?.tool;
  if (tool === undefined) throw new Error('the refund books no credit note');
  const caller = {
    ...id,
    step,
    action,
    attempt,
    correlationId,
    idempotencyKey: key,
    round: claim.round,
    deadlineAt: claim.deadlineAt,
    signal: new AbortController().signal,
  };
  const output = { creditNoteId: 'late-note', amountMinor: 1, currency: 'EUR' };
  plane.providers.book.part(caller, tool).effects.push({
    id: 'late-note',
    at: time.now(),
    step,
    action,
    correlationId,
    key,
    output,
  });
  const commit = {
    kind: 'commit',
    step,
    action,
    attempt,
    attemptNonce,
    via: 'call',
    externalIds: { creditNote: 'late-note' },
    result: { kind: 'inline', value: output },
    undo: { kind: 'inline', value: { creditNoteId: 'late-note', reason: 'late' } },
  } as const;
  await plane.worker(refund).ledger.write(id, commit, { actor: 'drive' });
}

/** No call for the credit note ever arrives, as far as anybody can see. */
function lost({ step, action }: ProviderCall): Mishap | undefined {
  return step === 'credit' && action === 'forward' ? 'request_lost' : undefined;
}

function afterTheEnd(): Promise<readonly string[]> {
  return world({ ...NO_FAULTS, providers: { mishap: lost } }, async (of) => {
    const { plane, time } = of;
    const id = await started(of);
    await time.run(() => plane.rests(id, true), time.now() + DAY_MS);
    await answerOf(of, landsNow(of, id));
    return findings(of, id);
  });
}

function besideTheFirst(
  mishap: (call: ProviderCall) => Mishap | undefined,
): Promise<readonly string[]> {
  return world({ ...NO_FAULTS, providers: { mishap, latencyMs: () => 100 } }, async (of) => {
    const { plane, time } = of;
    const id = await started(of);
    const stands = (): boolean =>
      plane.events(id).some((event) => event.type === 'step_committed' && event.step === 'credit');
    await time.run(stands, time.now() + DAY_MS);
    await answerOf(of, landsNow(of, id));
    await time.run(() => plane.rests(id, true), time.now() + DAY_MS);
    return findings(of, id);
  });
}

function sameKey(): Promise<readonly string[]> {
  return world(NO_FAULTS, async (of) => {
    const { plane, time } = of;
    const input = exampleOf(refund.input, 'the input', { number: 1 });
    const ids: LedgerId[] = [];
    for (const tenant of ['acme', 'globex'])
      ids.push(await answerOf(of, plane.start(refund.name, 'key-1', input, tenant)));
    await time.run(() => ids.every((id) => plane.rests(id, true)), time.now() + DAY_MS);
    const { book } = plane.providers;
    const ledgers = ids.map((id) => ({
      id,
      records: plane.records(id),
      partners: book.facts(id.tenant, id.sagaId),
    }));
    return [...ids.flatMap((id) => findings(of, id)), ...checkTenants(ledgers, book.sagas())];
  });
}

const ILL_FOR_MS = 4_000;
const SAGAS = 8;

/** Many sagas wait for one provider: while one of them tries whether it is well, no other calls it. */
function comesBack(): Promise<readonly string[]> {
  let wellAt = Infinity;
  let time: VirtualTime | undefined;
  const isOut = (): boolean => (time?.now() ?? 0) < wellAt;
  const providers = { isOut, latencyMs: () => 400 };
  return world({ sagas: [guarded], providers, workers: 3 }, async (of) => {
    const { plane } = of;
    time = of.time;
    wellAt = time.now() + ILL_FOR_MS;
    const ids = await answerOf(
      of,
      Promise.all(
        Array.from({ length: SAGAS }, (_, index) =>
          plane.start(guarded.name, `key-${index}`, { id: 'x' }),
        ),
      ),
    );
    await time.run(() => ids.every((id) => plane.rests(id, true)), time.now() + DAY_MS);
    const { book } = plane.providers;
    const calls = ids.flatMap((id) =>
      book.facts(id.tenant, id.sagaId).flatMap((partner) => partner.calls),
    );
    return [...probing(plane, calls), ...ids.flatMap((id) => findings(of, id))];
  });
}

/** Read from the breaker's own records, as stored. */
function probing(plane: SimulatedPlane, calls: readonly { readonly at: number }[]): string[] {
  const found: string[] = [];
  const records = [...plane.stores.held.breakers.values()].flat();
  const events = records.map(
    ({ body }) =>
      JSON.parse(body) as { readonly at: number; readonly after: { readonly kind: string } },
  );
  if (!events.some(({ after }) => after.kind === 'half_open'))
    found.push('12: the breaker never tried whether its provider is back');
  for (const [index, { at, after }] of events.entries()) {
    if (after.kind !== 'half_open') continue;
    const until = events[index + 1]?.at ?? Infinity;
    const made = calls.filter((call) => at <= call.at && call.at < until).length;
    if (made > 1) found.push(`12: ${made} calls were made while one was to try the provider`);
  }
  return found;
}
