import { Outbox } from '../lambdas/outbox/outbox.ts';
import type { PlaneEvent } from '../lambdas/outbox/plane-events.ts';
import { type Progress, rebuild } from '../lambdas/outbox/rebuild.ts';
import { arrivalOf } from '../lambdas/outbox/stream.ts';
import {
  type LedgerId,
  type LedgerRecord,
  ledgerKey,
  StoreUnavailable,
} from '../lambdas/ports/ledger-store.ts';
import { silentLog } from '../lambdas/ports/log.ts';
import type { MemoryStores } from '../lambdas/stores/memory/open.ts';
import type { Chance } from './chance.ts';
import { checkProjection, checkStrays } from './checker/projection.ts';
import { type MemoryProjection, memoryScan, type OutboxSeam, outboxParts } from './outbox-parts.ts';
import type { OutboxStrike } from './outbox-strikes.ts';
import { type Delivery, LedgerStream, rest } from './stream.ts';
import { never, type VirtualTime } from './virtual-time.ts';

export interface SimulatedOutboxOptions {
  readonly time: VirtualTime;
  readonly stores: MemoryStores;
  readonly chance: Chance;
  readonly strikes: readonly OutboxStrike[];
  storesOut(): boolean;
}

/** Something that became of a saga's records, for its story. */
export interface Told {
  readonly at: number;
  readonly text: string;
}

export interface OutboxFigures {
  readonly records: number;
  /** Records that were never handed over, or given up. */
  readonly lost: number;
  /** Repeats are counted. */
  readonly published: number;
  /** Consumers that died. */
  readonly died: number;
}

/** What the outbox made of the world's ledgers. */
export interface Projected {
  /** By ledger. */
  readonly findings: ReadonlyMap<string, readonly string[]>;
  /** Of no ledger. */
  readonly strays: readonly string[];
  readonly told: ReadonlyMap<string, readonly Told[]>;
  readonly figures: OutboxFigures;
}

/** A function of the plane has no more than this for one batch. */
const PATIENCE_MS = 60_000;
const SEGMENTS = 2;
const MAX_REBUILDS = 30;
const BETWEEN_REBUILDS_MS = 5_000;
const DRAINED_WITHIN_MS = 24 * 3_600_000;

type Ended<T> = { readonly kind: 'done'; readonly value: T } | { readonly kind: 'died' };

/** The real outbox behind the stream of a world's ledgers, with a projection and a bus in memory. */
export class SimulatedOutbox {
  readonly #options: SimulatedOutboxOptions;
  readonly #stream: LedgerStream;
  readonly #projection: MemoryProjection = new Map();
  readonly #taken: PlaneEvent[] = [];
  /** By ledger: the highest number that was handed over for good since the projection began. */
  readonly #handed = new Map<string, number>();
  readonly #faults = new Map<string, Extract<OutboxStrike, { kind: 'outbox' }>>();
  readonly #told = new Map<string, Told[]>();
  readonly #findings = new Map<string, string[]>();
  readonly #strays: string[] = [];
  #projections = 1;
  #rebuilding = 0;
  #calls = 0;
  #died = 0;
  #lost = 0;

  constructor(options: SimulatedOutboxOptions) {
    this.#options = options;
    const { time, chance, strikes } = options;
    this.#stream = new LedgerStream({
      time,
      chance,
      strikes,
      hand: (batch) => this.#hand(batch),
      lost: ({ id, seq }) => {
        this.#lost += 1;
        this.#tell(id, `record ${seq} is lost`);
      },
    });
    for (const strike of strikes) {
      switch (strike.kind) {
        case 'outbox':
          this.#faults.set(`${strike.index} ${strike.phase}`, strike);
          break;
        case 'rebuild':
          time.world.timer(strike.atMs, () => void this.#rebuild());
          break;
        case 'projection_lost':
          time.world.timer(strike.atMs, () => this.#loseProjection());
          break;
        case 'stream':
      }
    }
  }

  appended(id: LedgerId, seq: number): void {
    const record = this.#records(ledgerKey(id))[seq - 1];
    if (record !== undefined) this.#stream.appended(id, record);
  }

  /**
   * Once the sagas are at rest: lets the stream run dry, holds what was made of it against the
   * ledgers, makes it anew, and holds it against them again.
   */
  async settle(): Promise<Projected> {
    await this.#idle();
    if (this.#lost === 0 && this.#projections === 1) this.#allHanded();
    this.#judge('before it was made anew');
    void this.#rebuild();
    await this.#idle();
    this.#allHanded();
    this.#judge('once it was made anew');
    const figures = {
      records: this.#stream.records,
      lost: this.#lost,
      published: this.#taken.length,
      died: this.#died,
    };
    return { findings: this.#findings, strays: this.#strays, told: this.#told, figures };
  }

  async #idle(): Promise<void> {
    const { time } = this.#options;
    const idle = (): boolean => this.#stream.idle && this.#rebuilding === 0;
    if (await time.run(idle, time.now() + DRAINED_WITHIN_MS)) return;
    this.#strays.push('14: the stream did not run dry');
  }

  #allHanded(): void {
    for (const [key, records] of this.#options.stores.held.ledgers)
      this.#handed.set(key, records.length);
  }

  #judge(when: string): void {
    const { ledgers } = this.#options.stores.held;
    const ids = [...ledgers.keys()].map(idOf);
    const events = this.#taken.map(({ type, detail }) => ({ type, detail: { ...detail } }));
    const rows = [...this.#projection.values()].flatMap(({ row }) => row ?? []);
    for (const stray of checkStrays(ids, rows, events)) this.#strays.push(`${stray} (${when})`);
    for (const id of ids) {
      const key = ledgerKey(id);
      const row = this.#projection.get(key)?.row;
      if (row !== undefined) this.#tell(id, `its row says ${row.state} at ${row.seq} ${when}`);
      const found = checkProjection({
        id,
        records: this.#records(key),
        events: events.filter(({ detail }) => ledgerKey(detail) === key),
        upTo: this.#handed.get(key) ?? 0,
        ...(row === undefined ? {} : { row }),
      });
      const before = this.#findings.get(key) ?? [];
      this.#findings.set(key, [...before, ...found.map((each) => `${each} (${when})`)]);
    }
  }

  #records(key: string): readonly LedgerRecord[] {
    return this.#options.stores.held.ledgers.get(key) ?? [];
  }

  async #hand(batch: readonly Delivery[]): Promise<readonly string[] | undefined> {
    const projection = this.#projections;
    const now = this.#options.time.now();
    const arrivals = batch.map(({ record }) => arrivalOf(record, now));
    const ended = await this.#consume((outbox) => outbox.take(arrivals), PATIENCE_MS);
    const failed = ended.kind === 'done' ? ended.value.failed : undefined;
    const left = new Set(rest(batch, failed));
    for (const delivery of batch) {
      const { id, seq } = delivery;
      const key = ledgerKey(id);
      this.#tell(id, `record ${seq} is handed over${left.has(delivery) ? ', in vain' : ''}`);
      // What was noted in a projection that is gone is gone.
      if (left.has(delivery) || projection !== this.#projections) continue;
      this.#handed.set(key, Math.max(seq, this.#handed.get(key) ?? 0));
    }
    return failed;
  }

  #loseProjection(): void {
    this.#projections += 1;
    this.#projection.clear();
    this.#handed.clear();
  }

  /** As an operator does it: again from where it broke off, and again for what failed. */
  async #rebuild(): Promise<void> {
    const { time, stores } = this.#options;
    this.#rebuilding += 1;
    const scan = memoryScan(() => [...stores.held.ledgers.keys()].sort().map(idOf));
    let begun: Progress | undefined;
    const progress = {
      load: async () => begun,
      save: async (place: Progress) => {
        begun = place;
      },
    };
    for (let tries = 0; tries < MAX_REBUILDS; tries += 1) {
      const ended = await this.#consume((outbox) =>
        rebuild({ scan, outbox, progress, clock: time.world, log: silentLog }, SEGMENTS),
      );
      if (ended.kind === 'done') {
        if (ended.value.failed.length === 0) break;
        begun = undefined;
      }
      await time.world.sleep(BETWEEN_REBUILDS_MS);
    }
    this.#rebuilding -= 1;
  }

  /** One consumer: it ends with its work, or dies in the middle of it. */
  async #consume<T>(
    work: (outbox: Outbox) => Promise<T>,
    patienceMs = Number.MAX_SAFE_INTEGER,
  ): Promise<Ended<T>> {
    const { time, stores } = this.#options;
    const consumer = { dead: false, die: (): void => {} };
    const died = new Promise<Ended<T>>((resolve) => {
      consumer.die = () => {
        consumer.dead = true;
        resolve({ kind: 'died' });
      };
    });
    const outbox = new Outbox(outboxParts(stores.ledger, this.#projection, this.#seam(consumer)));
    const worked = work(outbox).then(
      (value): Ended<T> => ({ kind: 'done', value }),
      (error: unknown): Ended<T> => {
        if (!(error instanceof StoreUnavailable)) this.#strays.push(`unexpected: ${String(error)}`);
        return { kind: 'died' };
      },
    );
    const cancel = time.world.timer(patienceMs, consumer.die);
    const ended = await Promise.race([worked, died]);
    cancel();
    if (ended.kind === 'died') this.#died += 1;
    return ended;
  }

  #seam(consumer: { readonly dead: boolean; readonly die: () => void }): OutboxSeam {
    const { time, chance, storesOut } = this.#options;
    return {
      time,
      storesOut,
      begin: () => {
        if (consumer.dead) return undefined;
        this.#calls += 1;
        return this.#calls;
      },
      moment: async (index, phase) => {
        if (phase === 'before' && chance.happens(0.3))
          await time.world.sleep(chance.between(1, 50));
        const strike = this.#faults.get(`${index} ${phase}`);
        if (consumer.dead && phase === 'after') return never();
        switch (strike?.fault) {
          case 'crash':
            consumer.die();
            return never();
          case 'slow':
            await time.world.sleep(strike.delayMs);
            return undefined;
          default:
            return strike?.fault;
        }
      },
      published: (event) => {
        this.#taken.push(event);
        this.#tell(event.detail, `${event.type} is published as ${event.detail.id}`);
      },
    };
  }

  #tell(id: LedgerId, text: string): void {
    const key = ledgerKey(id);
    const told = this.#told.get(key);
    const line = { at: this.#options.time.now(), text };
    if (told === undefined) this.#told.set(key, [line]);
    else told.push(line);
  }
}

function idOf(key: string): LedgerId {
  const at = key.indexOf('/');
  return { tenant: key.slice(0, at), sagaId: key.slice(at + 1) };
}
