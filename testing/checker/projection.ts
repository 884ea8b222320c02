import {
  canonical,
  type Event,
  eventsIn,
  FINAL,
  type LedgerName,
  type StoredRecord,
} from './records.ts';

const TAMPERED = 'counterstep.ledger.tampered';

/** What a projection says of one saga. */
export interface ProjectedRow {
  readonly tenant: string;
  readonly sagaId: string;
  readonly name: string;
  readonly version: string;
  readonly seq: number;
  readonly hash: string;
  readonly state: string;
  readonly review?: string;
}

/** An event as the bus took it. */
export interface PublishedEvent {
  readonly type: string;
  readonly detail: {
    readonly id: string;
    readonly tenant: string;
    readonly sagaId: string;
    readonly seq: number;
    readonly at: string;
    readonly [member: string]: unknown;
  };
}

/** One saga, and what was made from its ledger. */
export interface ProjectedSaga {
  readonly id: LedgerName;
  readonly records: readonly StoredRecord[];
  /** Absent: the projection does not know the saga. */
  readonly row?: ProjectedRow;
  /** All that was published under its name, repeats included, in the order in which it was taken. */
  readonly events: readonly PublishedEvent[];
  /** The highest number of a record that was handed over for good: all up to it MUST be known by now. */
  readonly upTo: number;
}

/**
 * Every way in which a saga's row and its published events say other than its ledger, or less than was
 * handed over. The ledger itself is presumed to hold.
 */
export function checkProjection(saga: ProjectedSaga): string[] {
  const found: string[] = [];
  const events = eventsIn(saga.records);
  row(saga, events, found);
  published(saga, events, found);
  return found;
}

/** Invariant 8 for what was made from ledgers: nothing of it is of a saga that has none. */
export function checkStrays(
  ledgers: readonly LedgerName[],
  rows: readonly ProjectedRow[],
  events: readonly PublishedEvent[],
): string[] {
  const known = new Set(ledgers.map(nameOf));
  return [
    ...rows
      .filter((each) => !known.has(nameOf(each)))
      .map((each) => `8: a row of ${nameOf(each)}, which has no ledger`),
    ...events
      .filter(({ detail }) => !known.has(nameOf(detail)))
      .map(({ detail }) => `8: ${detail.id} was published of ${nameOf(detail)}, without a ledger`),
  ];
}

function row(
  { id, records, row: told, upTo }: ProjectedSaga,
  events: readonly Event[],
  found: string[],
): void {
  if (told === undefined) {
    if (upTo > 0) found.push(`14: there is no row, and all up to ${upTo} should be known`);
    return;
  }
  const { seq } = told;
  if (nameOf(told) !== nameOf(id)) found.push(`8: the row is of ${nameOf(told)}`);
  if (seq < upTo) found.push(`14: the row is at ${seq}, and all up to ${upTo} should be known`);
  const event = events[seq - 1];
  if (event === undefined) {
    found.push(`14: the row is at ${seq}, which the ledger does not hold`);
    return;
  }
  const review = event.state === 'needs_review' ? openReview(events, seq) : undefined;
  agree(`the row at ${seq}`, told, { ...head(events), state: event.state, review }, found);
  if (told.hash !== records[seq - 1]?.hash) found.push(`14: the row at ${seq} has another hash`);
}

function published(
  { id, events: taken, upTo }: ProjectedSaga,
  events: readonly Event[],
  found: string[],
): void {
  const first = new Map<number, string>();
  let last = 0;
  for (const { type, detail } of taken) {
    const { seq } = detail;
    if (type === TAMPERED) {
      found.push(`11: record ${seq} was published as tampered with, and the ledger holds`);
      continue;
    }
    if (detail.id !== `${nameOf(id)}/${seq}`)
      found.push(`14: event ${seq} was published as ${detail.id}, which is not its place`);
    const text = canonical({ type, detail });
    const before = first.get(seq);
    if (before !== undefined) {
      if (before !== text) found.push(`14: event ${seq} was published with two contents`);
      continue;
    }
    first.set(seq, text);
    if (seq < last) found.push(`14: event ${seq} was first published behind event ${last}`);
    last = Math.max(last, seq);
    held(type, detail, events, found);
  }
  for (const event of events) {
    const transition = transitionOf(event, events[event.seq - 2]);
    if (transition === undefined || event.seq > upTo || first.has(event.seq)) continue;
    found.push(`14: ${transition} ${event.seq} was never published`);
  }
}

/** Whether the ledger holds what was published. */
function held(
  type: string,
  detail: PublishedEvent['detail'],
  events: readonly Event[],
  found: string[],
): void {
  const { seq } = detail;
  const event = events[seq - 1];
  const transition = event === undefined ? undefined : transitionOf(event, events[seq - 2]);
  if (event === undefined || type !== `counterstep.saga.${transition ?? ''}`) {
    found.push(`14: ${type} ${seq} was published, which the ledger does not hold`);
    return;
  }
  const { state } = event;
  const review = event.type === 'review_opened' ? event.review : undefined;
  const at = new Date(event.at).toISOString();
  agree(`event ${seq}`, detail, { ...head(events), state, at, review }, found);
}

/** What is told to those outside; the design's states, and the questions to people. */
function transitionOf(event: Event, before: Event | undefined): string | undefined {
  if (event.type === 'saga_started') return 'started';
  if (event.type === 'review_opened') return 'needs_review';
  const told = event.state === 'compensating' || FINAL.includes(event.state);
  return told && event.state !== before?.state ? event.state : undefined;
}

function openReview(events: readonly Event[], seq: number): unknown {
  return events.slice(0, seq).findLast((event) => event.type === 'review_opened')?.review;
}

function head(events: readonly Event[]): Readonly<Record<string, unknown>> {
  return { name: events[0]?.name, version: events[0]?.version };
}

function agree(
  what: string,
  told: object,
  holds: Readonly<Record<string, unknown>>,
  found: string[],
): void {
  const members: Readonly<Record<string, unknown>> = { ...told };
  for (const [name, value] of Object.entries(holds)) {
    if (members[name] === value) continue;
    found.push(
      `14: ${what} says ${name} ${String(members[name])}, and the ledger ${String(value)}`,
    );
  }
}

function nameOf({ tenant, sagaId }: LedgerName): string {
  return `${tenant}/${sagaId}`;
}
