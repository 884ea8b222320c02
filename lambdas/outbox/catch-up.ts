import type { LedgerId, LedgerRecord, LedgerStore } from '../ports/ledger-store.ts';
import type { Tampering } from '../ports/saga-index.ts';
import type { NotedSaga, SagaChange, SagaProjection } from '../ports/saga-projection.ts';
import { NOTHING_NOTED } from '../projection/noted.ts';
import { tamperedEvent } from './plane-events.ts';
import type { Arrival } from './stream.ts';
import { isOther, type Published, type Walked, walk } from './walk.ts';

export interface CatchUpParts {
  readonly ledger: LedgerStore;
  readonly projection: SagaProjection;
  readonly now: number;
}

/** What is to be done for one saga: published first, and noted afterwards as far as that went. */
export interface CatchUp {
  readonly id: LedgerId;
  /** What it was worked out from. */
  readonly known: NotedSaga;
  /** In order; marks come before transitions. */
  readonly toPublish: readonly Published[];
  /** What to note once the first `count` of them are published. */
  changeAfter(count: number): SagaChange;
}

/** A record that arrived from the stream of one saga. */
export type OwnArrival = Exclude<Arrival, { readonly kind: 'foreign' }>;

/**
 * Brings one saga up to what arrived. The ledger is read only where records are wanting between what
 * is known and what arrived, so that in the ordinary course the stream is enough.
 * @throws StoreUnavailable
 */
export async function catchUp(
  parts: CatchUpParts,
  id: LedgerId,
  arrivals: readonly OwnArrival[],
): Promise<CatchUp> {
  const { ledger, projection, now } = parts;
  // Before the ledger, which only grows.
  const known = (await projection.noted(id)) ?? NOTHING_NOTED;
  const { row } = known;
  const folded = row?.seq ?? 0;
  const arrived = arrivedRecords(arrivals, now);
  const marks = [...arrived.marks];
  for (const record of arrived.records) {
    if (isOther(known, record)) marks.push({ seq: record.seq, at: now, found: 'modified' });
  }
  const fresh = arrived.records.filter(({ seq }) => seq > folded);
  const isNext = fresh.every(({ seq }, index) => seq === folded + 1 + index);
  if (isNext && known.published >= folded) {
    const walked = walk({ id, known, row, records: fresh, first: folded + 1, whole: false, now });
    return planned(id, known, walked, marks, arrived.gone);
  }
  // Begins with the last record that is done with: it says what the saga was before the next.
  const first = Math.max(1, Math.min(folded, known.published));
  const stored = await ledger.read(id, first - 1);
  const { records, marks: differences } = joined(stored, fresh, now);
  const walked = walk({ id, known, row, records, first, whole: true, now });
  return planned(id, known, walked, [...marks, ...differences], arrived.gone);
}

/**
 * Makes what is known of one saga anew from its whole ledger.
 * @param since transitions from before then (epoch milliseconds) are not published
 * @throws StoreUnavailable
 */
export async function madeAnew(
  { ledger, projection, now }: CatchUpParts,
  id: LedgerId,
  since: number,
): Promise<CatchUp> {
  const known = (await projection.noted(id)) ?? NOTHING_NOTED;
  const records = await ledger.read(id);
  const walked = walk({ id, known, row: undefined, records, first: 1, whole: true, now });
  const transitions = walked.transitions.filter(({ event }) => event.at >= since);
  const plan = planned(id, known, { ...walked, transitions }, [], []);
  return { ...plan, changeAfter: (count) => ({ ...plan.changeAfter(count), repair: true }) };
}

type Head = { readonly seq: number; readonly hash: string };

interface Arrived {
  /** By number, each once. */
  readonly records: readonly LedgerRecord[];
  readonly marks: readonly Tampering[];
  /** What stood where a record was changed or removed. */
  readonly gone: readonly Head[];
}

function arrivedRecords(arrivals: readonly OwnArrival[], now: number): Arrived {
  const records = new Map<number, LedgerRecord>();
  const marks: Tampering[] = [];
  const gone: Head[] = [];
  for (const arrival of arrivals) {
    if (arrival.kind === 'tampered') {
      marks.push(arrival.mark);
      if (arrival.hash !== undefined) gone.push({ seq: arrival.mark.seq, hash: arrival.hash });
      continue;
    }
    const { record } = arrival;
    const standing = records.get(record.seq);
    if (standing === undefined) records.set(record.seq, record);
    else if (standing.hash !== record.hash) {
      marks.push({ seq: record.seq, at: now, found: 'modified' });
    }
  }
  return { records: sorted(records), marks, gone };
}

/** What the ledger holds, and what arrived but is not in it any more, or differently. */
function joined(
  stored: readonly LedgerRecord[],
  fresh: readonly LedgerRecord[],
  now: number,
): { readonly records: readonly LedgerRecord[]; readonly marks: readonly Tampering[] } {
  const records = new Map(stored.map((record) => [record.seq, record]));
  const marks: Tampering[] = [];
  for (const record of fresh) {
    const { seq } = record;
    const standing = records.get(seq);
    if (standing?.hash !== record.hash) {
      marks.push({ seq, at: now, found: standing === undefined ? 'missing' : 'modified' });
    }
    records.set(seq, record);
  }
  return { records: sorted(records), marks };
}

function sorted(records: ReadonlyMap<number, LedgerRecord>): LedgerRecord[] {
  return [...records.values()].sort((a, b) => a.seq - b.seq);
}

function planned(
  id: LedgerId,
  known: NotedSaga,
  walked: Walked,
  found: readonly Tampering[],
  gone: readonly Head[],
): CatchUp {
  const row = walked.row ?? known.row;
  const marks = newMarks(known, [...found, ...walked.marks]);
  const published = marks.map((mark) => ({ seq: mark.seq, event: tamperedEvent(id, mark, row) }));
  const heads = walked.head === undefined ? gone : [walked.head, ...gone];
  const head = heads.toSorted((a, b) => b.seq - a.seq)[0];
  return {
    id,
    known,
    toPublish: [...published, ...walked.transitions],
    changeAfter(count) {
      const next = walked.transitions[Math.max(0, count - marks.length)];
      const upTo = next === undefined ? walked.head?.seq : next.seq - 1;
      return {
        ...(walked.row === undefined ? {} : { row: walked.row }),
        ...(head === undefined ? {} : { head }),
        ...(upTo === undefined ? {} : { published: upTo }),
        tampered: marks.slice(0, count),
      };
    },
  };
}

/** One for each record that none is known of. */
function newMarks({ tampered }: NotedSaga, found: readonly Tampering[]): Tampering[] {
  const marks = new Map<number, Tampering>();
  for (const mark of found) if (!marks.has(mark.seq)) marks.set(mark.seq, mark);
  for (const { seq } of tampered) marks.delete(seq);
  return [...marks.values()].sort((a, b) => a.seq - b.seq);
}
