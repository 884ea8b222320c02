import type { Clock } from '../ports/clock.ts';
import type { LedgerScan } from '../ports/ledger-scan.ts';
import { type LedgerId, StoreUnavailable } from '../ports/ledger-store.ts';
import type { Log } from '../ports/log.ts';
import type { Outbox } from './outbox.ts';

export interface RebuildParts {
  readonly scan: LedgerScan;
  readonly outbox: Pick<Outbox, 'rebuild'>;
  readonly progress: RebuildProgress;
  /** Where the outbox has a bus: transitions from before then (epoch milliseconds) count as published. */
  readonly publishSince?: number;
  readonly clock: Pick<Clock, 'sleep'>;
  readonly log: Log;
}

/** Where a rebuild keeps how far it came, so that another may go on. Provided by a file, or memory. */
export interface RebuildProgress {
  load(): Promise<Progress | undefined>;
  save(progress: Progress): Promise<void>;
}

/** One place for each segment of the scan. */
export interface Progress {
  readonly segments: readonly SegmentProgress[];
  /** On the pages behind: whoever goes on reports these too. Absent: none. */
  readonly tampered?: readonly LedgerId[];
  readonly failed?: readonly LedgerId[];
}

export type SegmentProgress =
  | { readonly kind: 'todo'; readonly cursor?: string }
  | { readonly kind: 'done' };

export interface RebuildReport {
  readonly sagas: number;
  /** Ledgers with records that were found tampered with for the first time. */
  readonly tampered: readonly LedgerId[];
  /** Ledgers that could not be read into the projection; each was logged. */
  readonly failed: readonly LedgerId[];
}

/** Sagas of one page worked on at once. */
const SIDE_BY_SIDE = 8;
/** A store that does not answer is asked again so often, with growing pauses of up to 10 s. */
const MAX_TRIES = 8;
const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 10_000;

/**
 * Makes the projection anew from the ledgers, beside live traffic: what is noted never moves back, so
 * it does not matter who is first. Whoever repeats it after a break goes on from the last page.
 * @param segments parts of the scan gone through at once; when going on, as many as before
 * @throws StoreUnavailable where the store does not answer for long
 */
export async function rebuild(parts: RebuildParts, segments: number): Promise<RebuildReport> {
  const { scan, progress } = parts;
  const begun = await progress.load();
  const places: SegmentProgress[] = [
    ...(begun?.segments ?? Array.from({ length: segments }, () => ({ kind: 'todo' }) as const)),
  ];
  let sagas = 0;
  const tampered = [...(begun?.tampered ?? [])];
  const failed = [...(begun?.failed ?? [])];
  // One after the other: a later place never overwrites the file before an earlier one.
  let saving = Promise.resolve();
  const arrive = (index: number, place: SegmentProgress): Promise<void> => {
    places[index] = place;
    saving = saving.then(() =>
      progress.save({ segments: [...places], tampered: [...tampered], failed: [...failed] }),
    );
    return saving;
  };

  const runSegment = async (index: number): Promise<void> => {
    const segment = { index, of: places.length };
    for (let place = places[index]; place?.kind === 'todo'; place = places[index]) {
      const { cursor } = place;
      const page = await insist(parts, () => scan.page(segment, cursor));
      const outcomes = new Map<LedgerId, number | 'failed'>();
      for (let at = 0; at < page.ledgers.length; at += SIDE_BY_SIDE) {
        const group = page.ledgers.slice(at, at + SIDE_BY_SIDE);
        await Promise.all(
          group.map(async (id) => {
            outcomes.set(id, await rebuiltOne(parts, id));
          }),
        );
        sagas += group.length;
      }
      // Only with the page: what is gone through again is told anew.
      for (const [id, outcome] of outcomes) {
        if (outcome === 'failed') failed.push(id);
        else if (outcome > 0) tampered.push(id);
      }
      await arrive(
        index,
        page.cursor === undefined ? { kind: 'done' } : { kind: 'todo', cursor: page.cursor },
      );
    }
  };
  await Promise.all(places.map((_, index) => runSegment(index)));
  return { sagas, tampered, failed };
}

/** One saga that cannot be handled does not end the rebuild of all others. */
async function rebuiltOne(parts: RebuildParts, id: LedgerId): Promise<number | 'failed'> {
  try {
    return await insist(parts, () => parts.outbox.rebuild(id, parts.publishSince));
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    parts.log.error('a saga could not be brought into the projection', {
      ...id,
      error: error instanceof Error ? error.name : 'unknown',
      reason: error instanceof Error ? error.message : '',
    });
    return 'failed';
  }
}

async function insist<T>({ clock }: RebuildParts, work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || tries === MAX_TRIES) throw error;
      await clock.sleep(Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** tries));
    }
  }
}
