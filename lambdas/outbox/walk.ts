import { genesisHash, LedgerDamaged, openRecord } from '../../statemachines/ledger/chain.ts';
import { sha256Hex } from '../../statemachines/ledger/hash.ts';
import type { SagaEvent, SagaStatus } from '../../statemachines/rules/events.ts';
import type { LedgerId, LedgerRecord } from '../ports/ledger-store.ts';
import type { Tampering } from '../ports/saga-index.ts';
import type { NotedSaga } from '../ports/saga-projection.ts';
import { rowAfter, type SagaRow } from '../projection/row.ts';
import { type PlaneEvent, sagaEvent } from './plane-events.ts';
import { transitionOf } from './transitions.ts';

export interface Walk {
  readonly id: LedgerId;
  readonly known: NotedSaga;
  /** What the records are added to; absent to make the row anew from event 1. */
  readonly row: SagaRow | undefined;
  /** In order; numbers may be missing. */
  readonly records: readonly LedgerRecord[];
  /** Number that the first record should have. */
  readonly first: number;
  /** The records reach the ledger's end, as it was read after what is known. */
  readonly whole: boolean;
  readonly now: number;
}

export interface Walked {
  readonly row: SagaRow | undefined;
  /** The last record that holds; `undefined` where there is none. */
  readonly head: { readonly seq: number; readonly hash: string } | undefined;
  /** Behind what is known to be published, by number. */
  readonly transitions: readonly Published[];
  readonly marks: readonly Tampering[];
}

export interface Published {
  readonly seq: number;
  readonly event: PlaneEvent;
}

interface Step {
  readonly seq: number;
  readonly hash: string;
  readonly state: SagaStatus;
}

/**
 * Goes through records of one ledger: makes the row and the events, and finds what was tampered with.
 * It goes on behind a record that is gone, and ends before one that does not hold: what was noted
 * before stays noted.
 */
export function walk({ id, known, row: begun, records, first, whole, now }: Walk): Walked {
  const transitions: Published[] = [];
  const marks: Tampering[] = [];
  let row = begun;
  let last: Step | undefined;
  let held = true;
  for (const record of records) {
    const { seq, hash } = record;
    const expected = last === undefined ? first : last.seq + 1;
    if (seq > expected) marks.push({ seq: expected, at: now, found: 'missing' });
    const before = last ?? begun;
    const event = eventIn(record, prevOf(id, seq, before));
    if (event === undefined || isOther(known, record)) {
      marks.push({ seq, at: now, found: event === undefined ? 'broken' : 'modified' });
      held = false;
      break;
    }
    last = { seq, hash, state: event.state };
    if (seq > (row?.seq ?? 0)) row = rowAfter(row, id, event, hash);
    if (seq <= known.published || row === undefined) continue;
    const publication = transitionOf(before?.state, event);
    if (publication !== undefined) {
      transitions.push({ seq, event: sagaEvent(row, event, publication) });
    }
  }
  const end = last?.seq ?? first - 1;
  if (whole && held && known.head.seq > end) {
    marks.push({ seq: end + 1, at: now, found: 'missing' });
  }
  return {
    row,
    head: last === undefined ? undefined : { seq: last.seq, hash: last.hash },
    transitions,
    marks,
  };
}

/** Hash of the record before, where that one was seen. */
function prevOf(
  id: LedgerId,
  seq: number,
  before: { readonly seq: number; readonly hash: string } | undefined,
): string | undefined {
  if (seq === 1) return genesisHash(id.tenant, id.sagaId);
  return before?.seq === seq - 1 ? before.hash : undefined;
}

/** Nothing where the record cannot be what was written. */
function eventIn(record: LedgerRecord, prev: string | undefined): SagaEvent | undefined {
  if (prev !== undefined && record.prev !== prev) return undefined;
  if (sha256Hex(record.prev, record.body) !== record.hash) return undefined;
  try {
    return openRecord(record);
  } catch (error) {
    if (error instanceof LedgerDamaged) return undefined;
    throw error;
  }
}

/** Whole in itself, but not the record that was noted under its number. */
export function isOther({ head, row }: NotedSaga, { seq, hash }: LedgerRecord): boolean {
  return [head, row].some(
    (noted) => noted?.seq === seq && noted.hash !== undefined && noted.hash !== hash,
  );
}
