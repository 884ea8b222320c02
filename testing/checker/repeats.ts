import { type CallFact, type Event, type PartnerFacts, SKEW_MS } from './records.ts';

/** Invariant 4 where the partner cannot help: a second call only after a clear "nothing was done". */
export function repeats(partner: PartnerFacts, events: readonly Event[], found: string[]): void {
  const calls = partner.calls.filter((call) => call.writes);
  for (const [index, call] of calls.entries()) {
    for (const earlier of calls.slice(0, index)) {
      if (earlier.correlationId !== call.correlationId || earlier.answer === 'nothing') continue;
      const person = events.some(
        (event) =>
          event.answer === 'absent' &&
          event.type === 'review_decided' &&
          event.at <= call.at + SKEW_MS,
      );
      if (!person) repeat(partner, earlier, call, found);
    }
  }
}

function repeat(partner: PartnerFacts, earlier: CallFact, call: CallFact, found: string[]): void {
  const told = partner.calls
    .filter(
      (other) =>
        !other.writes &&
        other.correlationId === call.correlationId &&
        other.at >= earlier.at &&
        other.at <= call.at,
    )
    .map((other) => other.told);
  // A partner that keeps no record of what it told is only held to having been asked.
  const absent = told.includes('absent') || told.includes(undefined);
  switch (partner.dedupe) {
    case 'none':
      found.push(
        `4: ${partner.name} cannot recognise repeats, and was called twice (${call.operation})`,
      );
      return;
    case 'key':
      if (earlier.key !== call.key && !absent)
        found.push(`4: ${partner.name} was called again under another key (${call.operation})`);
      if (earlier.key === call.key && call.at - earlier.at > (partner.keyTtlMs ?? Infinity))
        found.push(
          `4: ${partner.name} was called again under a key it has forgotten (${call.operation})`,
        );
      return;
    case 'lookup':
      if (told.length === 0)
        found.push(
          `4: ${partner.name} was called again without being asked first (${call.operation})`,
        );
      else if (!absent)
        found.push(
          `4: ${partner.name} was called again although it knew the call (${call.operation})`,
        );
  }
}
