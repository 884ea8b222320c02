import type { LedgerId, LedgerRecord } from '../../lambdas/ports/ledger-store.ts';
import { StoreUnavailable } from '../../lambdas/ports/ledger-store.ts';
import type { Stores } from '../../lambdas/ports/stores.ts';
import { startSaga } from '../../lambdas/service/start.ts';
import { type MemoryStores, memoryStores } from '../../lambdas/stores/memory/open.ts';
import type { ImplementedTool } from '../../lambdas/tool/implementation.ts';
import { type Engine, startEngine } from '../../local/engine.ts';
import type { AnySaga } from '../../statemachines/language/saga.ts';
import { openRecord } from '../../statemachines/ledger/chain.ts';
import { FINAL_STATES, type SagaEvent } from '../../statemachines/rules/events.ts';
import { fold } from '../../statemachines/rules/evolve.ts';
import type { SagaState } from '../../statemachines/rules/state.ts';
import { faultyStores, type StoreCall } from '../../testing/faulty-stores.ts';
import { never, type VirtualProcess, VirtualTime } from '../../testing/virtual-time.ts';

/** How a fault strikes. `restart`: the process dies there, and another comes up. `hang`: that call alone never returns. */
export type FaultMode = 'error' | 'restart' | 'hang';

export interface VirtualPlaneOptions {
  readonly sagas: readonly AnySaga[];
  /** The tools of one engine process; called anew for each. */
  tools(process: VirtualProcess): readonly ImplementedTool[];
  readonly time?: VirtualTime;
  /** Seen at every moment of every store call. */
  readonly onStoreCall?: (call: StoreCall) => FaultMode | undefined;
}

const RESTART_MS = 500;
const STARTUP_PATIENCE_MS = 30_000;
const CLIENT_PATIENCE_MS = 20_000;
const CLIENT_PAUSE_MS = 1_000;

/**
 * The real local engine over stores in memory and virtual time, which can be killed at any moment
 * and comes up again over the same stores. What a dead process still had to do never happens.
 */
export class VirtualPlane {
  readonly time: VirtualTime;
  readonly stores: MemoryStores = memoryStores();
  readonly #options: VirtualPlaneOptions;
  readonly #entropy = { nonce: () => this.time.nonce(), fraction: () => this.time.fraction() };
  readonly #faulty: Stores;
  #process: VirtualProcess | undefined;
  #engine: Engine | undefined;
  /** Asked after every turn, so the last event is read once. */
  #looked: { readonly record: LedgerRecord; readonly event: SagaEvent } | undefined;
  /** Processes started so far. */
  generations = 0;

  constructor(options: VirtualPlaneOptions) {
    this.#options = options;
    this.time = options.time ?? new VirtualTime();
    this.#faulty = faultyStores(this.stores, {
      onCall: (call) => this.strike(options.onStoreCall?.(call)),
    });
  }

  /** Lets a fault strike the caller of the moment. @throws StoreUnavailable */
  strike(mode: FaultMode | undefined): void | Promise<void> {
    if (mode === undefined) return;
    if (mode === 'error') throw new StoreUnavailable('injected: no answer');
    if (mode === 'restart') this.kill();
    return never();
  }

  /** Starts the engine, or starts it again. */
  async up(): Promise<Engine> {
    this.#process?.kill();
    this.generations += 1;
    const process = this.time.process();
    this.#process = process;
    const engine = await startEngine({
      sagas: this.#options.sagas,
      tools: this.#options.tools(process),
      stores: mortal(this.#faulty, process),
      heads: this.stores.openHeads(),
      ledgers: () => [...this.stores.held.ledgers.keys()].map(idOf),
      clock: process,
      entropy: this.#entropy,
    });
    if (!process.dead) this.#engine = engine;
    return engine;
  }

  get engine(): Engine {
    if (this.#engine === undefined) throw new Error('the plane is not up: call up() first');
    return this.#engine;
  }

  /** The process is gone at once; another one comes up by itself a little later. */
  kill(): void {
    if (this.#process?.dead !== false) return;
    this.#process.kill();
    this.#engine = undefined;
    this.#restart();
  }

  /** As a supervisor does: again and again, until it comes up. */
  #restart(): void {
    this.time.world.timer(RESTART_MS, () => {
      const generation = this.generations + 1;
      const again = (): void => {
        if (this.#engine === undefined && this.generations === generation) this.#restart();
      };
      this.up().catch(again);
      this.time.world.timer(STARTUP_PATIENCE_MS, again);
    });
  }

  /** Starts a saga, with one key however often it has to ask. */
  start(saga: AnySaga, key: string, input: unknown): Promise<LedgerId> {
    const principal = { tenant: 'acme', id: 'shop', roles: ['starter' as const] };
    return this.insist(async (engine) => {
      const parts = {
        host: engine.host,
        ledger: engine.ledger,
        sagas: new Map(this.#options.sagas.map((each) => [each.name, each])),
        tools: [],
        index: engine.projection,
        machineOf: (each: AnySaga) => engine.machines.machineOf(each),
      };
      const view = await startSaga(parts, principal, saga.name, key, JSON.stringify(input));
      return { tenant: principal.tenant, sagaId: view.id };
    });
  }

  /** Asks something of the engine as a patient client does, over restarts and lost answers. */
  async insist<T>(ask: (engine: Engine) => Promise<T>): Promise<T> {
    for (;;) {
      const engine = this.#engine;
      if (engine !== undefined) {
        const asked = ask(engine).then(
          (answer) => ({ answer }),
          (error: unknown) => {
            if (error instanceof StoreUnavailable) return undefined;
            throw error;
          },
        );
        const gaveUp = this.time.world.sleep(CLIENT_PATIENCE_MS).then(() => undefined);
        const first = await Promise.race([asked, gaveUp]);
        if (first !== undefined) return first.answer;
      }
      await this.time.world.sleep(CLIENT_PAUSE_MS);
    }
  }

  events(id: LedgerId): SagaEvent[] {
    return (this.stores.held.ledgers.get(`${id.tenant}/${id.sagaId}`) ?? []).map((record) =>
      openRecord(record),
    );
  }

  state(id: LedgerId): SagaState | undefined {
    return fold(this.events(id));
  }

  /** Whether the saga is where it stays until somebody outside acts. */
  rests(id: LedgerId, finalOnly = false): boolean {
    const last = this.stores.held.ledgers.get(`${id.tenant}/${id.sagaId}`)?.at(-1);
    if (last === undefined) return false;
    if (last !== this.#looked?.record) this.#looked = { record: last, event: openRecord(last) };
    const { event } = this.#looked;
    return (
      FINAL_STATES.includes(event.state) ||
      (!finalOnly && event.state === 'needs_review' && event.drive === 'parked')
    );
  }
}

/** Whatever a dead process asks for is never answered, even if it was asked for before it died. */
function mortal(stores: Stores, process: VirtualProcess): Stores {
  const wrap = <T extends object>(store: T): T =>
    new Proxy(store, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return async (...args: unknown[]): Promise<unknown> => {
          if (process.dead) return never();
          try {
            const answer: unknown = await Reflect.apply(method, target, args);
            return process.dead ? never() : answer;
          } catch (error) {
            if (process.dead) return never();
            throw error;
          }
        };
      },
    });
  return {
    ledger: wrap(stores.ledger),
    payloads: wrap(stores.payloads),
    registry: wrap(stores.registry),
    budgets: wrap(stores.budgets),
    breakers: wrap(stores.breakers),
  };
}

function idOf(key: string): LedgerId {
  const at = key.indexOf('/');
  return { tenant: key.slice(0, at), sagaId: key.slice(at + 1) };
}
