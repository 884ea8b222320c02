import {
  type CallFact,
  type Event,
  nonceOf,
  number,
  type PartnerFacts,
  SKEW_MS,
} from './records.ts';

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
      if (!person) repeat(partner, earlier, call, events, found);
    }
  }
}

function repeat(
  partner: PartnerFacts,
  earlier: CallFact,
  call: CallFact,
  events: readonly Event[],
  found: string[],
): void {
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
      if (earlier.key !== call.key && !absent && !refusedSince(earlier, call, events))
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

/**
 * Who honours keys gives a known one its first answer again: so a refusal of a call that was made once
 * the earlier one could no longer land says that the earlier one did nothing.
 */
function refusedSince(earlier: CallFact, call: CallFact, events: readonly Event[]): boolean {
  const claims = events.filter(
    (event) => event.type === 'step_claimed' && event.key === earlier.key,
  );
  const failed = events.filter((event) => event.type === 'step_failed');
  const known = failed.map(nonceOf);
  const open = claims.filter(
    (claim) => claim.at <= earlier.at + SKEW_MS && !known.includes(nonceOf(claim)),
  );
  if (open.length === 0) return false;
  const settledAt = Math.max(...open.map((claim) => number(claim.settleUntil))) + SKEW_MS;
  const late = claims.filter((claim) => claim.at >= settledAt).map(nonceOf);
  return failed.some(
    (event) =>
      (event.failure === 'terminal_compensate' || event.failure === 'terminal_hold') &&
      event.at <= call.at + SKEW_MS &&
      late.includes(nonceOf(event)),
  );
}
