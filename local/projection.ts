import type { HeadEntry, Heads } from '../lambdas/ports/heads.ts';
import { type LedgerId, type LedgerStore, ledgerKey } from '../lambdas/ports/ledger-store.ts';
import type { Log } from '../lambdas/ports/log.ts';
import type { SagaIndex, SagaPage, SagaQuery } from '../lambdas/ports/saga-index.ts';
import { decodeCursor, encodeCursor } from '../lambdas/projection/cursor.ts';
import { byAge, matches, rowAfter, type SagaRow, summaryOf } from '../lambdas/projection/row.ts';
import { LedgerDamaged, openRecord } from '../statemachines/ledger/chain.ts';
import type { SagaEvent } from '../statemachines/rules/events.ts';

const FLUSH_MS = 50;

/**
 * The local plane's lists, kept in memory and noted in `Heads`. Derived: every row follows from the
 * ledger, and the whole can be dropped and rebuilt. It is also the anchor that shows a cut tail.
 */
export class Projection implements SagaIndex {
  readonly #heads: Heads;
  readonly #log: Log;
  readonly #rows = new Map<string, SagaRow>();
  readonly #unflushed = new Set<string>();
  #flushing: Promise<void> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(heads: Heads, log: Log) {
    this.#heads = heads;
    this.#log = log;
  }

  /**
   * Brings the rows up to the ledgers, and answers those whose ledger is shorter than what was noted:
   * their tail was cut, and nothing may be added to them.
   */
  async rebuild(
    ledgers: Iterable<LedgerId>,
    ledger: LedgerStore,
  ): Promise<{ readonly damaged: readonly LedgerId[] }> {
    const damaged: LedgerId[] = [];
    const missing = new Map<string, HeadEntry>();
    for (const entry of this.#heads.all()) {
      const row = parseRow(entry);
      // A note nobody can read is made anew from the ledger.
      if (row !== undefined) this.#rows.set(ledgerKey(entry), row);
      missing.set(ledgerKey(entry), entry);
    }
    for (const id of ledgers) {
      const key = ledgerKey(id);
      missing.delete(key);
      if (!(await this.#bringUp(id, ledger))) damaged.push(id);
    }
    for (const entry of missing.values())
      damaged.push({ tenant: entry.tenant, sagaId: entry.sagaId });
    return { damaged };
  }

  /** False where the ledger does not reach the noted head, or cannot be read from there on. */
  async #bringUp(id: LedgerId, ledger: LedgerStore): Promise<boolean> {
    const noted = this.#rows.get(ledgerKey(id));
    const head = await ledger.head(id);
    if (head === undefined) return noted === undefined;
    if (noted?.seq === head.seq) return noted.hash === head.hash;
    const [first, ...rest] = await ledger.read(id, noted === undefined ? 0 : noted.seq - 1);
    if (first === undefined) return false;
    if (noted !== undefined && first.hash !== noted.hash) return false;
    try {
      for (const record of noted === undefined ? [first, ...rest] : rest) {
        this.seen(id, openRecord(record), record.hash);
      }
      return true;
    } catch (error) {
      if (error instanceof LedgerDamaged) return false;
      throw error;
    }
  }

  /** The head noted of a saga: what its ledger must reach. */
  anchor(id: LedgerId): { readonly seq: number; readonly hash: string } | undefined {
    return this.#rows.get(ledgerKey(id));
  }

  /** One event that stands. Events of one saga come in order; a repeat changes nothing. */
  seen(id: LedgerId, event: SagaEvent, hash: string): void {
    const key = ledgerKey(id);
    const row = this.#rows.get(key);
    if (row !== undefined && row.seq >= event.seq) return;
    const next = rowAfter(row, id, event, hash);
    if (next === undefined) return;
    this.#rows.set(key, next);
    this.#unflushed.add(key);
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS);
  }

  /** Sagas that are not final, with what their clock says. */
  *unfinished(): Generator<
    LedgerId & { readonly dueAt: number; readonly drive: SagaEvent['drive'] }
  > {
    for (const row of this.#rows.values()) {
      if (row.dueAt !== undefined) {
        yield { tenant: row.tenant, sagaId: row.sagaId, dueAt: row.dueAt, drive: row.drive };
      }
    }
  }

  async list(query: SagaQuery): Promise<SagaPage> {
    const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor, query);
    const found: SagaRow[] = [];
    for (const row of this.#rows.values()) if (matches(row, query)) found.push(row);
    found.sort(byAge);
    const rest = after === undefined ? found : found.filter((row) => byAge(row, after) > 0);
    const page = rest.slice(0, query.limit);
    const last = page.at(-1);
    const more = rest.length > page.length && last !== undefined;
    return {
      sagas: page.map(summaryOf),
      ...(more ? { cursor: encodeCursor(last, query) } : {}),
    };
  }

  async head(
    tenant: string,
    sagaId: string,
  ): Promise<{ readonly seq: number; readonly hash: string } | undefined> {
    const row = this.#rows.get(ledgerKey({ tenant, sagaId }));
    return row === undefined ? undefined : { seq: row.seq, hash: row.hash };
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#flush();
    await this.#flushing;
  }

  #flush(): void {
    this.#timer = undefined;
    if (this.#unflushed.size === 0) return;
    const batch: HeadEntry[] = [];
    for (const key of this.#unflushed) {
      const row = this.#rows.get(key);
      if (row !== undefined) batch.push(entryOf(row));
    }
    this.#unflushed.clear();
    const noted = this.#heads.set(batch).catch((error: unknown) => {
      this.#log.warn('heads not noted; they are rebuilt at the next start', {
        error: error instanceof Error ? error.name : 'unknown',
      });
    });
    this.#flushing = Promise.all([this.#flushing, noted]).then(() => {});
  }
}

function entryOf(row: SagaRow): HeadEntry {
  const { tenant, sagaId, seq, hash } = row;
  return { tenant, sagaId, seq, hash, json: JSON.stringify(row) };
}

function parseRow(entry: HeadEntry): SagaRow | undefined {
  try {
    return JSON.parse(entry.json) as SagaRow;
  } catch {
    return undefined;
  }
}
