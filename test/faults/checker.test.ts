import { beforeAll, describe, expect, it } from 'vitest';
import { genesisHash, sealEvent } from '../../statemachines/ledger/chain.ts';
import { check, type PartnerFacts, type StoredRecord } from '../support/checker.ts';
import { FORWARD, RECOVERY } from './scenarios.ts';
import { type Ran, run } from './world.ts';

type Event = Record<string, unknown> & { seq: number };

let undone: Ran['evidence'];
let landedLate: Ran['evidence'];
let unasked: Ran['evidence'];

function named(name: string): (typeof FORWARD)[number] {
  const found = [...FORWARD, ...RECOVERY].find((scenario) => scenario.name === name);
  if (found === undefined) throw new Error(`no scenario "${name}"`);
  return found;
}

beforeAll(async () => {
  undone = (await run(named('mail refuses'))).evidence;
  landedLate = (await run(named('credit silent'))).evidence;
  unasked = (await run(named('credit answer lost'))).evidence;
});

function eventsOf(evidence: Ran['evidence']): Event[] {
  return evidence.records.map((record) => JSON.parse(record.body) as Event);
}

/** A ledger that verifies and holds these events. */
function forged(evidence: Ran['evidence'], events: readonly Event[]): StoredRecord[] {
  let prev = genesisHash(evidence.id.tenant, evidence.id.sagaId);
  return events.map((event, index) => {
    const record = sealEvent(prev, { ...event, seq: index + 1 });
    prev = record.hash;
    return record;
  });
}

function withEvents(evidence: Ran['evidence'], change: (events: Event[]) => Event[]): string[] {
  return check(evidence.id, forged(evidence, change(eventsOf(evidence))), evidence.partners);
}

function withPartner(
  evidence: Ran['evidence'],
  name: string,
  change: (facts: PartnerFacts) => PartnerFacts,
): string[] {
  const partners = evidence.partners.map((facts) => (facts.name === name ? change(facts) : facts));
  return check(evidence.id, evidence.records, partners);
}

function of(event: Event, type: string, step?: string, action?: string): boolean {
  return (
    event.type === type &&
    (step === undefined || event.step === step) &&
    (action === undefined || event.action === action)
  );
}

function found(findings: readonly string[], invariant: number): void {
  expect(findings.map((each) => each.split(':')[0])).toContain(String(invariant));
}

describe('the checker', () => {
  it('finds nothing where nothing is wrong', () => {
    for (const each of [undone, landedLate, unasked]) {
      expect(check(each.id, each.records, each.partners)).toEqual([]);
      expect(withEvents(each, (events) => events)).toEqual([]);
    }
  });

  it('1: finds an event after the end', () => {
    const claim = (events: Event[]): Event =>
      events.find((event) => of(event, 'step_claimed')) as Event;
    found(
      withEvents(undone, (events) => [...events, { ...claim(events), at: events.at(-1)?.at }]),
      1,
    );
  });

  it('1: finds a final state that becomes another', () => {
    found(
      withEvents(undone, (events) => [
        ...events,
        { ...(events.at(-1) as Event), type: 'late_evidence', state: 'completed' },
      ]),
      1,
    );
  });

  it('2: finds a compensated saga with an undo missing in the ledger', () => {
    found(
      withEvents(undone, (events) =>
        events.filter((event) => event.action !== 'compensate' || event.step !== 'stock'),
      ),
      2,
    );
  });

  it('3: finds "absent" believed too early', () => {
    found(
      withEvents(landedLate, (events) => {
        const absent = events.find((event) => event.answer === 'absent') as Event;
        const claim = events.find((event) => of(event, 'step_claimed', 'credit')) as Event;
        return events.map((event) =>
          event === claim ? { ...event, settleUntil: (absent.at as number) + 1 } : event,
        );
      }),
      3,
    );
  });

  it('3: finds a saga compensated while a step is in doubt', () => {
    found(
      withEvents(undone, (events) => events.filter((event) => !of(event, 'step_failed', 'email'))),
      3,
    );
  });

  it('4: finds a second effect of one action', () => {
    found(
      withPartner(undone, 'erp', (facts) => ({
        ...facts,
        effects: facts.effects.flatMap((effect) => [effect, { ...effect, id: `${effect.id}b` }]),
      })),
      4,
    );
  });

  it.each([
    ['mail', 'a repeat nobody can recognise'],
    ['erp', 'a repeat without asking first'],
  ])('4: finds at %s %s', (name) => {
    found(
      withPartner(undone, name, (facts) => ({
        ...facts,
        calls: facts.calls.flatMap((call) => [{ ...call, answer: 'lost' }, call]),
      })),
      4,
    );
  });

  it('5: finds an undo of what is not known to have happened', () => {
    found(
      withEvents(undone, (events) =>
        events.filter((event) => !of(event, 'step_committed', 'credit', 'forward')),
      ),
      5,
    );
  });

  it('5: finds a commit that no partner knows of', () => {
    found(
      withPartner(undone, 'stock', (facts) => ({ ...facts, effects: [] })),
      5,
    );
  });

  it('6: finds an undo whose arguments were not stored', () => {
    found(
      withEvents(undone, (events) =>
        events.map((event) =>
          of(event, 'step_committed', 'stock', 'forward') ? { ...event, undo: null } : event,
        ),
      ),
      6,
    );
  });

  it('7: finds a claim by a drive that is not the present one', () => {
    found(
      withEvents(undone, (events) =>
        events.map((event) =>
          of(event, 'step_claimed', 'credit', 'forward') ? { ...event, epoch: 3 } : event,
        ),
      ),
      7,
    );
  });

  it('7: finds two attempts at a time', () => {
    found(
      withEvents(landedLate, (events) =>
        events
          .filter((event) => event.type !== 'step_in_doubt' && event.type !== 'step_reconciled')
          .map((event) =>
            of(event, 'step_claimed', 'credit') ? { ...event, at: events[3]?.at } : event,
          )
          .sort((left, right) => (left.at as number) - (right.at as number)),
      ),
      7,
    );
  });

  it('8: finds the ledger of another tenant', () => {
    found(
      withEvents(undone, (events) =>
        events.map((event) => (event.seq === 1 ? { ...event, tenant: 'rival' } : event)),
      ),
      8,
    );
  });

  it('9: finds a call that no claim preceded', () => {
    found(
      withEvents(undone, (events) => events.filter((event) => !of(event, 'step_claimed', 'email'))),
      9,
    );
  });

  it('9: finds a new key without a reason for it', () => {
    found(
      withEvents(unasked, (events) => {
        const claim = events.find((event) => of(event, 'step_claimed', 'credit')) as Event;
        const again = { ...claim, attempt: 2, attemptNonce: 'other', round: 2, key: 'other' };
        return [...events.slice(0, 4), again, ...events.slice(4)];
      }),
      9,
    );
  });

  it('10: finds a compensated saga whose message went out', () => {
    const claim = eventsOf(undone).find((event) => of(event, 'step_claimed', 'email')) as Event;
    found(
      withPartner(undone, 'mail', (facts) => ({
        ...facts,
        effects: [
          {
            id: 'MSG-1',
            at: 1,
            correlationId: String(claim.correlationId),
            key: String(claim.key),
          },
        ],
      })),
      10,
    );
  });

  it('11: finds a changed, a missing and a misplaced record', () => {
    const { id, records, partners } = undone;
    const first = records[0] as StoredRecord;
    const second = records[1] as StoredRecord;
    const rest = records.slice(2);
    const changed = { ...second, body: second.body.replace('"attempt":1', '"attempt":2') };
    found(check(id, [first, changed, ...rest], partners), 11);
    found(check(id, [first, ...rest], partners), 11);
    found(check(id, [second, first, ...rest], partners), 11);
  });

  it('11: finds a clock that runs backwards', () => {
    found(
      withEvents(undone, (events) =>
        events.map((event) =>
          event.seq === 3 ? { ...event, at: (event.at as number) - 1 } : event,
        ),
      ),
      11,
    );
  });

  it('12: finds an unfinished saga without a due time', () => {
    found(
      withEvents(undone, (events) =>
        events.map(
          ({ dueAt, ...event }) =>
            (event.seq === 4 || dueAt === undefined ? event : { ...event, dueAt }) as Event,
        ),
      ),
      12,
    );
  });

  it('13: finds recoveries out of order, and without a plan', () => {
    const order = (events: Event[]): Event[] => {
      const undo = (step: string) => (event: Event) =>
        event.action === 'compensate' && event.step === step;
      const rest = events.filter((event) => event.action !== 'compensate');
      const [end] = rest.splice(-1);
      return [
        ...rest,
        ...events.filter(undo('stock')),
        ...events.filter(undo('credit')),
        end as Event,
      ];
    };
    found(withEvents(undone, order), 13);
    found(
      withEvents(undone, (events) => events.filter((event) => event.type !== 'recovery_planned')),
      13,
    );
  });
});
