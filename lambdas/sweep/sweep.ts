import { LedgerDamaged, openRecord } from '../../statemachines/ledger/chain.ts';
import type { SagaEvent } from '../../statemachines/rules/events.ts';
import { isLive } from '../../statemachines/rules/view.ts';
import type { LedgerId, LedgerRecord } from '../ports/ledger-store.ts';
import type { RegistryEntry } from '../ports/registry.ts';
import type { Host } from '../runtime/host.ts';
import type { SagaLedger } from '../runtime/saga-ledger.ts';

export interface SweepReport {
  /** Entries looked at. */
  readonly seen: number;
  /** Drives granted. */
  readonly granted: number;
  readonly moved: number;
  readonly removed: number;
  /** Ledgers that do not hold; each was logged. They stay in the registry. */
  readonly damaged: readonly LedgerId[];
  /**
   * How long the saga that was found latest had been due (milliseconds). One that could not be looked at
   * counts with what its entry says, which may be earlier than its ledger does.
   */
  readonly latestMs: number;
  /** False where the time was up before the last entry: the next pass begins with the oldest again. */
  readonly finished: boolean;
}

/** One execution, by what it was started for. */
export interface EndedDrive extends LedgerId {
  readonly epoch: number;
}

type Look = 'left' | 'granted' | 'moved' | 'removed' | 'damaged';

interface Looked {
  readonly look: Look;
  readonly lateMs?: number;
}

const PAGE = 200;
const SIDE_BY_SIDE = 16;

/**
 * Finds every saga that somebody must look at. Reads the head of the ledger behind each due entry, so
 * it depends on no projection, stream or status event (invariant 12).
 */
export class Sweep {
  readonly #host: Host;
  readonly #ledger: SagaLedger;

  constructor(options: { readonly host: Host; readonly ledger: SagaLedger }) {
    this.#host = options.host;
    this.#ledger = options.ledger;
  }

  /**
   * One pass over all entries due by now. Another may run beside it: each grant is an append of its own.
   * @param options.endsAt no entry is begun after that (epoch milliseconds)
   * @throws StoreUnavailable where the registry cannot be read
   */
  async run(options: { readonly endsAt?: number } = {}): Promise<SweepReport> {
    const { stores, clock } = this.#host;
    const { endsAt = Number.POSITIVE_INFINITY } = options;
    const until = clock.now();
    let latestMs = 0;
    let finished = true;
    const counts = { left: 0, granted: 0, moved: 0, removed: 0, damaged: 0 };
    const damaged: LedgerId[] = [];
    let cursor: string | undefined;
    read: do {
      const page = await stores.registry.due(until, PAGE, cursor);
      cursor = page.cursor;
      for (let at = 0; at < page.entries.length; at += SIDE_BY_SIDE) {
        if (clock.now() >= endsAt) {
          finished = false;
          break read;
        }
        const group = page.entries.slice(at, at + SIDE_BY_SIDE);
        const looks = await Promise.all(group.map((entry) => this.#entry(entry)));
        for (const [index, { look, lateMs }] of looks.entries()) {
          counts[look] += 1;
          latestMs = Math.max(latestMs, lateMs ?? 0);
          const entry = group[index];
          if (look === 'damaged' && entry !== undefined) damaged.push(entry);
        }
      }
    } while (cursor !== undefined);
    const { granted, moved, removed } = counts;
    const seen = counts.left + granted + moved + removed + counts.damaged;
    return { seen, granted, moved, removed, damaged, latestMs, finished };
  }

  /** Grants the next drive if the saga is due (or, after a restart, if a dead drive held it). */
  async grant(id: LedgerId, reason: 'due' | 'restart'): Promise<boolean> {
    const { verdict } = await this.#ledger.write(id, { kind: 'grant', reason }, { actor: 'sweep' });
    return verdict.kind === 'append';
  }

  /**
   * Replaces a drive whose execution is known to be over, without waiting until the saga is due. Only
   * saves time: what is left here, the pass finds. So it leaves a drive that added nothing, since one
   * that never gets anywhere must count as a try, and one whose last attempt may still be at work.
   * @returns whether a drive was granted
   * @throws LedgerDamaged
   * @throws StoreUnavailable
   */
  async ended({ epoch, ...id }: EndedDrive): Promise<boolean> {
    const state = await this.#ledger.load(id);
    if (state?.drive !== 'running' || state.epoch !== epoch) return false;
    const now = this.#host.clock.now();
    if (state.dueAt !== undefined && now >= state.dueAt) return this.grant(id, 'due');
    const attempts = [...state.steps.values()].flatMap(({ forward, recovery }) =>
      recovery === undefined ? [forward] : [forward, recovery],
    );
    if (state.progress === 0 || attempts.some((attempt) => isLive(attempt, now))) return false;
    const { verdict } = await this.#ledger.write(
      id,
      { kind: 'grant', reason: 'restart', epoch },
      { actor: 'sweep' },
    );
    return verdict.kind === 'append';
  }

  async #entry(entry: RegistryEntry): Promise<Looked> {
    const { log, clock } = this.#host;
    try {
      return await this.#look(entry);
    } catch (error) {
      const damaged = error instanceof LedgerDamaged;
      log.error(damaged ? 'a ledger does not hold' : 'a due saga could not be looked at', {
        sagaId: entry.sagaId,
        error: error instanceof Error ? error.message : 'unknown',
      });
      // Nobody found this saga yet: were it not late, an outage of the store would look like a quiet night.
      return damaged ? { look: 'damaged' } : { look: 'left', lateMs: clock.now() - entry.dueAt };
    }
  }

  async #look(entry: RegistryEntry): Promise<Looked> {
    const { stores, clock } = this.#host;
    const id = { tenant: entry.tenant, sagaId: entry.sagaId };
    const record = await stores.ledger.head(id);
    const head = record === undefined ? undefined : this.#open(record);
    if (head?.dueAt === undefined) {
      // A start that came to nothing, or an end whose writer did not come to it.
      await stores.budgets.giveBack(id);
      await stores.registry.remove(entry);
      return { look: 'removed' };
    }
    const lateMs = clock.now() - head.dueAt;
    if (lateMs >= 0) {
      const granted = await this.grant(id, 'due');
      return granted ? { look: 'granted', lateMs } : { look: 'left' };
    }
    if (head.drive !== 'parked') return { look: 'left' };
    // Added before it is removed: at no moment is the saga in nobody's list.
    await stores.registry.add({ ...id, dueAt: head.dueAt });
    await stores.registry.remove(entry);
    return { look: 'moved' };
  }

  #open(record: LedgerRecord): SagaEvent {
    try {
      return openRecord(record);
    } catch (error) {
      if (error instanceof LedgerDamaged) this.#host.metrics?.count('DamagedLedgers');
      throw error;
    }
  }
}
