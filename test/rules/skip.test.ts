import { standingReport } from 'counterstep';
import { describe, expect, it } from 'vitest';
import { Rules } from '../support/saga-builder.ts';

const SKIPPED = { undo: { kind: 'skipped', why: 'the amount is 0' } } as const;

describe('an effect whose contract says that there is nothing to undo', () => {
  it('is planned as that, called for nothing, and holds nobody back', () => {
    const rules = new Rules([{ name: 'a' }, { name: 'b' }, { name: 'c' }]).done('a');
    rules.does(rules.claim('b'));
    rules.does(rules.commit('b', 'forward', SKIPPED));
    rules.refused('c').does(rules.assess());
    expect(rules.state.plan?.entries).toEqual([
      { step: 'b', action: 'none', after: [], why: 'the amount is 0' },
      { step: 'a', action: 'compensate', after: ['b'] },
    ]);
    expect(rules.refuses(rules.claim('b', 'compensate'))).toEqual({ reason: 'not_required' });
    rules.undone('a');
    expect(rules.does(rules.settle())).toMatchObject({ type: 'saga_compensated' });
    const report = standingReport(rules.state);
    // It is there at the provider, and stays: "nothing stands" would not be true of it.
    expect(report.clear).toBe(false);
    expect(report.steps[1]).toMatchObject({
      standing: 'kept',
      words: 'stays, nothing to undo: the amount is 0',
    });
  });

  it('costs nothing, so nobody is asked to approve it', () => {
    const costly = { effect: 'reversible_with_cost', costMinor: 900 } as const;
    const rules = new Rules([{ name: 'a', ...costly }, { name: 'b' }], {
      recovery: { ceiling: { costMinor: 100, currency: 'EUR' } },
    });
    rules.does(rules.claim('a'));
    rules.does(rules.commit('a', 'forward', SKIPPED));
    rules.refused('b').does(rules.assess());
    expect(rules.state.plan).toMatchObject({ estimateMinor: 0 });
    expect(rules.does(rules.settle())).toMatchObject({ type: 'saga_compensated' });
  });

  it('is not undone either where it was in doubt when the plan was made', () => {
    const rules = new Rules([{ name: 'a', dedupe: 'lookup' }, { name: 'b' }]).lost('a');
    rules.does({ kind: 'cancel', reason: 'no' });
    rules.does(rules.assess());
    expect(rules.state.plan?.entries).toMatchObject([{ action: 'compensate', conditional: true }]);
    rules.does(rules.commit('a', 'forward', { via: 'reconcile', ...SKIPPED }));
    expect(rules.refuses(rules.claim('a', 'compensate'))).toEqual({ reason: 'not_required' });
    expect(rules.does(rules.settle())).toMatchObject({ type: 'saga_compensated' });
  });

  it('stands as meant in a saga that goes well', () => {
    const rules = new Rules([{ name: 'a' }]);
    rules.does(rules.claim('a'));
    rules.does(rules.commit('a', 'forward', SKIPPED));
    rules.does({ kind: 'complete', ...rules.drive() });
    expect(standingReport(rules.state).steps[0]).toMatchObject({ standing: 'stands' });
  });
});

describe('a failure with a reason', () => {
  it('halts by it, and a plain one by none', () => {
    const plain = new Rules([{ name: 'a' }]).refused('a');
    expect(plain.state.halt).toMatchObject({ reason: 'step_failed' });
    const denied = new Rules([{ name: 'a' }]);
    const version = 'limits-2';
    denied.does({
      kind: 'refuse',
      ...denied.drive(),
      step: 'a',
      action: 'forward',
      failure: 'terminal_compensate',
      code: 'over_limit',
      message: 'too much',
      reason: 'policy_denied',
      policyVersion: version,
    });
    expect(denied.last).toMatchObject({ reason: 'policy_denied', policyVersion: version });
    expect(denied.state.halt).toMatchObject({ reason: 'policy_denied', code: 'over_limit' });
  });
});
