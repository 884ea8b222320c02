import type { Drive } from '../lambdas/ports/drive-starter.ts';
import type { LedgerId } from '../lambdas/ports/ledger-store.ts';
import type { AnySaga } from '../statemachines/language/saga.ts';
import type { SagaEvent, SagaStatus } from '../statemachines/rules/events.ts';
import { type StandingReport, standingReport } from '../statemachines/rules/standing.ts';
import { check } from './checker/check.ts';
import { liveness } from './checker/liveness.ts';
import type { PartnerFacts, StoredRecord } from './checker/records.ts';
import { checkStanding } from './checker/standing.ts';
import { Person } from './person.ts';
import { SimulatedPlane } from './plane.ts';
import type { PlaneFaults, PlaneOptions } from './plane-options.ts';
import type { ProviderOptions } from './providers.ts';
import { VirtualTime } from './virtual-time.ts';

/** One saga and what befalls it. */
export interface Play {
  readonly saga: AnySaga;
  readonly input: unknown;
  readonly providers: PlaneOptions['providers'];
  /** What makes the saga fail in the first place; it is never mended. */
  trigger?: ProviderOptions['mishap'];
  readonly faults?: PlaneFaults;
  readonly delayMs?: number;
  /** Every invocation gets a worker of its own: nothing is remembered from one to the next. */
  readonly oneEach?: boolean;
  /** The first worker's clock is ahead by so much, every other behind. */
  readonly skewMs?: number;
  /** Acts from outside once the saga stands. */
  meanwhile?(plane: SimulatedPlane, id: LedgerId): Promise<void>;
  appended?(event: SagaEvent, plane: SimulatedPlane): void;
}

export type End = SagaStatus | 'moving' | 'never started';

export interface Played {
  /** Where it came to rest by itself. */
  readonly end: End;
  /** Why a person was asked, or why it is an incident. */
  readonly reason: string;
  /** Why a person was asked, each time. */
  readonly reviews: readonly string[];
  /** Where it ended once a person had answered; the same where nobody was asked. */
  readonly finally: End;
  /** What stood at the first rest. */
  readonly standing: StandingReport | undefined;
  /** What stood once a person had answered. */
  readonly finalStanding: StandingReport | undefined;
  readonly findings: readonly string[];
  readonly counts: SimulatedPlane['counts'];
  readonly events: readonly SagaEvent[];
  /** What the checker was given. */
  readonly id: LedgerId;
  readonly records: readonly StoredRecord[];
  readonly partners: readonly PartnerFacts[];
}

const DAY_MS = 86_400_000;
/** After its rest: whatever is still on its way arrives, and a wrong end would show. */
const AFTERGLOW_MS = 150_000;
/** A saga with more events than this gets nowhere, whatever it does. */
const MAX_EVENTS = 1_000;
const PERSON_TAKES_MS = 60_000;

export async function play(script: Play): Promise<Played> {
  const time = new VirtualTime();
  return time.use(() => playIn(time, script));
}

async function playIn(time: VirtualTime, script: Play): Promise<Played> {
  const { saga, faults, skewMs = 0, delayMs, appended } = script;
  let person: Person | undefined;
  let skewed = false;
  let mended = false;
  let struck = false;
  const foreign: string[] = [];
  const { mishap } = script.providers;
  const plane: SimulatedPlane = new SimulatedPlane({
    time,
    sagas: [saga],
    // Once a person was asked, what failed for ever has been mended; what a person first had to allow fails yet.
    providers: {
      ...script.providers,
      mishap: (call) => {
        const planned = mended && struck ? undefined : mishap?.(call);
        struck ||= planned !== undefined;
        return planned ?? script.trigger?.(call);
      },
    },
    ...(faults === undefined ? {} : { faults }),
    ...(delayMs === undefined ? {} : { delayMs: () => delayMs }),
    skewMs: () => {
      skewed = !skewed;
      return skewed ? skewMs : -skewMs;
    },
    oneEach: script.oneEach ?? false,
    appended: (id, event, by) => {
      foreign.push(...strangers(event, by));
      // As the person who is asked reads it.
      if (event.type === 'review_opened')
        foreign.push(...reportFindings(plane, id, plane.state(id)));
      person?.noticed(id, event);
      appended?.(event, plane);
    },
  });
  let id: LedgerId | undefined;
  const startedAt = time.now();
  void plane.start(saga.name, 'key-1', script.input).then(async (started) => {
    id = started;
    await script.meanwhile?.(plane, started);
  });
  const bound = startedAt + patienceOf(saga);
  const lost = (): boolean => plane.longest > MAX_EVENTS;
  const rested = await time.run(() => lost() || (id !== undefined && plane.rests(id)), bound);
  if (id === undefined) return neverStarted(plane);
  await time.run(() => false, time.now() + AFTERGLOW_MS);
  const state = plane.state(id);
  const rest = { end: rested && !lost() ? (state?.status ?? 'moving') : 'moving', state } as const;
  const atRest = reportFindings(plane, id, state).map((finding) => `at rest: ${finding}`);
  mended = true;
  person = new Person(plane, { takesMs: () => PERSON_TAKES_MS });
  if (rest.state?.review !== undefined) {
    const { review } = rest.state;
    const sagaId = id;
    time.world.timer(PERSON_TAKES_MS, () => void person?.answer(sagaId, review.id));
    await time.run(() => lost() || plane.rests(sagaId, true), bound + patienceOf(saga));
    await time.run(() => false, time.now() + AFTERGLOW_MS);
  }
  const played = result(plane, id, rest.end, rest.state);
  return { ...played, findings: [...played.findings, ...atRest, ...foreign] };
}

/** Invariant 7, which no ledger tells of: who claims is of the epoch that the claim is written under. */
export function strangers(event: SagaEvent, drive: Drive | undefined): string[] {
  if (event.type !== 'step_claimed' || drive === undefined || drive.epoch === event.epoch)
    return [];
  return [`7: claim ${event.seq} was made by a drive of epoch ${drive.epoch}`];
}

function result(
  plane: SimulatedPlane,
  id: LedgerId,
  end: End,
  rest: ReturnType<SimulatedPlane['state']>,
): Played {
  const state = plane.state(id);
  const partners = plane.providers.book.facts(id.tenant, id.sagaId);
  const records = plane.records(id);
  const findings = check(id, records, partners);
  const facts = { now: plane.time.now(), registry: plane.registry(), disturbed: [] };
  findings.push(...liveness(id, records, facts));
  findings.push(...reportFindings(plane, id, state));
  if (end === 'moving') findings.push('12: the saga did not come to rest by itself');
  return {
    end,
    reason: rest?.review?.reason ?? rest?.incident?.reason ?? '',
    reviews: plane
      .events(id)
      .flatMap((event) => (event.type === 'review_opened' ? [event.reason] : [])),
    finally: state?.status ?? 'moving',
    standing: rest === undefined ? undefined : standingReport(rest),
    finalStanding: state === undefined ? undefined : standingReport(state),
    findings,
    counts: { ...plane.counts },
    events: plane.events(id),
    id,
    records,
    partners,
  };
}

/** Where the standing report of a saga says other than the books. */
function reportFindings(
  plane: SimulatedPlane,
  id: LedgerId,
  state: ReturnType<SimulatedPlane['state']>,
): string[] {
  if (state === undefined) return [];
  const partners = plane.providers.book.facts(id.tenant, id.sagaId);
  return checkStanding(standingReport(state), plane.records(id), partners);
}

function neverStarted(plane: SimulatedPlane): Played {
  return {
    end: 'never started',
    reason: '',
    reviews: [],
    finally: 'never started',
    standing: undefined,
    finalStanding: undefined,
    findings: ['12: the start was never answered'],
    counts: { ...plane.counts },
    events: [],
    id: { tenant: '', sagaId: '' },
    records: [],
    partners: [],
  };
}

/** By then every saga has come to rest by itself: patience with providers has ended, what is in doubt has settled, and no try is left. */
function patienceOf(saga: AnySaga): number {
  const waits = saga.plan.steps
    .flatMap(({ forward, recovery }) => [forward, recovery?.call])
    .map((call) => (call?.pendingForMs ?? 0) + (call?.settleMs ?? 0));
  return 2 * DAY_MS + 2 * waits.reduce((sum, wait) => sum + wait, 0);
}
