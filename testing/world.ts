import type { LedgerId } from '../lambdas/ports/ledger-store.ts';
import { ledgerKey } from '../lambdas/ports/ledger-store.ts';
import { cancelSaga, resumeSaga } from '../lambdas/service/change.ts';
import type { AnySaga } from '../statemachines/language/saga.ts';
import type { SagaEvent } from '../statemachines/rules/events.ts';
import { standingReport } from '../statemachines/rules/standing.ts';
import { Chance } from './chance.ts';
import { check } from './checker/check.ts';
import { liveness } from './checker/liveness.ts';
import type { EffectFact, PartnerFacts } from './checker/records.ts';
import { checkStanding } from './checker/standing.ts';
import { checkTenants } from './checker/tenants.ts';
import { type OutboxFigures, type Projected, SimulatedOutbox, type Told } from './outbox.ts';
import { isOutboxStrike } from './outbox-strikes.ts';
import { Person } from './person.ts';
import { isRefusal, SimulatedPlane } from './plane.ts';
import { strangers } from './play.ts';
import type { ProviderCall, ProviderOptions } from './providers.ts';
import type { Started, Strike, WorldPlan } from './strikes.ts';
import { VirtualTime } from './virtual-time.ts';

/** What became of one saga of a world. */
export interface Outcome {
  /** Its place in the plan. */
  readonly index: number;
  readonly id: LedgerId;
  readonly end: string;
  readonly findings: readonly string[];
  readonly events: readonly SagaEvent[];
  readonly effects: readonly EffectFact[];
  /** What became of its records, where the outbox ran beside. */
  readonly outbox?: readonly Told[];
}

export interface WorldResult {
  readonly outcomes: readonly Outcome[];
  /** What is wrong with the world as a whole. */
  readonly findings: readonly string[];
  /** Everything that is wrong, in its sagas and as a whole. */
  readonly broken: readonly string[];
  readonly events: number;
  /** From the first start to the last rest, in virtual milliseconds. */
  readonly tookMs: number;
  /** Absent where no outbox ran beside. */
  readonly outbox?: OutboxFigures;
}

export interface WorldOptions {
  /** Versions that a deploy brings. */
  readonly later: readonly AnySaga[];
  readonly outputs?: ProviderOptions['outputs'];
}

const DAY_MS = 86_400_000;
/** Patience with a provider lasts a day by default, and may be tried a few times by one saga. */
const HORIZON_MS = 14 * DAY_MS;
const AFTERGLOW_MS = 150_000;
/** A saga with more events than this gets nowhere, whatever it does. */
const MAX_EVENTS = 1_000;
const MAX_SKEW_MS = 1_000;

/** Plays one world to its end, and holds it against the invariants. */
export async function playWorld(plan: WorldPlan, options: WorldOptions): Promise<WorldResult> {
  const time = new VirtualTime();
  return time.use(() => new World(time, plan, options).play());
}

class World {
  readonly #time: VirtualTime;
  readonly #plan: WorldPlan;
  readonly #options: WorldOptions;
  readonly #plane: SimulatedPlane;
  readonly #person: Person;
  readonly #outbox: SimulatedOutbox | undefined;
  readonly #startedAt: number;
  readonly #ids = new Map<number, LedgerId>();
  readonly #indices = new Map<string, number>();
  readonly #resting = new Set<string>();
  readonly #disturbed: { from: number; to: number }[] = [];
  readonly #broken: string[] = [];
  readonly #by: ReturnType<typeof sorted>;
  #delayMs = 3_000;

  constructor(time: VirtualTime, plan: WorldPlan, options: WorldOptions) {
    this.#time = time;
    this.#plan = plan;
    this.#options = options;
    this.#startedAt = time.now();
    this.#by = sorted(plan.strikes);
    this.#plane = this.#build();
    const thinks = new Chance(plan.seed).apart('person');
    this.#person = new Person(this.#plane, () => thinks.between(1_000, 600_000));
    this.#outbox = plan.outbox === true ? this.#buildOutbox() : undefined;
  }

  #build(): SimulatedPlane {
    const { seed, started } = this.#plan;
    const chance = new Chance(seed);
    const skews = chance.apart('clocks');
    const store = chance.apart('stores');
    const provider = chance.apart('providers');
    const workers = chance.apart('workers');
    const hears = chance.apart('ends');
    const outputs = this.#options.outputs;
    return new SimulatedPlane({
      time: this.#time,
      sagas: current(started.flatMap((each) => each?.saga ?? [])),
      workers: workers.between(2, 4),
      skewMs: () =>
        skews.pick([-MAX_SKEW_MS, MAX_SKEW_MS, skews.between(-MAX_SKEW_MS, MAX_SKEW_MS)]),
      latencyMs: () => latency(store),
      pick: (count) => workers.between(0, count - 1),
      hearsOfEnds: () => hears.happens(0.5),
      delayMs: () => this.#delayMs,
      // Some worlds have no warm workers: there it shows for which drive each event was written.
      oneEach: workers.happens(0.15),
      appended: (id, event, by) => {
        this.#broken.push(...strangers(event, by));
        this.#appended(id, event);
      },
      faults: {
        store: ({ index, phase }) => {
          const strike = this.#struck(this.#by.store.get(`${index} ${phase}`));
          this.#delayMs = strike?.delayMs ?? this.#delayMs;
          return strike?.fault;
        },
        provider: (index, phase) => this.#struck(this.#by.call.get(`${index} ${phase}`))?.fault,
        invocation: (index) => {
          const strike = this.#struck(this.#by.invocation.get(index));
          this.#delayMs = strike?.delayMs ?? this.#delayMs;
          return strike?.fault;
        },
        start: (index) => {
          const strike = this.#by.start.get(index);
          this.#delayMs = strike?.delayMs ?? this.#delayMs;
          return strike?.fault;
        },
        storesOut: () => this.#isOut('stores'),
        sweepOut: () => this.#isOut('sweep'),
      },
      providers: {
        ...(outputs === undefined ? {} : { outputs }),
        latencyMs: () => latency(provider),
        isOut: (tool) => this.#isOut(tool),
        mishap: (call) => this.#mishap(call),
        questionMishap: (call) => this.#questionMishap(call),
      },
    });
  }

  #buildOutbox(): SimulatedOutbox {
    return new SimulatedOutbox({
      time: this.#time,
      stores: this.#plane.stores,
      chance: new Chance(this.#plan.seed).apart('stream'),
      strikes: this.#plan.strikes.filter(isOutboxStrike),
      storesOut: () => this.#isOut('stores'),
    });
  }

  /** Around it, a saga may rightly be found late. */
  #struck<S>(strike: S | undefined): S | undefined {
    if (strike !== undefined)
      this.#disturbed.push({ from: this.#time.now(), to: this.#time.now() });
    return strike;
  }

  #isOut(of: string): boolean {
    const at = this.#time.now() - this.#startedAt;
    return this.#by.outages.some((each) => each.of === of && each.fromMs <= at && at < each.toMs);
  }

  #indexOf(call: ProviderCall): number | undefined {
    return this.#indices.get(ledgerKey(call));
  }

  #mishap(call: ProviderCall): ReturnType<NonNullable<ProviderOptions['mishap']>> {
    const saga = this.#indexOf(call);
    return this.#by.provider.find(
      (each) =>
        each.saga === saga &&
        each.step === call.step &&
        (each.action === 'forward') === (call.action === 'forward') &&
        call.nth >= each.nth &&
        call.nth < each.nth + each.times,
    )?.mishap;
  }

  #questionMishap(call: ProviderCall): ReturnType<NonNullable<ProviderOptions['questionMishap']>> {
    const saga = this.#indexOf(call);
    return this.#by.question.find(
      (each) => each.saga === saga && each.step === call.step && call.nth <= each.times,
    )?.mishap;
  }

  #appended(id: LedgerId, event: SagaEvent): void {
    const key = ledgerKey(id);
    if (event.type === 'saga_started') {
      const index = this.#plan.started.findIndex(
        (each) => each?.key === event.key && each.tenant === id.tenant,
      );
      this.#indices.set(key, index);
    }
    if (event.dueAt === undefined) this.#resting.add(key);
    this.#person.noticed(id, event);
    this.#outbox?.appended(id, event.seq);
  }

  async play(): Promise<WorldResult> {
    const { started, strikes } = this.#plan;
    for (const [index, each] of started.entries()) if (each !== undefined) this.#start(index, each);
    for (const strike of strikes) this.#plannedStrike(strike);
    const expected = started.filter((each) => each !== undefined).length;
    const done = (): boolean =>
      this.#plane.longest > MAX_EVENTS ||
      (this.#resting.size === expected && this.#ids.size === expected);
    const rested = await this.#time.run(done, this.#startedAt + HORIZON_MS);
    const tookMs = this.#time.now() - this.#startedAt;
    await this.#time.run(() => false, this.#time.now() + AFTERGLOW_MS);
    const judged = this.#judge(rested, tookMs);
    return this.#outbox === undefined ? judged : beside(judged, await this.#outbox.settle());
  }

  #start(index: number, { saga, tenant, key, atMs, input }: Started): void {
    this.#at(atMs, async () => {
      this.#ids.set(index, await this.#plane.start(saga.name, key, input, tenant));
    });
  }

  #at(atMs: number, act: () => unknown): void {
    this.#time.world.timer(atMs, () => {
      const acted = act();
      if (acted instanceof Promise) acted.catch((error: unknown) => this.#unexpected(error));
    });
  }

  #unexpected(error: unknown): void {
    if (!isRefusal(error)) this.#broken.push(`unexpected: ${String(error)}`);
  }

  #plannedStrike(strike: Strike): void {
    switch (strike.kind) {
      case 'restart':
        this.#at(strike.atMs, () => {
          this.#struck(strike);
          this.#plane.restart();
        });
        break;
      case 'deploy':
        this.#at(strike.atMs, () => {
          this.#struck(strike);
          this.#plane.deploy(this.#later(), { retained: strike.retained });
        });
        break;
      case 'outage':
        this.#disturbed.push({
          from: strike.fromMs + this.#startedAt,
          to: strike.toMs + this.#startedAt,
        });
        break;
      case 'cancel':
      case 'resume':
      case 'abort':
      case 'repeat_start':
        this.#at(strike.atMs, () => this.#fromOutside(strike.kind, strike.saga));
        break;
      default:
    }
  }

  /** Later versions of what this world started. */
  #later(): AnySaga[] {
    const names = new Set(this.#plan.started.map((each) => each?.saga.name));
    return this.#options.later.filter((saga) => names.has(saga.name));
  }

  async #fromOutside(
    kind: 'cancel' | 'resume' | 'abort' | 'repeat_start',
    saga: number,
  ): Promise<void> {
    const id = this.#ids.get(saga);
    const started = this.#plan.started[saga];
    if (id === undefined || started === undefined) return;
    switch (kind) {
      case 'abort':
        this.#struck(kind);
        return this.#plane.abort(id);
      case 'repeat_start':
        await this.#plane.start(started.saga.name, started.key, started.input, started.tenant);
        return;
      case 'cancel':
        await this.#plane.ask(id.tenant, (parts, principal) =>
          cancelSaga(parts, principal, id.sagaId, '{"reason":"no longer wanted"}'),
        );
        return;
      case 'resume':
        await this.#plane.ask(id.tenant, (parts, principal) =>
          resumeSaga(parts, principal, id.sagaId, '{}'),
        );
    }
  }

  #judge(rested: boolean, tookMs: number): WorldResult {
    const plane = this.#plane;
    const { book } = plane.providers;
    const facts = {
      now: this.#time.now(),
      registry: plane.registry(),
      disturbed: this.#disturbed,
    };
    let events = 0;
    const ledgers: {
      id: LedgerId;
      records: ReturnType<SimulatedPlane['records']>;
      partners: readonly PartnerFacts[];
    }[] = [];
    const outcomes = [...this.#ids].map(([index, id]): Outcome => {
      const records = plane.records(id);
      const partners = book.facts(id.tenant, id.sagaId);
      ledgers.push({ id, records, partners });
      events += records.length;
      const state = plane.state(id);
      const findings = [...check(id, records, partners), ...liveness(id, records, facts)];
      if (state !== undefined)
        findings.push(...checkStanding(standingReport(state), records, partners));
      const end = state?.status ?? 'never started';
      if (!this.#resting.has(ledgerKey(id))) findings.push(`12: it never came to its end (${end})`);
      const effects = partners.flatMap((partner) => partner.effects);
      return { index, id, end, findings, events: plane.events(id), effects };
    });
    const findings = [...this.#broken, ...checkTenants(ledgers, book.sagas())];
    const lost = this.#plan.started.findIndex(
      (each, at) => each !== undefined && !this.#ids.has(at),
    );
    if (!rested && lost !== -1) findings.push(`12: the start of saga ${lost} was never answered`);
    return { outcomes, findings, broken: all(outcomes, findings), events, tookMs };
  }
}

function all(outcomes: readonly Outcome[], findings: readonly string[]): string[] {
  const own = outcomes.flatMap((each) => each.findings.map((one) => `${one} (saga ${each.index})`));
  return [...own, ...findings];
}

/** The world, and what the outbox made of it. */
function beside(judged: WorldResult, projected: Projected): WorldResult {
  const outcomes = judged.outcomes.map((outcome): Outcome => {
    const key = ledgerKey(outcome.id);
    const findings = [...outcome.findings, ...(projected.findings.get(key) ?? [])];
    return { ...outcome, findings, outbox: projected.told.get(key) ?? [] };
  });
  const findings = [...judged.findings, ...projected.strays];
  const { figures } = projected;
  return { ...judged, outcomes, findings, broken: all(outcomes, findings), outbox: figures };
}

function sorted(strikes: readonly Strike[]) {
  const of = <K extends Strike['kind']>(kind: K): Extract<Strike, { kind: K }>[] =>
    strikes.filter((each): each is Extract<Strike, { kind: K }> => each.kind === kind);
  return {
    store: new Map(of('store').map((each) => [`${each.index} ${each.phase}`, each])),
    call: new Map(of('call').map((each) => [`${each.index} ${each.phase}`, each])),
    invocation: new Map(of('invocation').map((each) => [each.index, each])),
    start: new Map(of('start').map((each) => [each.index, each])),
    outages: of('outage'),
    provider: of('provider'),
    question: of('question'),
  };
}

/** Each definition once. */
function current(sagas: readonly AnySaga[]): AnySaga[] {
  return [...new Map(sagas.map((saga) => [saga.name, saga])).values()];
}

/** Mostly quick, now and then slow: so that what was begun first need not end first. */
function latency(chance: Chance): number {
  const sort = chance.fraction();
  if (sort < 0.75) return chance.between(1, 15);
  return sort < 0.97 ? chance.between(15, 200) : chance.between(200, 2_500);
}
