import type { HeadEntry, Heads } from '../../ports/heads.ts';
import { ledgerKey, parseLedgerKey } from '../checks.ts';
import { checkedHead, movesOn } from '../head-rule.ts';
import { nameKey } from './keys.ts';
import { durable, type OpenTable, type Table } from './table.ts';

export interface EmbeddedHeads extends Heads {
  /** Resolves when nothing is left to write. */
  settled(): Promise<void>;
}

interface Batch {
  readonly entries: Map<string, HeadEntry>;
  readonly written: Promise<void>;
}

/**
 * One transaction is under way at a time; what is set meanwhile gathers for the next, so a saga
 * that moves ten times during one sync is written once.
 */
export function embeddedHeads(open: OpenTable): EmbeddedHeads {
  let gathering: Batch | undefined;
  let writing: ReadonlyMap<string, HeadEntry> = new Map();
  let last: Promise<void> = Promise.resolve();

  const noted = (name: string): HeadEntry | undefined => {
    const pending = gathering?.entries.get(name) ?? writing.get(name);
    if (pending !== undefined) return pending;
    const value = open.now().get(nameKey(name));
    return value === undefined ? undefined : decoded(name, value);
  };

  const write = async (table: Table, entries: ReadonlyMap<string, HeadEntry>): Promise<void> => {
    if (gathering?.entries === entries) gathering = undefined;
    if (entries.size === 0) return;
    writing = entries;
    try {
      await durable(
        table.batch(() => {
          for (const [name, entry] of entries) table.put(nameKey(name), encoded(entry));
        }),
      );
    } finally {
      writing = new Map();
    }
  };

  const gather = (table: Table): Batch => {
    const entries = new Map<string, HeadEntry>();
    const written = last.then(() => write(table, entries));
    // A failure is told to those who set the entries; the next batch starts regardless.
    last = written.catch(() => undefined);
    return { entries, written };
  };

  return {
    async set(batch) {
      const table = open.now();
      const fresh = batch.map((entry) => [ledgerKey(entry), checkedHead(entry)] as const);
      gathering ??= gather(table);
      for (const [name, entry] of fresh) {
        if (movesOn(noted(name), entry)) gathering.entries.set(name, entry);
      }
      return gathering.written;
    },

    get: (ledger) => noted(ledgerKey(ledger)),

    *all() {
      const pending = new Map([...writing, ...(gathering?.entries ?? [])]);
      const names = [...pending.keys()].sort((a, b) => Buffer.compare(nameKey(a), nameKey(b)));
      const table = open.now();
      for (const { key, value } of table.getRange({})) {
        const name = key.toString('utf8');
        while (names[0] !== undefined && Buffer.compare(nameKey(names[0]), key) < 0) {
          yield* take(pending, names.shift());
        }
        if (names[0] === name) yield* take(pending, names.shift());
        else yield decoded(name, value);
      }
      while (names.length > 0) yield* take(pending, names.shift());
    },

    async clear() {
      const table = open.now();
      gathering?.entries.clear();
      gathering = undefined;
      const cleared = last.then(() => durable(table.clearAsync()));
      last = cleared.catch(() => undefined);
      return cleared;
    },

    settled: () => last,
  };
}

function* take(
  entries: ReadonlyMap<string, HeadEntry>,
  name: string | undefined,
): Generator<HeadEntry> {
  const entry = name === undefined ? undefined : entries.get(name);
  if (entry !== undefined) yield entry;
}

function encoded(entry: HeadEntry): string {
  return `${JSON.stringify([entry.seq, entry.hash])}\n${entry.json}`;
}

function decoded(name: string, value: string): HeadEntry {
  const lineEnd = value.indexOf('\n');
  const [seq, hash] = JSON.parse(value.slice(0, lineEnd)) as [number, string];
  return { ...parseLedgerKey(name), seq, hash, json: value.slice(lineEnd + 1) };
}
