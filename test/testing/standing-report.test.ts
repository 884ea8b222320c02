import { beforeAll, describe, expect, it } from 'vitest';
import { beyond, dear, kept } from '../../scripts/mutants/sagas.ts';
import { fold } from '../../statemachines/rules/evolve.ts';
import { type StandingReport, standingReport } from '../../statemachines/rules/standing.ts';
import { checkStanding } from '../../testing/checker/standing.ts';
import type { Played } from '../../testing/play.ts';
import { type Evidence, partnersWith, played } from './checker-support.ts';

let priced: Played;
let checkpointed: Played;
let contained: Played;
let twice: Played;

beforeAll(async () => {
  priced = await played(dear, ({ step, action }) => {
    if (step === 'best' && action === 'forward') return 'refused';
    return step === 'better' && action === 'compensate' ? 'costs_more' : undefined;
  });
  checkpointed = await played(kept, ({ step }) => (step === 'third' ? 'refused' : undefined));
  contained = await played(beyond, ({ step, action }) =>
    step === 'pivot' && action === 'forward' ? 'deviates' : undefined,
  );
  twice = await played(beyond, ({ step, action, nth }) =>
    step === 'pivot' && action === 'forward' && nth === 1 ? 'answers_too_late' : undefined,
  );
});

function reportOf({ events }: Pick<Evidence, 'events'>, upTo = events.length): StandingReport {
  const state = fold(events.slice(0, upTo));
  if (state === undefined) throw new Error('there is no state');
  return standingReport(state);
}

function says(evidence: Evidence, change: (report: StandingReport) => object): string[] {
  const report = { ...reportOf(evidence), ...change(reportOf(evidence)) };
  return checkStanding(report as StandingReport, evidence.records, evidence.partners);
}

/** The report with one step told otherwise. */
function stepSays(evidence: Evidence, name: string, change: object): string {
  const changed = (report: StandingReport): object => ({
    steps: report.steps.map((each) => (each.step === name ? { ...each, ...change } : each)),
  });
  return says(evidence, changed).join('\n');
}

describe('the standing report against the ledger', () => {
  it('agrees after each event of a saga, whatever became of it', () => {
    for (const each of [priced, checkpointed, contained, twice]) {
      for (let seq = 1; seq <= each.events.length; seq += 1) {
        const report = reportOf(each, seq);
        // The books are those of the end: here it is held against the ledger alone.
        const found = checkStanding(report, each.records.slice(0, seq), []);
        expect(found.filter((finding) => !isAboutBooks(finding))).toEqual([]);
      }
      expect(checkStanding(reportOf(each), each.records, each.partners)).toEqual([]);
    }
  });

  it.each([
    ['words', { words: 'undone, more or less' }],
    ['standing', { standing: 'superseded' }],
    ['cost', { cost: { costMinor: 150, currency: 'EUR' } }],
    ['cost', { cost: { costMinor: 200, currency: 'USD' } }],
    ['cost', { cost: undefined }],
    ['overshoot', { overshoot: undefined }],
    ['overshoot', { overshoot: { costMinor: 49, currency: 'EUR' } }],
    ['externalIds', { externalIds: {} }],
    ['recoveryIds', { recoveryIds: undefined }],
    ['by', { by: 'ada' }],
    ['evidence', { evidence: 'seen' }],
    ['extra', { extra: [{ ref: 'other' }] }],
    ['effect', { effect: 'reversible' }],
    ['tool', { tool: 'another' }],
  ])('finds another %s of a step: %o', (member, change) => {
    expect(stepSays(priced, 'better', change)).toContain(`2: the report says of better ${member} `);
  });

  it.each([
    ['state', { state: 'completed' }],
    ['seq', { seq: 2 }],
    ['clear', { clear: false }],
    ['summary', { summary: 'compensated: no effect stands' }],
    ['checkpoint', { checkpoint: 'best' }],
    ['recoveryCost', { recoveryCost: undefined }],
    ['version', { version: '2' }],
  ])('finds another %s', (member, change) => {
    expect(says(priced, () => change).join('\n')).toContain(`2: the report says ${member} `);
  });

  it('finds a sum that was not spent', () => {
    const found = says(priced, ({ recoveryCost }) => ({
      recoveryCost: { ...recoveryCost, spentMinor: 250 },
    }));
    expect(found.join('\n')).toContain('"spentMinor":300');
  });

  it('finds a report that is clear although something is kept or cannot be undone', () => {
    for (const each of [checkpointed, contained])
      expect(says(each, () => ({ clear: true }))).toContain(
        '2: the report says clear true, by the ledger it is false',
      );
  });

  it('finds what is only marked as contained, and what is kept under another name', () => {
    expect(stepSays(contained, 'pivot', { words: 'done, and cannot be undone' })).toContain(
      'by the ledger "cannot be undone; contained"',
    );
    expect(stepSays(checkpointed, 'first', { standing: 'stands' })).toContain(
      'by the ledger "kept"',
    );
  });

  it('finds a second effect that is left out', () => {
    expect(twice.events.some((event) => event.type === 'late_evidence')).toBe(true);
    expect(stepSays(twice, 'pivot', { extra: [] })).toContain('2: the report says of pivot extra');
  });

  it('finds a step that is left out', () => {
    const found = says(priced, ({ steps }) => ({ steps: steps.slice(1) }));
    expect(found).toContain(
      '2: the report tells of better, best, last, and the saga has cheap, better, best, last',
    );
    expect(found).toContain('2: the report leaves out cheap, which took effect');
  });

  it('speaks while a person is asked, too', () => {
    const at = priced.events.findIndex((event) => event.type === 'review_opened') + 1;
    expect(at).toBeGreaterThan(1);
    const records = priced.records.slice(0, at);
    const report = reportOf(priced, at);
    expect(report.state).toBe('needs_review');
    const asked = partnersWith(priced, 'dear-cheap (compensate)', (facts) => ({
      ...facts,
      effects: [],
    }));
    expect(checkStanding(report, records, asked)).toEqual([]);
    expect(checkStanding(report, records, priced.partners)).toContain(
      '2: the report calls cheap "stands", but nothing of it stands',
    );
  });
});

describe("the standing report against the partners' books", () => {
  it('finds ids that no partner knows', () => {
    const partners = partnersWith(priced, 'dear-better', (facts) => ({
      ...facts,
      effects: facts.effects.map((effect) => ({ ...effect, ids: { ref: 'other' } })),
    }));
    const found = checkStanding(reportOf(priced), priced.records, partners).join('\n');
    expect(found).toMatch(/the report calls better "reversed", but no partner knows its ref /);
  });

  it('finds an amount that no partner took', () => {
    const partners = partnersWith(priced, 'dear-better (compensate)', (facts) => ({
      ...facts,
      effects: facts.effects.map((effect) => ({
        ...effect,
        cost: { costMinor: 1, currency: 'EUR' },
      })),
    }));
    expect(checkStanding(reportOf(priced), priced.records, partners)).toEqual([
      '2: the report calls better "reversed", but no partner took {"costMinor":200,"currency":"EUR"}',
    ]);
  });
});

function isAboutBooks(finding: string): boolean {
  return finding.startsWith('2: the report calls ');
}
