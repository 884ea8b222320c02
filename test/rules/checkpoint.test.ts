import { standingReport } from 'counterstep';
import { describe, expect, it } from 'vitest';
import { SKEW_MS } from '../../statemachines/rules/protocol.ts';
import { Rules, SETTLE_MS, type StepSpec } from '../support/saga-builder.ts';

/** Two checkpoints, `pay` and `pack`, and a step after each. */
const TRIP: readonly StepSpec[] = [
  { name: 'hold' },
  { name: 'pay', effect: 'compensable', checkpoint: true },
  { name: 'pick' },
  { name: 'pack', checkpoint: true },
  { name: 'ship' },
];

const cancel = { kind: 'cancel', reason: 'no' } as const;
const planned = (rules: Rules): Rules => {
  rules.does(rules.assess());
  return rules;
};
const entriesOf = (rules: Rules): string[] =>
  rules.state.plan?.entries.map((entry) => entry.step) ?? [];

describe('a checkpoint', () => {
  it('is kept: what follows it is undone, and the end names it', () => {
    const rules = planned(new Rules(TRIP).done('hold', 'pay', 'pick').refused('pack'));
    expect(rules.last).toMatchObject({
      type: 'recovery_planned',
      plan: {
        checkpoint: 'pay',
        entries: [{ step: 'pick', action: 'compensate', after: [] }],
        consequences: [
          '"hold" stays: checkpoint "pay" keeps it',
          '"pay" stays: checkpoint "pay" keeps it',
        ],
      },
    });
    expect(rules.refuses(rules.claim('pay', 'compensate'))).toEqual({ reason: 'not_planned' });
    rules.undone('pick');
    expect(rules.does(rules.settle())).toMatchObject({
      type: 'saga_compensated',
      checkpoint: 'pay',
      state: 'compensated',
    });
  });

  it('is the last one reached', () => {
    const rules = planned(new Rules(TRIP).done('hold', 'pay', 'pick', 'pack').refused('ship'));
    expect(rules.state.plan).toMatchObject({ checkpoint: 'pack', entries: [] });
    expect(rules.does(rules.settle())).toMatchObject({ checkpoint: 'pack' });
  });

  it('not yet reached keeps nothing', () => {
    const rules = planned(new Rules(TRIP).done('hold').refused('pay'));
    expect(rules.state.plan).not.toHaveProperty('checkpoint');
    expect(entriesOf(rules)).toEqual(['hold']);
    rules.undone('hold');
    expect(rules.does(rules.settle())).not.toHaveProperty('checkpoint');
  });

  it('whose own answer nobody can use is not valid', () => {
    const rules = new Rules(TRIP).done('hold', 'pay', 'pick');
    rules.does(rules.claim('pack'));
    const defect = { code: 'output_deviates', message: 'no' };
    rules.does(rules.commit('pack', 'forward', { defect }));
    expect(planned(rules).state.plan?.checkpoint).toBe('pay');
    expect(entriesOf(rules)).toEqual(['pack', 'pick']);
  });

  it('in doubt when the plan is made is undone as planned, even if it turns out to have committed', () => {
    const steps = TRIP.map((step) =>
      step.name === 'pack' ? { ...step, dedupe: 'lookup' as const } : step,
    );
    const rules = new Rules(steps).done('hold', 'pay', 'pick').lost('pack');
    rules.does(cancel);
    expect(planned(rules).state.plan).toMatchObject({
      checkpoint: 'pay',
      entries: [{ step: 'pack', conditional: true }, { step: 'pick' }],
    });
    rules.does(rules.commit('pack'));
    rules.undone('pack', 'pick');
    expect(rules.does(rules.settle())).toMatchObject({ checkpoint: 'pay' });
  });

  it('behind a step in doubt that turned out absent ends there too', () => {
    const steps = TRIP.map((step) =>
      step.name === 'pick' ? { ...step, dedupe: 'lookup' as const } : step,
    );
    const rules = new Rules(steps).done('hold', 'pay').lost('pick');
    rules.does(cancel);
    planned(rules).wait(SETTLE_MS + SKEW_MS);
    rules.does(rules.told('pick', 'absent'));
    expect(rules.does(rules.settle())).toMatchObject({
      type: 'saga_compensated',
      checkpoint: 'pay',
    });
  });

  it('is where cancel and deadline lead to as well', () => {
    const cancelled = new Rules(TRIP).done('hold', 'pay', 'pick');
    cancelled.does(cancel);
    expect(planned(cancelled).state.plan?.checkpoint).toBe('pay');
    const late = new Rules(TRIP, { deadlineMs: 10_000 }).done('hold', 'pay', 'pick').wait(10_000);
    late.does(late.assess());
    expect(late.last).toMatchObject({ type: 'saga_halted', reason: 'deadline_passed' });
    expect(planned(late).state.plan?.checkpoint).toBe('pay');
  });

  it('changes the hash of the plan, which is what a person approves', () => {
    const with_ = planned(new Rules(TRIP).done('hold', 'pay').refused('pick'));
    const without = planned(new Rules([{ name: 'hold' }]).refused('hold'));
    expect([entriesOf(with_), entriesOf(without)]).toEqual([[], []]);
    expect(with_.state.plan?.hash).not.toBe(without.state.plan?.hash);
  });

  it('before the pivot keeps nothing from it: what came before a committed pivot stands anyway', () => {
    const rules = planned(
      new Rules([
        { name: 'hold', checkpoint: true },
        { name: 'mail', effect: 'irreversible' },
        { name: 'note', effect: 'read_only' },
      ])
        .done('hold', 'mail')
        .refused('note'),
    );
    expect(rules.state.plan).not.toHaveProperty('checkpoint');
    expect(rules.state.plan?.consequences).toContain('"hold" stays, since the pivot has committed');
    rules.does({ kind: 'mark', ...rules.drive(), step: rules.step('mail'), action: 'contain' });
    expect(rules.does(rules.settle())).toMatchObject({ type: 'incident_opened' });
    expect(rules.last).not.toHaveProperty('checkpoint');
  });

  it('in a graph keeps all branches before it', () => {
    const rules = planned(
      new Rules([
        { name: 'left', after: [] },
        { name: 'right', after: [] },
        { name: 'join', after: ['left', 'right'], checkpoint: true },
        { name: 'far', after: ['join'] },
        { name: 'near', after: ['join'] },
      ])
        .done('right', 'left', 'join', 'near')
        .refused('far'),
    );
    expect(rules.state.plan).toMatchObject({ checkpoint: 'join', entries: [{ step: 'near' }] });
    rules.undone('near');
    rules.does(rules.settle());
    expect(standingReport(rules.state)).toMatchObject({
      clear: false,
      summary: 'compensated to checkpoint join: kept: left, right, join; undone: near',
    });
  });
});

describe('what a checkpoint keeps', () => {
  it('is named in the standing report, which is not clear', () => {
    const rules = planned(new Rules(TRIP).done('hold', 'pay', 'pick').refused('pack'));
    rules.undone('pick');
    rules.does(rules.settle());
    expect(standingReport(rules.state)).toMatchObject({
      state: 'compensated',
      checkpoint: 'pay',
      clear: false,
      summary: 'compensated to checkpoint pay: kept: hold, pay; undone: pick',
      steps: [
        { step: 'hold', standing: 'kept', externalIds: { forward: 'hold-forward' } },
        { step: 'pay', standing: 'kept', words: 'stays: checkpoint "pay" keeps it' },
        { step: 'pick', standing: 'reversed' },
        { step: 'pack', standing: 'nothing' },
        { step: 'ship', standing: 'nothing' },
      ],
    });
  });

  it('is nobody’s to resolve', () => {
    const rules = planned(new Rules(TRIP).done('hold', 'pay', 'pick').refused('pack'));
    rules.does(rules.claim('pick', 'compensate'));
    rules.does(rules.fail('pick', 'terminal_compensate', 'compensate'));
    rules.does(rules.settle());
    const resolve = (step: string) =>
      rules.decision({ decision: 'resolve', step, evidence: 'seen' });
    expect(rules.refuses(resolve('pay'))).toMatchObject({
      explanation: '"pay" stays: checkpoint "pay" keeps it',
    });
    rules.does(resolve('pick'));
    expect(rules.does(rules.settle())).toMatchObject({ checkpoint: 'pay' });
  });

  it('ends in an incident like everything else where a second effect became known', () => {
    const rules = new Rules(TRIP).done('hold', 'pay');
    const second = { externalIds: { forward: 'pay-again' }, attemptNonce: 'other' };
    rules.does(rules.commit('pay', 'forward', second));
    expect(rules.last).toMatchObject({ type: 'late_evidence', effect: 'compensable' });
    planned(rules.refused('pick'));
    expect(rules.does(rules.settle())).toMatchObject({
      type: 'incident_opened',
      reason: 'late_evidence',
      steps: ['pay'],
    });
    expect(standingReport(rules.state)).toMatchObject({
      steps: [
        { standing: 'kept' },
        { standing: 'kept', extra: [{ forward: 'pay-again' }] },
        {},
        {},
        {},
      ],
    });
  });
});

describe('everything', () => {
  it('asked back by a cancel leaves no checkpoint in force', () => {
    const rules = new Rules(TRIP).done('hold', 'pay', 'pick');
    rules.does({ ...cancel, everything: true });
    expect(rules.last).toMatchObject({ type: 'cancel_requested', everything: true });
    planned(rules);
    expect(rules.state.plan).not.toHaveProperty('checkpoint');
    expect(entriesOf(rules)).toEqual(['pick', 'pay', 'hold']);
    rules.undone('pick', 'pay', 'hold');
    expect(rules.does(rules.settle())).not.toHaveProperty('checkpoint');
    expect(standingReport(rules.state)).toMatchObject({ clear: true });
  });

  it('asked back by a person who decides a review, too', () => {
    const rules = new Rules(TRIP).done('hold', 'pay');
    rules.does(rules.claim('pick'));
    rules.does(rules.fail('pick', 'terminal_hold'));
    rules.does(rules.assess());
    rules.does(rules.decision({ decision: 'recover', everything: true }));
    expect(entriesOf(planned(rules))).toEqual(['pay', 'hold']);
  });

  it('cannot be asked back once recovery to a checkpoint has begun', () => {
    const rules = new Rules(TRIP).done('hold', 'pay');
    rules.does(cancel);
    expect(rules.asks(cancel)).toEqual({ kind: 'already' });
    expect(rules.refuses({ ...cancel, everything: true })).toMatchObject({ reason: 'conflict' });
  });
});
