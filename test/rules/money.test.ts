import { standingReport } from 'counterstep';
import { describe, expect, it } from 'vitest';
import { Rules, type StepSpec } from '../support/saga-builder.ts';

/** Failed at its last step, with the plan written. */
function planned(
  steps: readonly StepSpec[],
  options: ConstructorParameters<typeof Rules>[1] = {},
): Rules {
  const rules = new Rules(steps, options);
  const names = steps.map((step) => step.name);
  rules.done(...names.slice(0, -1)).refused(names.at(-1) ?? '');
  rules.does(rules.assess());
  return rules;
}

describe('money', () => {
  const COSTLY: readonly StepSpec[] = [
    { name: 'a', effect: 'reversible_with_cost', costMinor: 300 },
    { name: 'b', effect: 'reversible_with_cost', costMinor: 300 },
    { name: 'c' },
  ];
  const ceiling = (costMinor: number) => ({
    recovery: { ceiling: { costMinor, currency: 'EUR' } },
  });
  const cost = (costMinor: number) => ({ cost: { costMinor, currency: 'EUR' } });

  it('is no question without a ceiling, nor within it', () => {
    for (const options of [{}, ceiling(600)]) {
      const rules = planned(COSTLY, options);
      rules.undone('b', 'a');
      expect(rules.does(rules.settle())).toMatchObject({ type: 'saga_compensated' });
    }
  });

  it('above the ceiling is asked for before anything is spent', () => {
    const rules = planned(COSTLY, ceiling(599));
    expect(rules.refuses(rules.claim('b', 'compensate'))).toEqual({ reason: 'over_ceiling' });
    rules.does(rules.assess());
    expect(rules.last).toMatchObject({
      type: 'review_opened',
      reason: 'cost_ceiling',
      steps: ['b', 'a'],
      planHash: rules.state.plan?.hash,
      maxCost: { costMinor: 600, currency: 'EUR' },
    });
  });

  it('is asked for again when more was spent than estimated', () => {
    const rules = planned(COSTLY, ceiling(600));
    rules.does(rules.claim('b', 'compensate'));
    rules.does(rules.commit('b', 'compensate', cost(301)));
    expect(rules.refuses(rules.claim('a', 'compensate'))).toEqual({ reason: 'over_ceiling' });
    const whole = rules.state.plan?.hash;
    // What is left is planned by itself, and that plan is what a person approves.
    expect(rules.does(rules.settle())).toMatchObject({
      type: 'recovery_planned',
      plan: { entries: [{ step: 'a', after: [] }], estimateMinor: 300 },
    });
    expect(rules.state.plan?.hash).not.toBe(whole);
    rules.does(rules.settle());
    expect(rules.last).toMatchObject({
      type: 'review_opened',
      reason: 'cost_ceiling',
      steps: ['a'],
      planHash: rules.state.plan?.hash,
      maxCost: { costMinor: 601, currency: 'EUR' },
      explanation: expect.stringContaining('601 EUR (minor units) in all, of which 301 are spent'),
    });
    const approve = (costMinor: number) =>
      rules.decision({
        decision: 'approve',
        planHash: rules.state.plan?.hash ?? '',
        maxCost: { costMinor, currency: 'EUR' },
      });
    expect(rules.refuses(approve(600))).toMatchObject({ reason: 'conflict' });
    rules.does(approve(601));
    rules.undone('a');
    expect(rules.does(rules.settle())).toMatchObject({ type: 'saga_compensated' });
  });

  it('that nobody told of counts as estimated, so that an overshoot elsewhere is not paid from it', () => {
    const steps = [
      { name: 'z', effect: 'reversible_with_cost', costMinor: 300 },
      ...COSTLY,
    ] as const;
    const rules = planned(steps, ceiling(900));
    rules.undone('b');
    expect(rules.does(rules.claim('a', 'compensate'))).toMatchObject({
      costLimit: { costMinor: 300, currency: 'EUR' },
    });
    rules.does(rules.commit('a', 'compensate', cost(301)));
    expect(rules.refuses(rules.claim('z', 'compensate'))).toEqual({ reason: 'over_ceiling' });
    expect(standingReport(rules.state)).toMatchObject({
      recoveryCost: { spentMinor: 601, reservedMinor: 300, limitMinor: 900 },
    });
  });

  it('that is left goes with each claim, and is never what is set aside for others', () => {
    const rules = planned(COSTLY, ceiling(700));
    expect(rules.does(rules.claim('b', 'compensate'))).toMatchObject({
      reserved: { costMinor: 300, currency: 'EUR' },
      costLimit: { costMinor: 400, currency: 'EUR' },
    });
    rules.does(rules.commit('b', 'compensate', cost(350)));
    expect(rules.last).toMatchObject({ overshoot: { costMinor: 50, currency: 'EUR' } });
    expect(rules.does(rules.claim('a', 'compensate'))).toMatchObject({
      costLimit: { costMinor: 350, currency: 'EUR' },
    });
  });

  it('has no limit where no ceiling is set, and none is told', () => {
    const rules = planned(COSTLY);
    const claim = rules.does(rules.claim('b', 'compensate'));
    expect(claim).toMatchObject({ reserved: { costMinor: 300 } });
    expect(claim).not.toHaveProperty('costLimit');
  });

  it('spent beyond the ceiling by the last undo is shown, though nothing is left to be asked', () => {
    const rules = planned(COSTLY, ceiling(600));
    rules.undone('b');
    rules.does(rules.claim('a', 'compensate'));
    rules.does(rules.commit('a', 'compensate', cost(700)));
    expect(rules.does(rules.settle())).toMatchObject({ type: 'saga_compensated' });
    const report = standingReport(rules.state);
    expect(report).toMatchObject({
      clear: true,
      summary: 'compensated: undone: a, b; undone at a higher cost than planned: a',
      recoveryCost: {
        spentMinor: 1000,
        reservedMinor: 0,
        limitMinor: 600,
        overLimitMinor: 400,
        currency: 'EUR',
      },
    });
    expect(report.steps[0]).toMatchObject({
      step: 'a',
      cost: { costMinor: 700 },
      overshoot: { costMinor: 400, currency: 'EUR' },
    });
    expect(report.steps[1]).not.toHaveProperty('overshoot');
  });

  it('paid in another currency than was set aside is all reported, and counts as estimated', () => {
    const rules = planned(COSTLY, ceiling(700));
    rules.does(rules.claim('b', 'compensate'));
    const paid = { cost: { costMinor: 10, currency: 'USD' } };
    rules.does(rules.commit('b', 'compensate', paid));
    expect(rules.last).toMatchObject({ overshoot: { costMinor: 10, currency: 'USD' } });
    expect(rules.does(rules.claim('a', 'compensate'))).toMatchObject({
      costLimit: { costMinor: 400, currency: 'EUR' },
    });
  });

  it('goes on within an approval that is bound to the plan and to a most', () => {
    const rules = planned(COSTLY, ceiling(0));
    rules.does(rules.assess());
    const planHash = rules.state.plan?.hash ?? '';
    const approve = (hash: string, costMinor?: number, currency = 'EUR') =>
      rules.decision({
        decision: 'approve',
        planHash: hash,
        ...(costMinor === undefined ? {} : { maxCost: { costMinor, currency } }),
      });
    expect(rules.refuses(approve('other', 600))).toMatchObject({ reason: 'conflict' });
    expect(rules.refuses(approve(planHash))).toMatchObject({ reason: 'conflict' });
    expect(rules.refuses(approve(planHash, 600, 'USD'))).toMatchObject({ reason: 'conflict' });
    expect(rules.does(approve(planHash, 600))).toMatchObject({ drive: 'running', epoch: 2 });
    rules.undone('b', 'a');
    expect(rules.does(rules.settle())).toMatchObject({ type: 'saga_compensated' });
  });

  it('approved below the plan is refused, naming what it would cost', () => {
    const rules = planned(COSTLY, ceiling(0));
    rules.does(rules.assess());
    const planHash = rules.state.plan?.hash ?? '';
    const maxCost = { costMinor: 599, currency: 'EUR' };
    expect(rules.refuses(rules.decision({ decision: 'approve', planHash, maxCost }))).toMatchObject(
      {
        reason: 'conflict',
        explanation: expect.stringContaining('600 EUR'),
      },
    );
    expect(rules.state.review).toMatchObject({ reason: 'cost_ceiling' });
  });

  it('is asked for only once what is in doubt is known', () => {
    const rules = new Rules(
      [
        { name: 'a', effect: 'reversible_with_cost', costMinor: 500 },
        { name: 'p', effect: 'irreversible', dedupe: 'lookup' },
      ],
      ceiling(100),
    );
    rules.done('a').lost('p');
    rules.does({ kind: 'cancel', reason: 'no' });
    expect(rules.does(rules.assess())).toMatchObject({ type: 'recovery_planned' });
    expect(rules.asks(rules.assess())).toEqual({ kind: 'route', to: 'recover' });
    expect(rules.does(rules.settle())).toMatchObject({ type: 'drive_parked', reason: 'provider' });
    rules.wait(100_000);
    rules.does(rules.told('p', 'absent'));
    expect(rules.does(rules.assess())).toMatchObject({
      type: 'review_opened',
      reason: 'cost_ceiling',
    });
  });
});
