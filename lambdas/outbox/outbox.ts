import type { Clock } from '../ports/clock.ts';
import type { EventPublisher } from '../ports/event-publisher.ts';
import type { LedgerId, LedgerStore } from '../ports/ledger-store.ts';
import type { Log } from '../ports/log.ts';
import type { SagaProjection } from '../ports/saga-projection.ts';
import { type CatchUp, catchUp, madeAnew, type OwnArrival } from './catch-up.ts';
import { LEDGER_TAMPERED, type PlaneEvent } from './plane-events.ts';
import type { Arrival } from './stream.ts';

export interface OutboxParts {
  readonly ledger: LedgerStore;
  readonly projection: SagaProjection;
  /** Absent where only the projection is brought up. */
  readonly publisher?: EventPublisher;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
}

/** What became of one batch; for metrics and alarms. */
export interface OutboxReport {
  readonly records: number;
  readonly sagas: number;
  /** Events that the bus took, and those that are not among what this plane publishes. */
  readonly published: number;
  /** Records of ledgers that were found changed, removed or not to hold, for the first time. */
  readonly tampered: number;
  /** Positions of records that are to be handed over again. */
  readonly failed: readonly string[];
  /** Age of the oldest record (milliseconds): how far the projection is behind. */
  readonly lagMs: number;
}

/** Sagas worked on at once. */
const SIDE_BY_SIDE = 16;

/**
 * Takes what was appended to ledgers to those outside: into the projection, and as events to the bus.
 * Records may come in any order, twice, late or not at all; what counts is the ledger. Events are
 * published before they are noted as published, so that none is lost; a repeat carries the same id.
 */
export class Outbox {
  readonly #parts: OutboxParts;

  constructor(parts: OutboxParts) {
    this.#parts = parts;
  }

  /** Never throws for a record: one saga's failure does not hold up the others of its batch. */
  async take(arrivals: readonly Arrival[]): Promise<OutboxReport> {
    const { log } = this.#parts;
    const now = this.#parts.clock.now();
    const failed: string[] = [];
    const sagas = new Map<string, OwnArrival[]>();
    for (const arrival of arrivals) {
      if (arrival.kind === 'foreign') {
        log.error('a record of the stream is of no ledger', { position: arrival.position });
        failed.push(arrival.position);
        continue;
      }
      const key = `${arrival.id.tenant}/${arrival.id.sagaId}`;
      sagas.set(key, [...(sagas.get(key) ?? []), arrival]);
    }

    const works: Work[] = [];
    const fail = (own: readonly OwnArrival[], error: unknown): void => {
      const [first] = own;
      if (first === undefined) return;
      failed.push(first.position);
      log.error('records of a saga could not be passed on', {
        ...first.id,
        position: first.position,
        ...reasonOf(error),
      });
    };
    await inGroups([...sagas.values()], async (own) => {
      const [first] = own;
      if (first === undefined) return;
      try {
        works.push({ own, plan: await catchUp({ ...this.#parts, now }, first.id, own) });
      } catch (error) {
        fail(own, error);
      }
    });
    const done = await this.#publish(works.map(({ plan }) => plan));
    await inGroups(works, async ({ own, plan }) => {
      try {
        await this.#note(plan, done);
      } catch (error) {
        fail(own, error);
      }
    });
    return {
      records: arrivals.length,
      sagas: sagas.size,
      published: sum(done.values(), ({ count }) => count),
      tampered: sum(works, ({ plan }) => marksIn(plan)),
      failed,
      lagMs: lagOf(arrivals, now),
    };
  }

  /**
   * Makes what is known of one saga anew from its ledger, and publishes what is not known to be
   * published.
   * @param since transitions from before then (epoch milliseconds) count as published
   * @returns how many records of it were found tampered with for the first time
   * @throws StoreUnavailable
   * @throws Error where the bus refuses
   */
  async rebuild(id: LedgerId, since = 0): Promise<number> {
    const plan = await madeAnew({ ...this.#parts, now: this.#parts.clock.now() }, id, since);
    await this.#note(plan, await this.#publish([plan]));
    return marksIn(plan);
  }

  /** @throws Error where the bus did not take all: what it took is noted first */
  async #note(plan: CatchUp, done: ReadonlyMap<CatchUp, Done>): Promise<void> {
    const { projection, log, publisher } = this.#parts;
    const { count, code } = done.get(plan) ?? { count: 0 };
    const { published, tampered, ...change } = plan.changeAfter(count);
    for (const { event } of plan.toPublish.slice(0, count)) {
      if (event.type !== LEDGER_TAMPERED) continue;
      const { tenant, sagaId, seq, found } = event.detail;
      log.error('a ledger was tampered with', { tenant, sagaId, seq, found });
    }
    const noted = {
      ...change,
      ...(tampered === undefined ? {} : { tampered }),
      // Without a bus nothing was published, and whoever has one is to do it.
      ...(publisher === undefined || published === undefined ? {} : { published }),
    };
    await projection.note(plan.id, noted, plan.known);
    if (code !== undefined) throw new Error(`the event bus did not take an event: ${code}`);
  }

  /**
   * In waves: the next event of a saga is handed over once the one before was taken. How many of
   * each went out, and what the bus said of the next.
   */
  async #publish(plans: readonly CatchUp[]): Promise<Map<CatchUp, Done>> {
    const { publisher } = this.#parts;
    if (publisher === undefined) {
      return new Map(plans.map((plan) => [plan, { count: plan.toPublish.length }]));
    }
    const done = new Map<CatchUp, Done>(plans.map((plan) => [plan, { count: 0 }]));
    let open = plans.filter(({ toPublish }) => toPublish.length > 0);
    for (let wave = 0; open.length > 0; wave += 1) {
      const events = open.flatMap((plan) => eventAt(plan, wave));
      const refused = new Map(
        (await publisher.publish(events)).map(({ id, code }) => [id, code] as const),
      );
      for (const plan of open) {
        const code = refused.get(eventAt(plan, wave)[0]?.detail.id ?? '');
        done.set(plan, code === undefined ? { count: wave + 1 } : { count: wave, code });
      }
      open = open.filter(
        (plan) => done.get(plan)?.code === undefined && plan.toPublish.length > wave + 1,
      );
    }
    return done;
  }
}

interface Work {
  readonly own: readonly OwnArrival[];
  readonly plan: CatchUp;
}

interface Done {
  readonly count: number;
  /** Why it is not all of them. */
  readonly code?: string;
}

function eventAt({ toPublish }: CatchUp, wave: number): PlaneEvent[] {
  const next = toPublish[wave];
  return next === undefined ? [] : [next.event];
}

function marksIn({ toPublish }: CatchUp): number {
  return toPublish.filter(({ event }) => event.type === LEDGER_TAMPERED).length;
}

function lagOf(arrivals: readonly Arrival[], now: number): number {
  const times = arrivals.flatMap((arrival) => (arrival.kind === 'appended' ? [arrival.at] : []));
  return times.length === 0 ? 0 : Math.max(0, now - Math.min(...times));
}

function sum<T>(items: Iterable<T>, of: (item: T) => number): number {
  let total = 0;
  for (const item of items) total += of(item);
  return total;
}

function reasonOf(error: unknown): { readonly error: string; readonly reason: string } {
  return error instanceof Error
    ? { error: error.name, reason: error.message }
    : { error: `a thrown ${typeof error}`, reason: '' };
}

async function inGroups<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += SIDE_BY_SIDE) {
    await Promise.all(items.slice(at, at + SIDE_BY_SIDE).map(work));
  }
}
