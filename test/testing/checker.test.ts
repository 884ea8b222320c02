import { beforeAll, describe, expect, it } from 'vitest';
import { refund } from '../../examples/refund/saga.ts';
import { genesisHash, sealEvent } from '../../statemachines/ledger/chain.ts';
import { fold } from '../../statemachines/rules/evolve.ts';
import { standingReport } from '../../statemachines/rules/standing.ts';
import { check, type PartnerFacts, type StoredRecord } from '../../testing/checker/check.ts';
import { liveness } from '../../testing/checker/liveness.ts';
import { checkStanding } from '../../testing/checker/standing.ts';
import { checkTenants } from '../../testing/checker/tenants.ts';
import type { Mishap } from '../../testing/mishaps.ts';
import { type Played, play } from '../../testing/play.ts';

type Event = Record<string, unknown> & { seq: number };
type Evidence = Pick<Played, 'id' | 'records' | 'partners' | 'events'>;

const INPUT = {
  orderId: 'A-17',
  email: 'ada@example.com',
  sku: 'KETTLE',
  quantity: 1,
  amountMinor: 1_250,
  currency: 'EUR',
  reason: 'broken',
};

let undone: Evidence;
let landedLate: Evidence;
let unasked: Evidence;

function played(step: string, mishap: Mishap): Promise<Evidence> {
  return play({
    saga: refund,
    input: INPUT,
    providers: {
      mishap: (call) =>
        call.step === step && call.action === 'forward' && call.nth === 1 ? mishap : undefined,
    },
  });
}

beforeAll(async () => {
  undone = await played('email', 'refused');
  landedLate = await played('credit', 'silent');
  unasked = await played('credit', 'answer_lost');
});

function eventsOf(evidence: Evidence): Event[] {
  return evidence.records.map((record) => JSON.parse(record.body) as Event);
}

/** A ledger that verifies and holds these events. */
function forged(evidence: Evidence, events: readonly Event[]): StoredRecord[] {
  let prev = genesisHash(evidence.id.tenant, evidence.id.sagaId);
  return events.map((event, index) => {
    const record = sealEvent(prev, { ...event, seq: index + 1 });
    prev = record.hash;
    return record;
  });
}

function withEvents(evidence: Evidence, change: (events: Event[]) => Event[]): string[] {
  return check(evidence.id, forged(evidence, change(eventsOf(evidence))), evidence.partners);
}

function withPartner(
  evidence: Evidence,
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
      withPartner(undone, 'issue-credit-note', (facts) => ({
        ...facts,
        effects: facts.effects.flatMap((effect) => [effect, { ...effect, id: `${effect.id}b` }]),
      })),
      4,
    );
  });

  it.each([
    ['send-email', 'a repeat nobody can recognise'],
    ['issue-credit-note', 'a repeat without asking first'],
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
      withPartner(undone, 'reserve-stock', (facts) => ({ ...facts, effects: [] })),
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
      withPartner(undone, 'send-email', (facts) => ({
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

  it('3: finds "absent" believed before the clocks of all workers are past the window', () => {
    found(
      withEvents(landedLate, (events) => {
        const absent = events.find((event) => event.answer === 'absent') as Event;
        return events.map((event) =>
          of(event, 'step_claimed', 'credit')
            ? { ...event, settleUntil: (absent.at as number) - 1_000 }
            : event,
        );
      }),
      3,
    );
  });

  it('6: finds an undo that was called with other arguments than stored', () => {
    found(
      withPartner(undone, 'issue-credit-note (compensate)', (facts) => ({
        ...facts,
        calls: facts.calls.map((call) => ({ ...call, args: { creditNoteId: 'other' } })),
      })),
      6,
    );
  });

  it('4: finds a repeat although the partner knew the call', () => {
    found(
      withPartner(landedLate, 'issue-credit-note', (facts) => ({
        ...facts,
        calls: facts.calls.map((call) => (call.writes ? call : { ...call, told: 'committed' })),
      })),
      4,
    );
  });

  it('13: finds recovery without a terminal fact', () => {
    found(
      withEvents(undone, (events) => events.filter((event) => !of(event, 'step_failed', 'email'))),
      13,
    );
  });
});

describe('liveness', () => {
  const quiet = { now: 0, registry: [], disturbed: [] };

  it('finds nothing where every saga was looked at in time', () => {
    for (const each of [undone, landedLate, unasked])
      expect(liveness(each.id, each.records, quiet)).toEqual([]);
  });

  it('finds a saga that nobody looked for in time, unless the plane could not work', () => {
    const late = eventsOf(landedLate).map((event, index) =>
      index < 4 ? event : { ...event, at: (event.at as number) + 600_000 },
    );
    const records = forged(landedLate, late);
    found(liveness(landedLate.id, records, quiet), 12);
    const disturbed = [{ from: 0, to: Number.MAX_SAFE_INTEGER }];
    expect(liveness(landedLate.id, records, { ...quiet, disturbed })).toEqual([]);
  });

  it('finds an unfinished saga that no entry of the registry leads to', () => {
    const records = undone.records.slice(0, 3);
    const now = (eventsOf(undone)[2] as Event).at as number;
    found(liveness(undone.id, records, { ...quiet, now }), 12);
    const registry = [{ ...undone.id, dueAt: now }];
    expect(liveness(undone.id, records, { ...quiet, now, registry })).toEqual([]);
  });
});

describe('tenants', () => {
  it('finds a call for a saga that has no ledger, and a key that serves two', () => {
    const ledgers = [undone];
    expect(checkTenants(ledgers, [undone.id])).toEqual([]);
    found(checkTenants(ledgers, [undone.id, { tenant: 'rival', sagaId: 'x' }]), 8);
    const other = { ...undone, id: { tenant: 'rival', sagaId: undone.id.sagaId } };
    found(checkTenants([undone, other], [undone.id, other.id]), 8);
  });
});

describe('the standing report against the books', () => {
  it('agrees where nothing is wrong', () => {
    for (const each of [undone, landedLate, unasked]) {
      const state = fold(each.events);
      if (state === undefined) throw new Error('no state');
      expect(checkStanding(standingReport(state), each.records, each.partners)).toEqual([]);
    }
  });

  it('finds an effect that is called reversed and stands, and one that is not told of', () => {
    const state = fold(undone.events);
    if (state === undefined) throw new Error('no state');
    const report = standingReport(state);
    const without = undone.partners.filter(({ name }) => name !== 'reserve-stock (compensate)');
    const findings = checkStanding(report, undone.records, without);
    expect(findings).toHaveLength(3);
    found(findings, 2);
    const silent = {
      ...report,
      steps: report.steps.map((step) => ({ ...step, standing: 'nothing' })),
    };
    found(checkStanding(silent, undone.records, without), 2);
  });
});
