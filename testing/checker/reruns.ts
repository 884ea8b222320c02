import { keptSteps } from './endings.ts';
import { canonical, type Event, eventsIn, type LedgerName, type StoredRecord } from './records.ts';

interface Adopted {
  readonly step: string;
  readonly seq: number;
  readonly hash: string;
  readonly result: unknown;
}

interface Ledger {
  readonly id: LedgerName;
  readonly records: readonly StoredRecord[];
}

/**
 * Sagas that were run again, over many ledgers: the work of one is gone on with by at most one other of
 * its tenant, which takes over what the checkpoint kept, no more and no less, as it stands on record.
 */
export function checkReruns(ledgers: readonly Ledger[]): string[] {
  const found: string[] = [];
  const byName = new Map(ledgers.map((ledger) => [nameOf(ledger.id), ledger]));
  const successors = new Map<string, string>();
  for (const { id, records } of ledgers) {
    const [start] = eventsIn(records);
    if (typeof start?.previous !== 'string') continue;
    const own = nameOf(id);
    const before = nameOf({ tenant: id.tenant, sagaId: start.previous });
    const other = successors.get(before);
    if (other !== undefined) found.push(`4: ${other} and ${own} both go on with ${before}`);
    successors.set(before, own);
    const origin = byName.get(before);
    if (origin === undefined) found.push(`8: ${own} goes on with ${before}, which has no ledger`);
    else goesOn(own, start, origin, found);
  }
  return found;
}

function goesOn(own: string, start: Event, origin: Ledger, found: string[]): void {
  const events = eventsIn(origin.records);
  const end = events.find((event) => event.state === 'compensated');
  if (end === undefined) {
    found.push(`1: ${own} goes on with ${nameOf(origin.id)}, which is not compensated`);
    return;
  }
  const claim = events.find(
    (event) => event.type === 'rerun_claimed' && event.saga === start.sagaId,
  );
  if (claim === undefined) found.push(`9: ${own} goes on with work that it never claimed`);
  const first = events[0];
  if (first?.name !== start.name)
    found.push(`8: ${own} is another kind of saga than the one before`);
  const kept = keptSteps(events, end);
  const adopted = (start.adopted ?? []) as readonly Adopted[];
  for (const name of kept)
    if (!adopted.some(({ step }) => step === name))
      found.push(`4: ${own} does ${name} again, which the checkpoint kept`);
  for (const { step, seq, hash, result } of adopted) {
    if (!kept.has(step)) found.push(`2: ${own} adopts ${step}, which the checkpoint did not keep`);
    const commit = events[seq - 1];
    const record = origin.records[seq - 1];
    if (record?.hash !== hash) found.push(`11: ${own} adopts ${step} by a hash that no record has`);
    if (commit?.step !== step && !isAdopted(first, step, seq))
      found.push(`5: ${own} adopts ${step} from event ${seq}, which says nothing of it`);
    const [now, then] = [inline(result), inline(commit?.result)];
    if (now !== undefined && then !== undefined && canonical(now) !== canonical(then))
      found.push(`6: ${own} adopts another result of ${step} than was recorded`);
  }
}

/** Kept once more: its commit stands in a ledger further back, and event 1 of this one names it. */
function isAdopted(start: Event | undefined, step: string, seq: number): boolean {
  const adopted = (start?.adopted ?? []) as readonly Adopted[];
  return seq === 1 && adopted.some((each) => each.step === step);
}

function inline(stored: unknown): unknown {
  const { kind, value } = (stored ?? {}) as { readonly kind?: unknown; readonly value?: unknown };
  return kind === 'inline' ? value : undefined;
}

function nameOf(id: LedgerName): string {
  return `${id.tenant}/${id.sagaId}`;
}
