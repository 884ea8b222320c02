import { expect } from 'vitest';
import type { AnySaga } from '../../statemachines/language/saga.ts';
import { genesisHash, sealEvent } from '../../statemachines/ledger/chain.ts';
import { check, type PartnerFacts, type StoredRecord } from '../../testing/checker/check.ts';
import { exampleOf } from '../../testing/example.ts';
import { type Played, play } from '../../testing/play.ts';
import type { ProviderOptions } from '../../testing/providers.ts';

export type Event = Record<string, unknown> & { seq: number };
export type Evidence = Pick<Played, 'id' | 'records' | 'partners' | 'events'>;

/** One saga played to its end, where nothing but its providers is amiss. */
export async function played(
  saga: AnySaga,
  mishap: NonNullable<ProviderOptions['mishap']>,
): Promise<Played> {
  const input = exampleOf(saga.input, 'the input', { number: 1 });
  const ran = await play({ saga, input, providers: {}, trigger: mishap });
  expect(ran.findings).toEqual([]);
  return ran;
}

/** A ledger that verifies and holds these events. */
export function forged({ id }: Evidence, events: readonly Event[]): StoredRecord[] {
  let prev = genesisHash(id.tenant, id.sagaId);
  return events.map((event, index) => {
    const record = sealEvent(prev, { ...event, seq: index + 1 });
    prev = record.hash;
    return record;
  });
}

/** What the checker finds once each event that `is` true of is another. */
export function withEvent(
  evidence: Evidence,
  is: (event: Event) => boolean,
  change: (event: Event) => Record<string, unknown>,
): string[] {
  let changed = 0;
  const events = evidence.records.map((record): Event => {
    const event = JSON.parse(record.body) as Event;
    if (!is(event)) return event;
    changed += 1;
    return JSON.parse(JSON.stringify({ ...event, ...change(event) })) as Event;
  });
  expect(changed).toBeGreaterThan(0);
  return check(evidence.id, forged(evidence, events), evidence.partners);
}

/** What the checker finds once that partner says something else. */
export function withPartner(
  evidence: Evidence,
  name: string,
  change: (facts: PartnerFacts) => PartnerFacts,
): string[] {
  return check(evidence.id, evidence.records, partnersWith(evidence, name, change));
}

export function partnersWith(
  { partners }: Evidence,
  name: string,
  change: (facts: PartnerFacts) => PartnerFacts,
): readonly PartnerFacts[] {
  expect(partners.map((facts) => facts.name)).toContain(name);
  return partners.map((facts) => (facts.name === name ? change(facts) : facts));
}
