import type { LedgerId } from '../lambdas/ports/ledger-store.ts';
import { ledgerKey } from '../lambdas/ports/ledger-store.ts';
import type { AnySaga } from '../statemachines/language/saga.ts';
import type { SagaEvent } from '../statemachines/rules/events.ts';
import { standingReport } from '../statemachines/rules/standing.ts';
import { Chance } from './chance.ts';
import { check } from './checker/check.ts';
import { liveness } from './checker/liveness.ts';
import { checkReruns } from './checker/reruns.ts';
import { checkStanding } from './checker/standing.ts';
import { checkTenants } from './checker/tenants.ts';
import { SimulatedOutbox } from './outbox.ts';
import { isOutboxStrike } from './outbox-strikes.ts';
import { OTHER_KEY, Outsiders } from './outsiders.ts';
import { Person } from './person.ts';
import { SimulatedPlane } from './plane.ts';
import { strangers } from './play.ts';
import { drawnCharge } from './provider-terms.ts';
import type { ProviderOptions } from './providers.ts';
import { RERUN, type Request, type Started, type Strike, type WorldPlan } from './strikes.ts';
import { VirtualTime } from './virtual-time.ts';
import {
  current,
  deployedBy,
  latency,
  leaseOf,
  mishapOf,
  momentOf,
  policiesOf,
  questionMishapOf,
  sorted,
  taskName,
} from './world-parts.ts';
import { all, beside, type Outcome, type WorldResult } from './world-result.ts';

export type { Outcome, WorldResult } from './world-result.ts';

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
/** By then each saga that waited for other code has been given its own. */
const MOST_DEPLOYS_BACK = 20;

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
  readonly #outsiders: Outsiders;
  /** What runs a Task of a saga once more, where the plan has that in store. */
  readonly #tasks = new Map<string, () => void>();
  /** Starts that were answered. */
  readonly #answered = new Set<number>();
  /** Asked for, and not over yet. */
  #open = 0;
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
    const broken = (finding: string): void => void this.#broken.push(finding);
    this.#person = new Person(this.#plane, {
      takesMs: () => thinks.between(1_000, 600_000),
      closesMs: () => (thinks.happens(0.5) ? thinks.between(0, 60_000) : undefined),
      way: (id, nth) => {
        const saga = this.#indexOf(id);
        return this.#by.review.find((each) => each.saga === saga && each.nth === nth);
      },
      broken,
    });
    this.#outsiders = new Outsiders(this.#plane, broken);
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
      policies: policiesOf(this.#by, started, (id) => this.#indexOf(id)),
      ...(this.#by.lease.length === 0
        ? {}
        : {
            task: (drive, task, again) =>
              void this.#tasks.set(taskName(ledgerKey(drive), task), again),
          }),
      appended: (id, event, by) => {
        this.#broken.push(...strangers(event, by));
        this.#appended(id, event);
      },
      faults: {
        store: ({ index, phase }) => {
          const strike = this.#struck(this.#by.store.get(momentOf(index, phase)));
          this.#delayMs = strike?.delayMs ?? this.#delayMs;
          return strike?.fault;
        },
        provider: (index, phase) => this.#struck(this.#by.call.get(momentOf(index, phase)))?.fault,
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
        // By what is undone, so that a story keeps its prices when it is shrunk.
        charge: ({ tenant, sagaId, step }, estimate) =>
          drawnCharge(chance.apart(`cost ${tenant}/${sagaId}/${step}`), estimate),
        isOut: (tool) => this.#isOut(tool),
        mishap: (call) => mishapOf(this.#by, this.#indexOf(call), call),
        questionMishap: (call) => questionMishapOf(this.#by, this.#indexOf(call), call),
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

  #indexOf(id: LedgerId): number | undefined {
    return this.#indices.get(ledgerKey(id));
  }

  #appended(id: LedgerId, event: SagaEvent): void {
    const key = ledgerKey(id);
    if (event.type === 'saga_started') this.#began(id, event);
    const index = this.#indices.get(key) ?? -1;
    if (event.dueAt === undefined) this.#resting.add(key);
    if (event.type === 'review_opened') this.#broken.push(...this.#reported(id));
    if (event.type === 'saga_compensated') this.#compensated(id, index);
    if (event.type === 'step_claimed') this.#claimed(key, index, event);
    this.#person.noticed(id, event);
    this.#outbox?.appended(id, event.seq);
  }

  /** Its Task may run once more about when the lease is over. */
  #claimed(key: string, index: number, event: Extract<SagaEvent, { type: 'step_claimed' }>): void {
    const lease = leaseOf(this.#by, index, event);
    if (lease === undefined) return;
    const action = lease.action === 'forward' ? 'forward' : 'recover';
    const again = this.#tasks.get(taskName(key, { step: lease.step, action }));
    if (again === undefined) return;
    this.#time.world.timer(event.leaseUntil + lease.afterMs - this.#time.now(), again);
  }

  #began(id: LedgerId, { key, previous }: Extract<SagaEvent, { type: 'saga_started' }>): void {
    const before =
      previous === undefined
        ? undefined
        : this.#indices.get(ledgerKey({ tenant: id.tenant, sagaId: previous }));
    const planned = this.#plan.started.findIndex(
      (each) =>
        each !== undefined &&
        each.tenant === id.tenant &&
        (each.key === key || each.key + OTHER_KEY === key),
    );
    const index = before === undefined ? planned : before + RERUN;
    const known = this.#ids.get(index);
    if (known !== undefined)
      this.#broken.push(`4: ${ledgerKey(known)} and ${ledgerKey(id)} began for one start`);
    this.#indices.set(ledgerKey(id), index);
    this.#ids.set(index, id);
  }

  /** Whoever was to run it again does so some time after. */
  #compensated(id: LedgerId, index: number): void {
    for (const strike of this.#by.rerun) {
      if (strike.saga !== index) continue;
      const { key, afterMs, crash } = strike;
      this.#during(afterMs, async () => {
        if (crash !== undefined) {
          const { phase } = crash;
          const at = this.#plane.counts.store + crash.call;
          const dies = { kind: 'store', index: at, phase, fault: 'crash', delayMs: 0 } as const;
          this.#by.store.set(momentOf(at, phase), dies);
        }
        await this.#outsiders.rerun(id, key);
      });
    }
  }

  /** Where the standing report, as a person who is asked reads it, says other than ledger and books. */
  #reported(id: LedgerId): string[] {
    const state = this.#plane.state(id);
    const partners = this.#plane.providers.book.facts(id.tenant, id.sagaId);
    if (state === undefined) return [];
    return checkStanding(standingReport(state), this.#plane.records(id), partners);
  }

  async play(): Promise<WorldResult> {
    const { started, strikes } = this.#plan;
    for (const [index, each] of started.entries()) if (each !== undefined) this.#start(index, each);
    for (const strike of strikes) this.#plannedStrike(strike);
    let rested = await this.#settle();
    for (let left = MOST_DEPLOYS_BACK; rested && left > 0 && this.#deployBack(); left -= 1)
      rested = await this.#settle();
    const tookMs = this.#time.now() - this.#startedAt;
    await this.#time.run(() => false, this.#time.now() + AFTERGLOW_MS);
    const judged = this.#judge(rested, tookMs);
    return this.#outbox === undefined ? judged : beside(judged, await this.#outbox.settle());
  }

  /** Until every saga has ended, or waits for other code. */
  #settle(): Promise<boolean> {
    const done = (): boolean =>
      this.#plane.longest > MAX_EVENTS ||
      (this.#open === 0 && this.#resting.size + this.#person.waiting === this.#indices.size);
    return this.#time.run(done, this.#time.now() + HORIZON_MS);
  }

  /** What waits for other code is given its own, as the refusals say. @returns whether anything waits */
  #deployBack(): boolean {
    const [first] = this.#person.stuck;
    const state = first === undefined ? undefined : this.#plane.state(first.id);
    if (state === undefined) return false;
    const { saga } = this.#plane.deployed.pinned(state);
    if (saga === undefined) return false;
    this.#disturbed.push({ from: this.#time.now(), to: this.#time.now() });
    this.#plane.deploy([saga], { retained: true });
    this.#person.deployed();
    return true;
  }

  #start(index: number, { saga, tenant, key, atMs, input }: Started): void {
    this.#during(atMs, async () => {
      await this.#plane.start(saga.name, key, input, tenant);
      this.#answered.add(index);
    });
  }

  /** The world does not end before it is over. */
  #during(afterMs: number, act: () => Promise<void>): void {
    this.#open += 1;
    this.#at(afterMs, () =>
      act().finally(() => {
        this.#open -= 1;
      }),
    );
  }

  #at(afterMs: number, act: () => unknown): void {
    this.#time.world.timer(afterMs, () => {
      const acted = act();
      if (acted instanceof Promise)
        acted.catch((error: unknown) => this.#broken.push(`unexpected: ${String(error)}`));
    });
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
          const sagas = deployedBy(strike, this.#plan.started, this.#options.later);
          if (sagas.length === 0) return;
          this.#struck(strike);
          this.#plane.deploy(sagas, { retained: strike.retained });
          this.#person.deployed();
        });
        break;
      case 'outage':
        this.#disturbed.push({
          from: strike.fromMs + this.#startedAt,
          to: strike.toMs + this.#startedAt,
        });
        break;
      default:
        if ('atMs' in strike && 'saga' in strike)
          this.#at(strike.atMs, () => this.#fromOutside(strike.kind, strike.saga));
    }
  }

  async #fromOutside(kind: Request, saga: number): Promise<void> {
    const id = this.#ids.get(saga);
    const started = this.#plan.started[saga];
    if (started === undefined) return;
    // The same start may come in the same moment, before the first is on record.
    if (id === undefined && kind !== 'repeat_start') return;
    if (kind === 'abort') this.#struck(kind);
    this.#open += 1;
    try {
      if (id !== undefined) await this.#outsiders.request(kind, id, started);
      else await this.#plane.start(started.saga.name, started.key, started.input, started.tenant);
    } finally {
      this.#open -= 1;
    }
  }

  #judge(rested: boolean, tookMs: number): WorldResult {
    const plane = this.#plane;
    const { book } = plane.providers;
    const disturbed = this.#disturbed;
    const facts = { now: this.#time.now(), registry: plane.registry(), disturbed };
    let events = 0;
    const ledgers: Parameters<typeof checkTenants>[0][number][] = [];
    const outcomes = [...this.#ids].map(([index, id]): Outcome => {
      const records = plane.records(id);
      const partners = book.facts(id.tenant, id.sagaId);
      ledgers.push({ id, records, partners });
      events += records.length;
      const state = plane.state(id);
      const findings = [...check(id, records, partners), ...liveness(id, records, facts)];
      findings.push(...plane.policies.findings(id, plane.events(id)));
      findings.push(...this.#reported(id));
      const end = state?.status ?? 'never started';
      if (!this.#resting.has(ledgerKey(id))) findings.push(`12: it never came to its end (${end})`);
      const effects = partners.flatMap((partner) => partner.effects);
      return { index, id, end, findings, events: plane.events(id), effects };
    });
    const findings = [...this.#broken, ...checkTenants(ledgers, book.sagas())];
    findings.push(...checkReruns(ledgers));
    const lost = this.#plan.started.findIndex(
      (each, at) => each !== undefined && !this.#answered.has(at),
    );
    if (!rested && this.#open > 0)
      findings.push('12: something that was asked for was never answered');
    if (!rested && lost !== -1) findings.push(`12: the start of saga ${lost} was never answered`);
    return { outcomes, findings, broken: all(outcomes, findings), events, tookMs };
  }
}
