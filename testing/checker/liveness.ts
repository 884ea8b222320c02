import { eventsIn, FINAL, type LedgerName, SKEW_MS, type StoredRecord } from './records.ts';

/** Within this time of its due time every saga is looked at. */
export const FOUND_WITHIN_MS = 120_000;

export interface LivenessFacts {
  /** True time of the look (epoch milliseconds). */
  readonly now: number;
  /** What the registry holds. */
  readonly registry: readonly (LedgerName & { readonly dueAt: number })[];
  /** Times at which the plane could not work: stores out, nobody sweeping. */
  readonly disturbed: readonly { readonly from: number; readonly to: number }[];
}

/** Invariant 12: a saga that cannot move on is found in time, and some entry leads to it. */
export function liveness(
  ledger: LedgerName,
  records: readonly StoredRecord[],
  facts: LivenessFacts,
): string[] {
  const found: string[] = [];
  const events = eventsIn(records);
  for (const [index, event] of events.entries()) {
    if (event.dueAt === undefined) continue;
    const until = events[index + 1]?.at ?? facts.now;
    const lateMs = until - event.dueAt;
    if (lateMs <= FOUND_WITHIN_MS + SKEW_MS) continue;
    const excuse = facts.disturbed.some(
      ({ from, to }) => from < until && to + FOUND_WITHIN_MS > Number(event.dueAt),
    );
    if (!excuse) found.push(`12: due after event ${event.seq}, and found ${lateMs} ms later`);
  }
  const last = events.at(-1);
  if (last === undefined || FINAL.includes(last.state)) return found;
  const known = facts.registry.some(
    (entry) => entry.tenant === ledger.tenant && entry.sagaId === ledger.sagaId,
  );
  if (!known) found.push(`12: ${last.state} without an entry in the registry`);
  return found;
}
