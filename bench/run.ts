import type { Principal } from '../lambdas/service/principal.ts';
import { SagaService } from '../lambdas/service/service.ts';
import { openEmbeddedStores } from '../lambdas/stores/embedded/open.ts';
import type { Engine } from '../local/engine.ts';
import { startEngine } from '../local/engine.ts';
import { type Counts, countingStores } from './counting-stores.ts';
import { benchSaga, benchTools } from './sagas.ts';

export type Kind = 'completing' | 'failing';

export interface Figures {
  readonly kind: Kind;
  readonly concurrency: number;
  readonly sagas: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** What one saga costs, whatever the speed. */
export interface Shape {
  readonly kind: Kind;
  readonly tasksEntered: number;
  readonly ledgerWrites: number;
  readonly otherWrites: number;
  readonly storeRequests: number;
  readonly bytes: number;
}

const PRINCIPAL: Principal = { tenant: 'bench', id: 'bench', roles: ['starter', 'reader'] };

/** One engine on the embedded store in `path`, measured through the service that answers the API. */
export class Bench {
  readonly #engine: Engine;
  readonly #service: SagaService;
  readonly #counts: Counts;
  readonly #ended: Map<string, () => void>;
  readonly #close: () => Promise<void>;
  #started = 0;

  private constructor(parts: {
    readonly engine: Engine;
    readonly service: SagaService;
    readonly counts: Counts;
    readonly ended: Map<string, () => void>;
    readonly close: () => Promise<void>;
  }) {
    this.#engine = parts.engine;
    this.#service = parts.service;
    this.#counts = parts.counts;
    this.#ended = parts.ended;
    this.#close = parts.close;
  }

  static async open(path: string): Promise<Bench> {
    const embedded = await openEmbeddedStores({ path });
    const { stores, counts } = countingStores(embedded);
    const ended = new Map<string, () => void>();
    const engine = await startEngine({
      sagas: [benchSaga],
      tools: benchTools,
      stores,
      heads: embedded.openHeads(),
      ledgers: () => embedded.ledger.ledgers(),
      appended: (id, event) => {
        if (event.drive === 'ended') ended.get(id.sagaId)?.();
      },
    });
    const service = new SagaService({
      host: engine.host,
      ledger: engine.ledger,
      sagas: [benchSaga],
      index: engine.projection,
      machineOf: (saga) => engine.machines.machineOf(saga),
    });
    const close = async (): Promise<void> => {
      await engine.close();
      await embedded.close();
    };
    return new Bench({ engine, service, counts, ended, close });
  }

  close(): Promise<void> {
    return this.#close();
  }

  /** Each worker starts a saga, waits for its final event, and starts the next. */
  async measure(kind: Kind, concurrency: number, sagas: number): Promise<Figures> {
    const times: number[] = [];
    let left = sagas;
    const began = performance.now();
    const worker = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        const from = performance.now();
        await this.#one(kind);
        times.push(performance.now() - from);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
    const seconds = (performance.now() - began) / 1000;
    times.sort((left_, right) => left_ - right);
    return {
      kind,
      concurrency,
      sagas,
      perSecond: Math.round(sagas / seconds),
      p50Ms: percentile(times, 0.5),
      p99Ms: percentile(times, 0.99),
    };
  }

  /** Counted over a few sagas one after the other, without the sweep in between. */
  async shape(kind: Kind): Promise<Shape> {
    const sagas = 10;
    const before = { ...this.#counts };
    const tasks = this.#engine.machines.tasksEntered();
    for (let n = 0; n < sagas; n += 1) await this.#one(kind);
    await this.#engine.drives.idle();
    const per = (from: number, to: number): number => (to - from) / sagas;
    const now = this.#counts;
    return {
      kind,
      tasksEntered: per(tasks, this.#engine.machines.tasksEntered()),
      ledgerWrites: per(before.ledgerWrites, now.ledgerWrites),
      otherWrites: per(before.otherWrites, now.otherWrites),
      storeRequests: per(before.requests, now.requests),
      bytes: Math.round(per(before.bytes, now.bytes)),
    };
  }

  /** Verifies chains until the time is up, reading each from the store. */
  async verification(sagaIds: readonly string[]): Promise<{ readonly eventsPerSecond: number }> {
    let events = 0;
    const began = performance.now();
    for (const id of sagaIds) {
      const verdict = await this.#service.verification({ ...PRINCIPAL, roles: ['auditor'] }, id);
      if (verdict.verdict !== 'valid') throw new Error(`the chain of ${id} does not verify`);
      events += verdict.events ?? 0;
    }
    return { eventsPerSecond: Math.round(events / ((performance.now() - began) / 1000)) };
  }

  /** Ids of sagas that this bench ran. */
  async ids(count: number): Promise<string[]> {
    const page = await this.#engine.projection.list({ tenant: 'bench', limit: count });
    return page.sagas.map((saga) => saga.sagaId);
  }

  async #one(kind: Kind): Promise<void> {
    this.#started += 1;
    const key = `${kind}-${this.#started}`;
    const body = JSON.stringify({ order: key, fail: kind === 'failing' });
    const saga = await this.#service.start(PRINCIPAL, 'bench', key, body);
    const { promise, resolve } = deferred();
    this.#ended.set(saga.id, resolve);
    const state = await this.#engine.ledger.load({ tenant: 'bench', sagaId: saga.id });
    if (state?.drive !== 'ended') await promise;
    this.#ended.delete(saga.id);
    const final = (await this.#engine.ledger.load({ tenant: 'bench', sagaId: saga.id }))?.status;
    const wanted = kind === 'completing' ? 'completed' : 'compensated';
    if (final !== wanted) throw new Error(`saga ${saga.id} is ${final ?? 'gone'}, not ${wanted}`);
  }
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

function percentile(sorted: readonly number[], share: number): number {
  const at = Math.min(sorted.length - 1, Math.floor(sorted.length * share));
  return Math.round((sorted[at] ?? 0) * 10) / 10;
}
