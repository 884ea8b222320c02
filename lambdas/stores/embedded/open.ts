import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { open } from 'lmdb';
import { type Entropy, systemEntropy } from '../../ports/entropy.ts';
import type { Heads } from '../../ports/heads.ts';
import type { Stores } from '../../ports/stores.ts';
import { embeddedBreakers } from './breakers.ts';
import { embeddedBudgets } from './budgets.ts';
import { lockFolder } from './folder-lock.ts';
import { type EmbeddedHeads, embeddedHeads } from './heads.ts';
import { type EmbeddedLedger, embeddedLedger } from './ledger.ts';
import { embeddedPayloads } from './payloads.ts';
import { embeddedRegistry } from './registry.ts';
import { type OpenTable, TABLE_FORMAT, type Table } from './table.ts';

export interface EmbeddedOptions {
  /** The data folder; made where it is missing. */
  readonly path: string;
  readonly entropy?: Entropy;
}

export interface EmbeddedStores extends Stores {
  readonly ledger: EmbeddedLedger;
  /** The heads kept in this folder, in a database file of their own. One instance however often asked. */
  openHeads(): Heads;
  /** Finishes what was begun and frees the folder. Later calls on the stores throw. */
  close(): Promise<void>;
}

/**
 * - `overlappingSync` off: classic commits. A promise resolves after the sync, and nothing is read
 *   before it.
 * - `eventTurnBatching` off: it opens each batch by a promise of its own that nobody can catch, and
 *   a full disk would end the process. Batches form without it.
 */
const ENVIRONMENT = { noSubdir: false, overlappingSync: false, eventTurnBatching: false } as const;

/**
 * Opens the stores in a folder on local disk, for one process at a time.
 * @throws FolderHeld where another process (or another opening in this one) works in that folder
 */
export async function openEmbeddedStores(options: EmbeddedOptions): Promise<EmbeddedStores> {
  const entropy = options.entropy ?? systemEntropy;
  const path = resolve(options.path);
  mkdirSync(path, { recursive: true });
  const lock = await lockFolder(path, entropy);
  const root = open({ ...ENVIRONMENT, path, maxDbs: 8 });

  let closing: Promise<void> | undefined;
  const inFlight = new Set<Promise<unknown>>();
  const assertOpen = (): void => {
    if (closing !== undefined) {
      throw new Error(`the stores in ${path} were closed: open them again`);
    }
  };
  const whileOpen = (table: Table): OpenTable => {
    const now = (): Table => {
      assertOpen();
      return table;
    };
    const during = async <T>(use: (table: Table) => Promise<T>): Promise<T> => {
      const operation = use(now());
      inFlight.add(operation);
      try {
        return await operation;
      } finally {
        inFlight.delete(operation);
      }
    };
    return { now, during };
  };
  const table = (name: string): OpenTable =>
    whileOpen(root.openDB<string, Buffer>({ name, ...TABLE_FORMAT }));

  let heads: { readonly store: EmbeddedHeads; close(): Promise<void> } | undefined;
  const openHeads = (): Heads => {
    assertOpen();
    if (heads === undefined) {
      const file = open<string, Buffer>({
        ...ENVIRONMENT,
        ...TABLE_FORMAT,
        path: join(path, 'heads'),
      });
      heads = { store: embeddedHeads(whileOpen(file)), close: () => file.close() };
    }
    return heads.store;
  };

  const close = async (): Promise<void> => {
    await Promise.allSettled(inFlight);
    await heads?.store.settled();
    await heads?.close();
    await root.close();
    await lock.release();
  };

  return {
    ledger: embeddedLedger(table('ledger')),
    payloads: embeddedPayloads(table('payloads'), entropy),
    registry: embeddedRegistry(table('registry')),
    budgets: embeddedBudgets(table('budgets')),
    breakers: embeddedBreakers(table('breakers')),
    openHeads,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}
