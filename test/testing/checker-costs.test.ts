import { beforeAll, describe, expect, it } from 'vitest';
import { alone, dear } from '../../scripts/mutants/sagas.ts';
import { check } from '../../testing/checker/check.ts';
import {
  type Event,
  type Evidence,
  forged,
  played,
  withEvent,
  withPartner,
} from './checker-support.ts';

/** The undo of the second step costs more, so that the first one's no longer fits: a person allows it. */
let overshot: Evidence;
/** Three undos, which together are beyond the ceiling from the beginning. */
let beyond: Evidence;
/** Nothing goes wrong with what undoing costs. */
let within: Evidence;
/** The pivot's answer cannot be used, so it is contained. */
let contained: Evidence;

beforeAll(async () => {
  const refused = 'refused' as const;
  overshot = await played(dear, ({ step, action }) => {
    if (step === 'best' && action === 'forward') return refused;
    return step === 'better' && action === 'compensate' ? 'costs_more' : undefined;
  });
  beyond = await played(dear, ({ step, action }) =>
    step === 'last' && action === 'forward' ? refused : undefined,
  );
  within = await played(dear, ({ step, action }) => {
    if (step === 'best' && action === 'forward') return refused;
    return step === 'better' && action === 'compensate' ? 'costs_less' : undefined;
  });
  contained = await played(alone, ({ action }) => (action === 'forward' ? 'deviates' : undefined));
});

const undoOf = (step: string, type: string) => (event: Event) =>
  event.type === type && event.step === step && event.action === 'compensate';
const approval = (event: Event): boolean => event.decision === 'approve';
const EUR = 'EUR';

function thirteen(findings: readonly string[], ...words: readonly string[]): void {
  for (const word of words) expect(findings.join('\n')).toContain(word);
  expect(findings.length).toBeGreaterThan(0);
  for (const finding of findings) expect(finding).toMatch(/^13:/);
}

describe('what recovery may cost', () => {
  it('finds nothing where it is kept', () => {
    for (const each of [overshot, beyond, within, contained])
      expect(check(each.id, each.records, each.partners)).toEqual([]);
    const cost = (of: Evidence): unknown[] =>
      of.events.flatMap((event) => ('overshoot' in event ? [event.overshoot] : []));
    expect(cost(overshot)).toEqual([{ costMinor: 50, currency: EUR }]);
    expect(cost(within)).toEqual([]);
    expect(overshot.events.some((event) => event.type === 'review_opened')).toBe(true);
    expect(within.events.some((event) => event.type === 'review_opened')).toBe(false);
  });

  it('finds undos beyond the ceiling that nobody allowed', () => {
    const first = (event: Event): boolean => event.seq === 1;
    const lower = withEvent(within, first, () => ({ ceiling: { costMinor: 200, currency: EUR } }));
    thirteen(lower, 'better is recovered', 'all for up to 250, and 200 is allowed');
    thirteen(
      withEvent(beyond, approval, () => ({ planHash: 'another' })),
      'is not for the plan that runs',
      'all for up to 350, and 280 is allowed',
    );
  });

  it('finds an approval that does not cover what is needed', () => {
    const less = { maxCost: { costMinor: 299, currency: EUR } };
    thirteen(
      withEvent(overshot, approval, () => less),
      'does not cover 300',
      'cheap is recovered',
      'all for up to 300, and 299 is allowed',
    );
  });

  it('finds a person who is asked about another sum, or about what is allowed', () => {
    const asked = (event: Event): boolean => event.type === 'review_opened';
    const other = { maxCost: { costMinor: 301, currency: EUR } };
    thirteen(
      withEvent(overshot, asked, () => other),
      'names 301, and 300 is needed',
    );
    thirteen(
      withEvent(overshot, asked, () => ({ maxCost: undefined })),
      'names no cost',
    );
    thirteen(
      withEvent(overshot, asked, () => ({ planHash: 'another' })),
      'not about the plan',
    );
    const first = (event: Event): boolean => event.seq === 1;
    thirteen(
      withEvent(overshot, first, () => ({ ceiling: { costMinor: 300, currency: EUR } })),
      'asks about 300, which is allowed',
    );
  });

  it('finds a claim that sets aside, or may cost, other than the plan leaves it', () => {
    const claim = undoOf('better', 'step_claimed');
    const much = { costMinor: 181, currency: EUR };
    thirteen(
      withEvent(within, claim, () => ({ costLimit: much })),
      'may cost {"costMinor":181,"currency":"EUR"}, and {"costMinor":180,"currency":"EUR"} is left',
    );
    thirteen(
      withEvent(within, claim, () => ({ costLimit: undefined })),
      'may cost nothing',
    );
    thirteen(
      withEvent(within, claim, () => ({ reserved: { costMinor: 1, currency: EUR } })),
      'its plan {"costMinor":150,"currency":"EUR"}',
    );
    const first = (event: Event): boolean => event.seq === 1;
    thirteen(
      withEvent(within, first, () => ({ ceiling: undefined })),
      'names a limit, where there is none',
    );
  });

  it('finds a plan that leaves out what an undo costs', () => {
    const planned = (event: Event): boolean => event.type === 'recovery_planned';
    const sum = withEvent(within, planned, ({ plan }) => ({
      plan: { ...(plan as object), estimateMinor: 100 },
    }));
    thirteen(sum, 'costs 250, and says 100');
    const free = withEvent(within, planned, ({ plan }) => {
      const { entries } = plan as { entries: object[] };
      return { plan: { ...(plan as object), entries: entries.map(withoutEstimate) } };
    });
    thirteen(free, 'sets nothing aside for cheap');
  });

  it('finds an overshoot that is not told, and one that was none', () => {
    const commit = undoOf('better', 'step_committed');
    const over = { costMinor: 20, currency: EUR };
    thirteen(
      withEvent(overshot, commit, () => ({ overshoot: undefined })),
      'overshoots by {"costMinor":50,"currency":"EUR"}, and says nothing',
    );
    thirteen(
      withEvent(within, commit, () => ({ overshoot: over })),
      'overshoots by nothing, and says {"costMinor":20,"currency":"EUR"}',
    );
  });

  it('finds a cost that is not the one its partner took', () => {
    const commit = undoOf('better', 'step_committed');
    const cost = { costMinor: 76, currency: EUR };
    thirteen(
      withEvent(within, commit, () => ({ cost })),
      'its partner took {"costMinor":75,"currency":"EUR"}',
    );
    thirteen(
      withEvent(within, commit, () => ({ cost: undefined })),
      'cost nothing, and its partner took',
    );
  });

  it('finds a partner that was told another limit than was claimed', () => {
    const told = withPartner(within, 'dear-better (compensate)', (facts) => ({
      ...facts,
      calls: facts.calls.map((call) => ({ ...call, costLimit: null })),
    }));
    thirteen(told, 'was told of the limit null');
  });
});

describe('what can be contained', () => {
  const plan = (event: Event): boolean => event.type === 'recovery_planned';

  it('finds a plan that only marks it', () => {
    const marked = withEvent(contained, plan, (event) => {
      const { entries } = event.plan as { entries: object[] };
      const marks = entries.map((entry) => ({ ...entry, mark: true }));
      return { plan: { ...(event.plan as object), entries: marks } };
    });
    thirteen(marked, 'only marks pivot, which has a call for its contain');
  });

  it('finds an incident before it was contained', () => {
    const found = withEvent(
      contained,
      ({ type, action }) => type === 'step_committed' && action === 'contain',
      () => ({ type: 'step_in_doubt' }),
    );
    expect(found.join('\n')).toMatch(/10: incident at \d+, and pivot was never contained/);
  });

  it('has nothing to say of a saga that did all it should, and heard of an effect too late', async () => {
    const completed = await played(alone, () => undefined);
    const ended = (reason: string): string[] =>
      withEvent(
        completed,
        ({ type }) => type === 'saga_completed',
        () => ({ type: 'incident_opened', state: 'incident', reason }),
      );
    expect(ended('late_evidence').join('\n')).not.toContain('never contained');
    expect(ended('pivot_committed').join('\n')).toContain('pivot was never contained');
  });

  const incident = (event: Event): Event => {
    const reason = 'late_evidence';
    return { ...event, type: 'incident_opened', state: 'incident', reason, steps: ['pivot'] };
  };
  const checked = (of: Evidence, events: readonly Event[]): string =>
    check(of.id, forged(of, events), of.partners).join('\n');

  it('takes no notice of a plan that the pivot made void', async () => {
    const completed = await played(alone, () => undefined);
    const [planned] = eventsOf(contained).filter(plan);
    const events = eventsOf(completed).flatMap((event): Event[] => {
      if (event.type === 'saga_completed') return [incident(event)];
      if (event.type !== 'step_committed' || planned === undefined) return [event];
      const { at, epoch } = event;
      const cancel = { ...planned, type: 'cancel_requested', everything: false, at, epoch };
      return [cancel, { ...planned, at, epoch }, event];
    });
    expect(events.map(({ type }) => type)).toContain('recovery_planned');
    expect(checked(completed, events)).not.toContain('never contained');
  });

  it('finds a saga that failed and made no plan', () => {
    const events = eventsOf(contained)
      .filter((event) => !plan(event) && event.action !== 'contain')
      .map((event) => (event.type === 'incident_opened' ? incident(event) : event));
    expect(checked(contained, events)).toContain('pivot was never contained');
  });
});

describe('what is told of late', () => {
  it('finds a second effect that no partner made', () => {
    const telling = (on: readonly string[]) =>
      eventsOf(within).flatMap((event): Event[] =>
        event.type === 'step_committed' && on.includes(String(event.step))
          ? [event, { ...event, type: 'late_evidence', attempt: 9, attemptNonce: 'another' }]
          : [event],
      );
    const found = (on: readonly string[]): string =>
      check(within.id, forged(within, telling(on)), within.partners).join('\n');
    const told = 'better/forward took effect once, and';
    expect(found(['better'])).toContain(told);
    expect(found([])).not.toContain(told);
  });
});

function eventsOf({ records }: Evidence): Event[] {
  return records.map(({ body }) => JSON.parse(body) as Event);
}

function withoutEstimate(entry: object): object {
  return { ...entry, estimate: undefined };
}
