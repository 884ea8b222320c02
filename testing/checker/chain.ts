import {
  canonical,
  type Event,
  eventsIn,
  type LedgerName,
  type StoredRecord,
  sha256,
} from './records.ts';

/** Invariant 11, with an implementation of its own. */
export function chain(
  ledger: LedgerName,
  records: readonly StoredRecord[],
  found: string[],
): readonly Event[] {
  let prev = sha256(`counterstep-ledger:${ledger.tenant}/${ledger.sagaId}`);
  let at = 0;
  const events = eventsIn(records);
  for (const [index, event] of events.entries()) {
    const record = records[index] as StoredRecord;
    const place = `record ${index + 1}`;
    if (record.seq !== index + 1 || event.seq !== index + 1)
      found.push(`11: ${place} has another number`);
    if (record.prev !== prev) found.push(`11: ${place} does not follow the one before`);
    if (record.hash !== sha256(record.prev + record.body)) found.push(`11: ${place} was changed`);
    if (canonical(event) !== record.body) found.push(`11: ${place} is not canonical`);
    if (event.at < at) found.push(`11: ${place} is dated before the one it follows`);
    prev = record.hash;
    at = event.at;
  }
  return events;
}
