import type { Database } from 'lmdb';
import { StoreUnavailable } from '../../ports/ledger-store.ts';

/** Text values under binary keys, ordered byte by byte. */
export type Table = Database<string, Buffer>;

/** Encoding of every table: plain UTF-8 needs no unpacking, and keys order as `keys.ts` writes them. */
export const TABLE_FORMAT = { encoding: 'string', keyEncoding: 'binary' } as const;

/** A table while the data folder is open; both throw once it was closed. */
export interface OpenTable {
  /** For reading at once. */
  now(): Table;
  /** For writing: closing the folder waits until `use` is through. */
  during<T>(use: (table: Table) => Promise<T>): Promise<T>;
}

/**
 * Waits until a write is on disk. With `overlappingSync` off, lmdb commits in the classic order
 * (data pages, sync, meta page) and resolves after it; readers never see what a power cut could
 * still take away.
 * @throws StoreUnavailable where the disk refused: whether the write stands is unknown
 */
export async function durable<T>(write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    watchCommitError(error);
    throw new StoreUnavailable(
      'the data folder did not take the write: check free space and the disk, then try again',
      { cause: error },
    );
  }
}

/** lmdb tells the reason of a failed commit by a second promise; left alone it would end the process. */
function watchCommitError(error: unknown): void {
  if (!(error instanceof Error) || !('commitError' in error)) return;
  Promise.resolve(error.commitError).catch((reason: unknown) => {
    error.cause = reason;
  });
}
