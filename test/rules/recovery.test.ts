import { standingReport } from 'counterstep';
import { describe, expect, it } from 'vitest';
import { SKEW_MS } from '../../statemachines/rules/protocol.ts';
import { Rules, SETTLE_MS, type StepSpec, TIMEOUT_MS } from '../support/saga-builder.ts';

const THREE: readonly StepSpec[] = [{ name: 'a' }, { name: 'b' }, { name: 'c' }];

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

function entries(rules: Rules): unknown {
  return rules.state.plan?.entries;
}

describe('the recovery plan', () => {
  it('holds what committed, last first, each after all that followed it', () => {
    expect(entries(planned(THREE))).toEqual([
      { step: 'b', action: 'compensate', after: [] },
      { step: 'a', action: 'compensate', after: ['b'] },
    ]);
  });

  it('leaves out what only reads and what never took effect, and keeps the order across them', () => {
    const rules = planned([
      { name: 'a' },
      { name: 'look', effect: 'read_only' },
      { name: 'b' },
      { name: 'c' },
    ]);
    expect(entries(rules)).toEqual([
      { step: 'b', action: 'compensate', after: [] },
      { step: 'a', action: 'compensate', after: ['b'] },
    ]);
  });

  it('follows a declared recovery graph', () => {
    const rules = planned(THREE, { recovery: { after: { b: ['a'], a: [] } } });
    expect(entries(rules)).toEqual([
      { step: 'b', action: 'compensate', after: ['a'] },
      { step: 'a', action: 'compensate', after: [] },
    ]);
    expect(rules.refuses(rules.claim('b', 'compensate'))).toEqual({ reason: 'not_ready' });
    rules.undone('a', 'b');
    expect(rules.does(rules.settle())).toMatchObject({ type: 'saga_compensated' });
  });

  it('names for each class what is done about it', () => {
    const rules = planned([
      { name: 'supersede', effect: 'supersede' },
      { name: 'hook', effect: 'supersede', hook: true },
      { name: 'human', effect: 'human_decision' },
      { name: 'event', effect: 'compensable' },
      { name: 'cost', effect: 'reversible_with_cost', costMinor: 300 },
      { name: 'last' },
    ]);
    expect(rules.state.plan).toMatchObject({
      entries: [
        { step: 'cost', action: 'compensate', estimate: { costMinor: 300, currency: 'EUR' } },
        { step: 'event', action: 'compensate' },
        { step: 'human', action: 'person' },
        { step: 'hook', action: 'supersede' },
        { step: 'supersede', action: 'supersede', mark: true },
      ],
      estimateMinor: 300,
      currency: 'EUR',
      consequences: ['"event" stays on record beside its counter-entry'],
    });
    expect(rules.state.plan?.entries.find((entry) => entry.step === 'hook')).not.toHaveProperty(
      'mark',
    );
  });

  it('is told in words that match the business: a refund counters, it undoes nothing', () => {
    const rules = planned([
      { name: 'hold' },
      { name: 'charge', effect: 'compensable' },
      { name: 'last' },
    ]);
    rules.undone('charge', 'hold').does(rules.settle());
    const report = standingReport(rules.state);
    expect(report).toMatchObject({
      clear: true,
      summary: 'compensated: undone: hold; countered: charge',
    });
    expect(report.steps.map(({ words }) => words)).toEqual([
      'undone',
      'countered by a new business event',
      'refused: terminal_compensate',
    ]);
  });

  it('takes in what is in doubt, conditionally and at full cost', () => {
    const rules = new Rules([
      { name: 'a', effect: 'reversible_with_cost', costMinor: 300, dedupe: 'lookup' },
      { name: 'b' },
    ]).lost('a');
    rules.does({ kind: 'cancel', reason: 'no' });
    rules.does(rules.assess());
    expect(rules.state.plan).toMatchObject({
      entries: [{ step: 'a', action: 'compensate', conditional: true }],
      estimateMinor: 300,
    });
  });

  it('gives a commit without arguments for its undo to a person', () => {
    const rules = new Rules(THREE.slice(0, 2));
    rules.does(rules.claim('a'));
    rules.does(rules.commit('a', 'forward', { undo: { kind: 'unavailable', why: 'no id' } }));
    rules.refused('b');
    rules.does(rules.assess());
    expect(entries(rules)).toEqual([{ step: 'a', action: 'person', after: [] }]);
    rules.does(rules.settle());
    expect(rules.last).toMatchObject({
      type: 'review_opened',
      reason: 'undo_unavailable',
      explanation: expect.stringContaining('no id'),
    });
  });

  it('is written anew when something it lacks turns out to have committed', () => {
    const rules = new Rules([
      { name: 'a', after: [] },
      { name: 'b', after: [] },
      { name: 'c', after: [] },
    ]);
    rules.does(rules.claim('b'));
    const commit = rules.commit('b');
    rules.does(rules.fail('b', 'retryable'));
    rules.done('a').refused('c');
    rules.does(rules.assess());
    const hash = rules.state.plan?.hash;
    rules.does(commit);
    rules.undone('a');
    rules.does(rules.settle());
    expect(rules.last).toMatchObject({ type: 'drive_granted', reason: 'next' });
    rules.does(rules.assess());
    expect(rules.last).toMatchObject({ type: 'recovery_planned' });
    expect(rules.state.plan?.hash).not.toBe(hash);
    rules.undone('b');
    expect(rules.does(rules.settle())).toMatchObject({ type: 'saga_compensated' });
  });

  it('has a hash that depends on the entries alone', () => {
    expect(planned(THREE).state.plan?.hash).toBe(planned(THREE).state.plan?.hash);
    expect(planned(THREE).state.plan?.hash).not.toBe(planned(THREE.slice(0, 2)).state.plan?.hash);
  });
});

describe('a recovery', () => {
  it('begins only on a terminal fact, with a plan', () => {
    const rules = new Rules(THREE).done('a');
    expect(rules.refuses(rules.claim('a', 'compensate'))).toEqual({ reason: 'not_planned' });
    rules.refused('b');
    expect(rules.refuses(rules.claim('a', 'compensate'))).toEqual({ reason: 'not_planned' });
  });

  it('waits for those before it in the plan (invariant 13)', () => {
    const rules = planned(THREE);
    expect(rules.refuses(rules.claim('a', 'compensate'))).toEqual({ reason: 'not_ready' });
    rules.undone('b', 'a');
    expect(rules.asks(rules.claim('a', 'compensate')).kind).toBe('already');
  });

  it('is never made for what never committed (invariant 5)', () => {
    const rules = planned(THREE);
    expect(rules.refuses(rules.claim('c', 'compensate'))).toEqual({ reason: 'not_planned' });
  });

  it('is not made while the forward call is in doubt, nor after it turned out absent', () => {
    const rules = new Rules([{ name: 'a', dedupe: 'lookup' }, { name: 'b' }]).lost('a');
    rules.does({ kind: 'cancel', reason: 'no' });
    rules.does(rules.assess());
    expect(rules.refuses(rules.claim('a', 'compensate'))).toEqual({ reason: 'in_doubt' });
    rules.wait(SETTLE_MS + SKEW_MS);
    rules.does(rules.told('a', 'absent'));
    expect(rules.refuses(rules.claim('a', 'compensate'))).toEqual({ reason: 'not_required' });
    expect(rules.does(rules.settle())).toMatchObject({ type: 'saga_compensated' });
  });

  it("never sends a forward call again: one that cannot be asked about is a person's", () => {
    const rules = new Rules(THREE.slice(0, 2)).lost('a');
    rules.does({ kind: 'cancel', reason: 'no' });
    rules.does(rules.assess());
    rules.wait(10_000);
    rules.does(rules.settle());
    expect(rules.last).toMatchObject({
      type: 'review_opened',
      reason: 'unknown_outcome',
      steps: ['a'],
    });
  });

  it('takes another action than the planned one as nothing to do', () => {
    const rules = planned(THREE);
    expect(rules.refuses(rules.claim('b', 'supersede'))).toEqual({ reason: 'not_required' });
  });

  it('that only marks stands at once, and only once', () => {
    const rules = planned([{ name: 'a', effect: 'supersede' }, { name: 'b' }]);
    const mark = {
      kind: 'mark',
      ...rules.drive(),
      step: rules.step('a'),
      action: 'supersede',
    } as const;
    expect(rules.does(mark)).toMatchObject({
      type: 'step_committed',
      action: 'supersede',
      attempt: 0,
    });
    expect(rules.refuses(mark)).toEqual({ reason: 'not_required' });
    expect(rules.does(rules.settle())).toMatchObject({ type: 'saga_compensated' });
  });

  it('that fails for good holds back what is ordered after it, and lets the others finish', () => {
    const rules = new Rules([
      { name: 'root' },
      { name: 'left', after: ['root'] },
      { name: 'right', after: ['root'] },
      { name: 'last', after: ['left', 'right'] },
    ])
      .done('root', 'left', 'right')
      .refused('last');
    rules.does(rules.assess());
    rules.does(rules.claim('left', 'compensate'));
    rules.does(rules.fail('left', 'terminal_compensate', 'compensate'));
    rules.undone('right');
    expect(rules.refuses(rules.claim('root', 'compensate'))).toEqual({ reason: 'not_ready' });
    rules.does(rules.settle());
    expect(rules.last).toMatchObject({
      type: 'review_opened',
      reason: 'recovery_failed',
      steps: ['left'],
      state: 'needs_review',
    });
  });

  it('keeps its own budget, apart from the forward tries', () => {
    const rules = new Rules([{ name: 'a', maxAttempts: 2 }, { name: 'b' }]);
    rules.does(rules.claim('a'));
    rules.does(rules.fail('a', 'retryable'));
    rules.done('a').refused('b');
    rules.does(rules.assess());
    for (let tries = 0; tries < 2; tries += 1) {
      rules.does(rules.claim('a', 'compensate'));
      rules.does(rules.fail('a', 'retryable', 'compensate'));
    }
    expect(rules.refuses(rules.claim('a', 'compensate'))).toEqual({ reason: 'attempts_spent' });
    rules.does(rules.settle());
    expect(rules.last).toMatchObject({ type: 'review_opened', reason: 'recovery_failed' });
  });

  it('under way at the provider is waited for, and never called done', () => {
    const rules = new Rules([{ name: 'a', dedupe: 'lookup' }, { name: 'b' }])
      .done('a')
      .refused('b');
    rules.does(rules.assess());
    rules.does(rules.claim('a', 'compensate'));
    rules.does(rules.told('a', 'pending', 'compensate', { via: 'call' }));
    rules.does(rules.settle());
    expect(rules.last).toMatchObject({
      type: 'drive_parked',
      reason: 'provider',
      state: 'compensating',
    });
    rules.woken();
    rules.does(rules.commit('a', 'compensate', { via: 'reconcile' }));
    expect(rules.does(rules.settle())).toMatchObject({ type: 'saga_compensated' });
  });

  it('is not settled while another attempt lives', () => {
    const rules = planned(THREE);
    rules.does(rules.claim('b', 'compensate'));
    rules.does(rules.settle());
    expect(rules.last).toMatchObject({ type: 'drive_parked', reason: 'lease' });
    expect(rules.last.dueAt).toBe(rules.now + TIMEOUT_MS + 1_000 + SKEW_MS);
  });
});

describe('"compensated"', () => {
  it('is said at once where nothing took effect', () => {
    const rules = new Rules(THREE).refused('a');
    rules.does(rules.assess());
    expect(entries(rules)).toEqual([]);
    expect(rules.does(rules.settle())).toMatchObject({
      type: 'saga_compensated',
      state: 'compensated',
      drive: 'ended',
    });
    expect(rules.last).not.toHaveProperty('dueAt');
  });

  it.each([
    ['a recovery is missing', (_rules: Rules) => {}],
    [
      'a recovery is retried',
      (rules: Rules) => {
        rules.does(rules.claim('a', 'compensate'));
        rules.does(rules.fail('a', 'retryable', 'compensate', 60_000));
      },
    ],
    ['a recovery is in doubt', (rules: Rules) => rules.lost('a', 'compensate')],
    [
      'a recovery failed',
      (rules: Rules) => {
        rules.does(rules.claim('a', 'compensate'));
        rules.does(rules.fail('a', 'terminal_hold', 'compensate'));
      },
    ],
  ])('is not said while %s (invariant 3)', (_when, make) => {
    const rules = planned(THREE.slice(0, 2));
    make(rules);
    expect(rules.does(rules.settle()).state).not.toBe('compensated');
  });

  it('is not said of a defective commit that still stands', () => {
    const rules = new Rules(THREE.slice(0, 1));
    rules.does(rules.claim('a'));
    rules.does(
      rules.commit('a', 'forward', { defect: { code: 'output_deviates', message: 'no' } }),
    );
    expect(rules.refuses(rules.claim('a'))).toEqual({ reason: 'halted' });
    rules.does(rules.assess());
    expect(rules.does(rules.settle()).state).toBe('compensating');
    rules.undone('a');
    expect(rules.does(rules.settle())).toMatchObject({ type: 'saga_compensated' });
  });
});
