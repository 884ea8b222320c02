import { type Event, FINAL } from './records.ts';

const AFTER_THE_END = [
  'late_evidence',
  'review_decided',
  'payloads_erased',
  'suggestion_recorded',
  'rerun_claimed',
];

/** What every event says of the saga after it: invariants 1, 7 and 12. */
export function heads(events: readonly Event[], found: string[]): void {
  let before: Event | undefined;
  for (const event of events) {
    const { seq } = event;
    const final = FINAL.includes(event.state);
    if (final === (event.dueAt !== undefined)) {
      found.push(`12: event ${seq} is ${event.state} ${final ? 'with' : 'without'} a due time`);
    }
    if (before === undefined) {
      if (event.epoch !== 1 || event.type !== 'saga_started')
        found.push('7: event 1 is no start of epoch 1');
    } else {
      if (FINAL.includes(before.state)) afterTheEnd(event, before, found);
      epochs(event, before, found);
    }
    before = event;
  }
}

function afterTheEnd(event: Event, before: Event, found: string[]): void {
  const { seq } = event;
  if (!AFTER_THE_END.includes(event.type)) found.push(`1: ${event.type} ${seq} after the end`);
  const moved = event.state !== before.state;
  if (moved && !(event.state === 'incident' && event.type === 'late_evidence')) {
    found.push(`1: ${before.state} became ${event.state} at ${seq}`);
  }
}

function epochs(event: Event, before: Event, found: string[]): void {
  const { seq } = event;
  const step = event.epoch - before.epoch;
  if (step !== 0 && step !== 1)
    found.push(`7: epoch ${before.epoch} became ${event.epoch} at ${seq}`);
  if (step === 1 && before.drive !== 'parked' && event.type !== 'drive_granted') {
    found.push(`7: ${event.type} ${seq} replaced a running drive`);
  }
  if (step === 1 && event.drive !== 'running')
    found.push(`7: event ${seq} grants an epoch that does not run`);
  if (step === 0 && before.drive === 'parked' && event.drive === 'running') {
    found.push(`7: event ${seq} wakes a parked drive under its old epoch`);
  }
}
