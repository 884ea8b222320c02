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
    rules.does(rules.settle());
    expect(rules.last).toMatchObject({
      type: 'review_opened',
      reason: 'cost_ceiling',
      steps: ['a'],
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
