import type { NotedHead, SagaSummary, Tampering } from '../ports/saga-index.ts';
import type { NotedSaga, SagaChange } from '../ports/saga-projection.ts';
import { type SagaRow, summaryOf } from './row.ts';

/** Nothing is known of the saga yet. */
export const NOTHING_NOTED: NotedSaga = { head: { seq: 0 }, published: 0, tampered: [] };

/**
 * What is noted after a change: head and row never move back or sideways, `published` only rises,
 * and no mark is taken away. Changes therefore end the same in any order and however often.
 */
export function noted(before: NotedSaga, change: SagaChange): NotedSaga {
  const row = laterRow(before.row, change.row);
  const heads = [before.head, change.head, row].filter((head) => head !== undefined);
  const head = heads.reduce((a, b) => (laterHead(a, b) ? b : a));
  return {
    head: { seq: head.seq, ...(head.hash === undefined ? {} : { hash: head.hash }) },
    ...(row === undefined ? {} : { row }),
    published: Math.max(before.published, change.published ?? 0),
    tampered: joined(before.tampered, change.tampered ?? []),
  };
}

function laterRow(before: SagaRow | undefined, given: SagaRow | undefined): SagaRow | undefined {
  if (before === undefined || given === undefined) return given ?? before;
  if (given.seq > before.seq) return given;
  // Made anew of the same record, by code that may know better.
  return given.seq === before.seq && given.hash === before.hash ? given : before;
}

function laterHead(before: NotedSaga['head'], given: NotedSaga['head']): boolean {
  if (given.seq !== before.seq) return given.seq > before.seq;
  return before.hash === undefined && given.hash !== undefined;
}

/** One mark for each record: the earliest, and of one moment the first kind by name. */
function joined(before: readonly Tampering[], given: readonly Tampering[]): Tampering[] {
  const marks = new Map<number, Tampering>();
  for (const mark of [...before, ...given]) {
    const standing = marks.get(mark.seq);
    if (standing === undefined || earlier(mark, standing)) marks.set(mark.seq, mark);
  }
  return [...marks.values()].sort((a, b) => a.seq - b.seq);
}

function earlier(a: Tampering, b: Tampering): boolean {
  return a.at < b.at || (a.at === b.at && a.found < b.found);
}

/** As the index answers it. */
export function headOf({ head, tampered }: NotedSaga): NotedHead | undefined {
  const first = tampered[0];
  // A record that was tampered with stood once.
  const seq = Math.max(head.seq, tampered.at(-1)?.seq ?? 0);
  if (seq === 0) return undefined;
  const hash = seq === head.seq ? head.hash : undefined;
  return {
    seq,
    ...(hash === undefined ? {} : { hash }),
    ...(first === undefined ? {} : { tampered: first }),
  };
}

export function summaryWithMark(row: SagaRow, { tampered }: NotedSaga): SagaSummary {
  const first = tampered[0];
  return { ...summaryOf(row), ...(first === undefined ? {} : { tampered: first }) };
}
