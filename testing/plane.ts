import type { Drive } from '../lambdas/ports/drive-starter.ts';
import { type LedgerId, ledgerKey, StoreUnavailable } from '../lambdas/ports/ledger-store.ts';
import type { Parts } from '../lambdas/service/parts.ts';
import { Problem } from '../lambdas/service/problems.ts';
import { startSaga } from '../lambdas/service/start.ts';
import { entryAt } from '../lambdas/stores/due-order.ts';
import { type MemoryStores, memoryStores } from '../lambdas/stores/memory/open.ts';
import type { AnySaga } from '../statemachines/language/saga.ts';
import { FINAL_STATES, type SagaEvent } from '../statemachines/rules/events.ts';
import { fold } from '../statemachines/rules/evolve.ts';
import { executionNameOf } from '../statemachines/rules/keys.ts';
import type { SagaState } from '../statemachines/rules/state.ts';
import type { StoredRecord } from './checker/records.ts';
import { Deployed, machineOf } from './deployed.ts';
import { Execution } from './execution.ts';
import type { PlaneOptions } from './plane-options.ts';
import { Policies } from './policies.ts';
import { Providers } from './providers.ts';
import type { VirtualTime } from './virtual-time.ts';
import { Worker } from './worker.ts';
import { workerStores } from './worker-stores.ts';

export type { PlaneOptions } from './plane-options.ts';

export const TENANT = 'acme';
const ROLES = ['starter', 'reader', 'reviewer', 'operator', 'auditor'] as const;
const SWEEP_EVERY_MS = 60_000;
const RESTART_MS = 500;
const NOTICE_MS = 100;
const CLIENT_PATIENCE_MS = 20_000;
const CLIENT_PAUSE_MS = 1_000;
const DEFAULT_DELAY_MS = 3_000;

/**
 * The whole plane in virtual time: workers that run the real handlers, executions of the compiled
 * machines, a sweep each minute, over stores in memory, against simulated providers.
 */
export class SimulatedPlane {
  readonly time: VirtualTime;
  readonly stores: MemoryStores;
  readonly providers: Providers;
  readonly policies: Policies;
  readonly heads = new Map<string, SagaEvent>();
  readonly #events = new Map<string, SagaEvent[]>();
  readonly #folded = new Map<string, SagaState>();
  /** Events of the longest ledger. */
  longest = 0;
  readonly #options: PlaneOptions;
  readonly #entropy;
  readonly deployed = new Deployed();
  readonly #executions = new Set<Execution>();
  readonly #started = new Set<string>();
  #workers: Worker[] = [];
  #counts = { store: 0, provider: 0, invocation: 0, start: 0, turn: 0 };
  #sweepAt = Infinity;
  #cancelSweep = (): void => {};

  constructor(options: PlaneOptions) {
    this.#options = options;
    this.time = options.time;
    const { time } = options;
    this.#entropy = { nonce: () => time.nonce(), fraction: () => time.fraction() };
    this.stores = memoryStores({ entropy: this.#entropy });
    this.providers = new Providers({
      ...options.providers,
      time,
      moment: (phase, worker) => {
        if (phase === 'before') this.#counts.provider += 1;
        const fault = options.faults?.provider?.(this.#counts.provider, phase);
        if (fault === 'crash') this.crash(worker);
        if (fault === 'restart') this.restart();
      },
    });
    this.policies = new Policies(options.policies ?? { tools: new Set(), mishap: () => undefined });
    this.deploy(options.sagas, { retained: true });
  }

  /** Operations begun so far, by kind. */
  get counts(): Readonly<Record<'store' | 'provider' | 'invocation' | 'start', number>> {
    return this.#counts;
  }

  /**
   * New code. Retained: what began on older code goes on with it, as published versions do. Else the
   * older code is gone, as when a process is replaced.
   */
  deploy(sagas: readonly AnySaga[], options: { readonly retained: boolean }): void {
    this.deployed.add(sagas, options);
    if (options.retained) this.#workers = [];
    else this.restart();
    this.#staff();
  }

  #staff(): void {
    const { workers = 2, skewMs } = this.#options;
    const hired = this.#workers.filter((each) => this.#isCurrent(each)).length;
    for (let more = hired; more < workers; more += 1) {
      this.#workers.push(this.#hire(skewMs?.() ?? 0));
    }
  }

  /** A worker for one invocation. */
  #own(saga: AnySaga | undefined, drive: Drive): Worker {
    const sagas = saga === undefined ? [] : [saga];
    const hired = this.#hire(this.#options.skewMs?.() ?? 0, sagas, drive);
    this.#workers.push(hired);
    return hired;
  }

  #hire(skewMs: number, sagas = [...this.deployed.current.values()], by?: Drive): Worker {
    const { time } = this;
    const process = time.worker(skewMs);
    const { faults, latencyMs } = this.#options;
    return new Worker({
      process,
      sagas,
      entropy: this.#entropy,
      stores: workerStores(this.stores, process, {
        time,
        begin: () => {
          this.#counts.store += 1;
          return this.#counts.store;
        },
        fault: (moment) => faults?.store?.(moment),
        latencyMs: () => latencyMs?.() ?? 0,
        delayMs: () => this.#delayMs(),
        isOut: () => faults?.storesOut?.() ?? false,
        crash: (worker) => this.crash(worker),
        restart: () => this.restart(),
        // What the engine wrote a moment ago: the checker reads it again with a parser of its own.
        appended: (id, record) => this.#appended(id, JSON.parse(record.body) as SagaEvent, by),
        registered: (entry) => this.#planSweep(entry.dueAt),
      }),
      drives: { start: (drive) => this.#start(drive) },
      implement: (contract, worker) =>
        this.policies.guard(this.providers.implement(contract, worker)),
    });
  }

  #appended(id: LedgerId, event: SagaEvent, by: Drive | undefined): void {
    const key = ledgerKey(id);
    this.heads.set(key, event);
    const events = this.#events.get(key);
    if (events === undefined) this.#events.set(key, [event]);
    else events.push(event);
    this.longest = Math.max(this.longest, event.seq);
    this.#options.appended?.(id, event, by);
  }

  /** A worker that has this definition, or any. Older code runs on a worker of its own. */
  worker(saga?: AnySaga): Worker {
    const old = saga !== undefined && !this.deployed.isCurrent(saga);
    if (old) {
      const known = this.#workers.find((each) => each.sagas.includes(saga));
      if (known !== undefined) return known;
      const hired = this.#hire(this.#options.skewMs?.() ?? 0, [saga]);
      this.#workers.push(hired);
      return hired;
    }
    const able = this.#workers.filter((each) => saga === undefined || each.sagas.includes(saga));
    const usable = saga === undefined ? able.filter((each) => this.#isCurrent(each)) : able;
    this.#counts.turn += 1;
    const index = this.#options.pick?.(usable.length) ?? this.#counts.turn % usable.length;
    const found = usable[index];
    if (found === undefined) throw new Error('the plane has no worker');
    return found;
  }

  #isCurrent(worker: Worker): boolean {
    return worker.sagas.every((saga) => this.deployed.isCurrent(saga));
  }

  /** One worker dies; its callers hear of it a little later. */
  crash(process: Worker['process']): void {
    const worker = this.#workers.find((each) => each.process === process);
    if (worker === undefined) return;
    this.time.world.timer(NOTICE_MS, worker.kill());
    this.#workers = this.#workers.filter((each) => each !== worker);
    this.#staff();
  }

  /** The process with everything in it dies, and comes up again. */
  restart(): void {
    for (const worker of this.#workers) worker.kill();
    for (const execution of this.#executions) execution.abort();
    this.#workers = [];
    this.#staff();
    this.time.world.timer(RESTART_MS, () => void this.#takeUp());
  }

  async #takeUp(): Promise<void> {
    for (const [key, head] of this.heads) {
      if (head.dueAt === undefined) continue;
      const { sweep } = this.worker();
      await sweep.grant(idOf(key), 'restart').catch(() => false);
    }
  }

  async #start(drive: Drive): Promise<void> {
    this.#counts.start += 1;
    const fault = this.#options.faults?.start?.(this.#counts.start, drive);
    switch (fault) {
      case undefined:
        return this.#run(drive);
      case 'lost':
        return;
      case 'fails':
        throw new Error('injected: the execution was not started');
      case 'delayed':
        this.time.world.timer(this.#delayMs(), () => this.#run(drive));
        return;
      case 'twice':
        this.#run(drive);
        this.#run(drive);
    }
  }

  #run(drive: Drive): void {
    const saga = this.deployed.running(drive.machine);
    const name = executionNameOf(drive.sagaId, drive.epoch);
    // A standard execution's name is taken for good; express executions have none.
    const once = saga?.plan.sagaType !== 'EXPRESS';
    if (once && this.#started.has(name)) return;
    this.#started.add(name);
    const { task } = this.#options;
    const execution = new Execution(drive, saga, {
      time: this.time,
      ...(task === undefined ? {} : { task }),
      ledger: this.worker().ledger,
      worker: (of, by) => (this.#options.oneEach === true ? this.#own(of, by) : this.worker(of)),
      delayMs: () => this.#delayMs(),
      fault: (of) => {
        this.#counts.invocation += 1;
        return this.#options.faults?.invocation?.(this.#counts.invocation, of);
      },
    });
    this.#executions.add(execution);
    const over = (): void => {
      this.#executions.delete(execution);
      if (this.#options.hearsOfEnds?.() === true) {
        void this.worker()
          .sweep.ended(drive)
          .catch(() => false);
      }
    };
    execution.run().then(over, over);
  }

  #delayMs(): number {
    return this.#options.delayMs?.() ?? DEFAULT_DELAY_MS;
  }

  /** Stops whatever moves the saga now, from outside. */
  abort(id: LedgerId): void {
    for (const execution of this.#executions) {
      if (execution.drive.sagaId === id.sagaId && execution.drive.tenant === id.tenant)
        execution.abort();
    }
  }

  /** Each minute; minutes in which nothing can be due are left out. */
  #planSweep(dueAt: number): void {
    const now = this.time.now();
    const minute = Math.ceil(Math.max(now + 1, dueAt) / SWEEP_EVERY_MS) * SWEEP_EVERY_MS;
    if (minute >= this.#sweepAt) return;
    this.#cancelSweep();
    this.#sweepAt = minute;
    this.#cancelSweep = this.time.world.timer(minute - now, () => {
      this.#sweepAt = Infinity;
      void this.#sweep();
    });
  }

  async #sweep(): Promise<void> {
    const earliest = (): number =>
      Math.min(Infinity, ...[...this.stores.held.registry].map((at) => entryAt(at).dueAt));
    const next = this.time.now() + SWEEP_EVERY_MS;
    // Planned before the work is done: a pass that dies does not end the series.
    if (this.stores.held.registry.size > 0) this.#planSweep(Math.max(next, earliest()));
    if (this.#options.faults?.sweepOut?.() !== true) {
      await this.worker()
        .sweep.run()
        .catch(() => undefined);
    }
    if (this.stores.held.registry.size > 0) this.#planSweep(earliest());
  }

  /** Asks something of the service as a patient client does, over crashes and lost answers. */
  async ask<T>(
    tenant: string,
    question: (parts: Parts, principal: Parameters<typeof startSaga>[1]) => Promise<T>,
  ): Promise<T> {
    for (;;) {
      const asked = question(this.#parts(), { tenant, id: 'shop', roles: ROLES }).then(
        (answer) => ({ answer }),
        (error: unknown) => {
          if (error instanceof StoreUnavailable) return undefined;
          throw error;
        },
      );
      const gaveUp = this.time.world.sleep(CLIENT_PATIENCE_MS).then(() => undefined);
      const first = await Promise.race([asked, gaveUp]);
      if (first !== undefined) return first.answer;
      await this.time.world.sleep(CLIENT_PAUSE_MS);
    }
  }

  #parts(): Parts {
    const { host, ledger } = this.worker();
    return {
      host,
      ledger,
      sagas: this.deployed.current,
      tools: [],
      index: { list: async () => ({ sagas: [] }), head: async () => undefined },
      machineOf,
    };
  }

  /** Starts a saga, with one key however often it has to ask. */
  async start(name: string, key: string, input: unknown, tenant = TENANT): Promise<LedgerId> {
    const body = JSON.stringify(input);
    const view = await this.ask(tenant, (parts, principal) =>
      startSaga(parts, principal, name, key, body),
    );
    return { tenant, sagaId: view.id };
  }

  records(id: LedgerId): readonly StoredRecord[] {
    return this.stores.held.ledgers.get(ledgerKey(id)) ?? [];
  }

  events(id: LedgerId): readonly SagaEvent[] {
    return this.#events.get(ledgerKey(id)) ?? [];
  }

  state(id: LedgerId): SagaState | undefined {
    const key = ledgerKey(id);
    const known = this.#folded.get(key);
    const events = this.#events.get(key) ?? [];
    if (known?.seq === events.length) return known;
    const state = fold(events.slice(known?.seq ?? 0), known);
    if (state !== undefined) this.#folded.set(key, state);
    return state;
  }

  /** Whether the saga is where it stays until somebody outside acts. */
  rests(id: LedgerId, finalOnly = false): boolean {
    const head = this.heads.get(ledgerKey(id));
    if (head === undefined) return false;
    if (FINAL_STATES.includes(head.state)) return true;
    return !finalOnly && head.state === 'needs_review' && head.drive === 'parked';
  }

  registry(): readonly (LedgerId & { readonly dueAt: number })[] {
    return [...this.stores.held.registry].map(entryAt);
  }
}

/** A refusal that says what is wrong; everything else is a fault of the plane. */
export function isRefusal(error: unknown): error is Problem {
  return error instanceof Problem;
}

function idOf(key: string): LedgerId {
  const at = key.indexOf('/');
  return { tenant: key.slice(0, at), sagaId: key.slice(at + 1) };
}
