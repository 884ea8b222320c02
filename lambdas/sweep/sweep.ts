import { LedgerDamaged, openRecord } from '../../statemachines/ledger/chain.ts';
import type { LedgerId } from '../ports/ledger-store.ts';
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
}

type Look = 'left' | 'granted' | 'moved' | 'removed' | 'damaged';

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

  /** One pass over all entries due by now. @throws StoreUnavailable where the registry cannot be read */
  async run(): Promise<SweepReport> {
    const { stores, clock } = this.#host;
    const until = clock.now();
    const counts = { left: 0, granted: 0, moved: 0, removed: 0, damaged: 0 };
    const damaged: LedgerId[] = [];
    let cursor: string | undefined;
    do {
      const page = await stores.registry.due(until, PAGE, cursor);
      cursor = page.cursor;
      for (let at = 0; at < page.entries.length; at += SIDE_BY_SIDE) {
        const group = page.entries.slice(at, at + SIDE_BY_SIDE);
        const looks = await Promise.all(group.map((entry) => this.#entry(entry)));
        for (const [index, look] of looks.entries()) {
          counts[look] += 1;
          const entry = group[index];
          if (look === 'damaged' && entry !== undefined) damaged.push(entry);
        }
      }
    } while (cursor !== undefined);
    const { granted, moved, removed } = counts;
    const seen = counts.left + granted + moved + removed + counts.damaged;
    return { seen, granted, moved, removed, damaged };
  }

  /** Grants the next drive if the saga is due (or, after a restart, if a dead drive held it). */
  async grant(id: LedgerId, reason: 'due' | 'restart'): Promise<boolean> {
    const { verdict } = await this.#ledger.write(id, { kind: 'grant', reason }, { actor: 'sweep' });
    return verdict.kind === 'append';
  }

  async #entry(entry: RegistryEntry): Promise<Look> {
    const { log } = this.#host;
    try {
      return await this.#look(entry);
    } catch (error) {
      const damaged = error instanceof LedgerDamaged;
      log.error(damaged ? 'a ledger does not hold' : 'a due saga could not be looked at', {
        sagaId: entry.sagaId,
        error: error instanceof Error ? error.message : 'unknown',
      });
      return damaged ? 'damaged' : 'left';
    }
  }

  async #look(entry: RegistryEntry): Promise<Look> {
    const { stores, clock } = this.#host;
    const id = { tenant: entry.tenant, sagaId: entry.sagaId };
    const record = await stores.ledger.head(id);
    const head = record === undefined ? undefined : openRecord(record);
    if (head?.dueAt === undefined) {
      await stores.registry.remove(entry);
      return 'removed';
    }
    if (clock.now() >= head.dueAt) return (await this.grant(id, 'due')) ? 'granted' : 'left';
    if (head.drive !== 'parked') return 'left';
    // Added before it is removed: at no moment is the saga in nobody's list.
    await stores.registry.add({ ...id, dueAt: head.dueAt });
    await stores.registry.remove(entry);
    return 'moved';
  }
}
