import { describe, expect, it } from 'vitest';
import { AFTER_PIVOT_ATTEMPTS } from '../../statemachines/rules/protocol.ts';
import { standingReport } from '../../statemachines/rules/standing.ts';
import { Rules, type StepSpec, TIMEOUT_MS } from '../support/saga-builder.ts';

const HOUR_MS = 3_600_000;
const LONG_MS = 100_000;
const cancel = { kind: 'cancel', reason: 'no' } as const;
const seen = { evidence: "the provider's own records" } as const;
const PIVOT: readonly StepSpec[] = [
  { name: 'a' },
  { name: 'p', effect: 'irreversible', dedupe: 'none' },
];

/** Cancelled with `lost` in doubt, and up for review since nobody can be asked. */
function underReview(steps: readonly StepSpec[], lost: string): Rules {
  const rules = new Rules(steps).done('a').lost(lost);
  rules.does(cancel);
  rules.does(rules.assess());
  rules.does(rules.settle());
  expect(rules.last).toMatchObject({ type: 'review_opened', reason: 'unknown_outcome' });
  return rules.wait(LONG_MS);
}

describe('a second effect', () => {
  it.each([
    ['the same ids', { order: 'O-1', charge: 'CH-2' }, 'already'],
    ['some of the ids', { charge: 'CH-2' }, 'already'],
    ['an id that contradicts', { order: 'O-1', charge: 'CH-1' }, 'append'],
    ['no id in common', { refund: 'RF-1' }, 'append'],
  ])('is told from the first one by its ids: %s', (_what, externalIds, expected) => {
    const rules = new Rules([{ name: 'a', dedupe: 'none' }, { name: 'b' }]).lost('a');
    const first = rules.commit('a', 'forward', { externalIds });
    rules.does(rules.assess());
    rules.wait(LONG_MS);
    rules.does(rules.answer('a', 'forward', 'absent'));
    rules.does(rules.claim('a'));
    const second = { externalIds: { order: 'O-1', charge: 'CH-2' } };
    rules.does(rules.commit('a', 'forward', second));
    expect(rules.asks(first).kind).toBe(expected);
    if (expected === 'already') return;
    expect(rules.does(first)).toMatchObject({ type: 'late_evidence', externalIds });
    rules.done('b');
    expect(rules.does(rules.complete())).toMatchObject({ reason: 'late_evidence' });
  });
});

describe('an id that contradicts the one on record', () => {
  const HOW = ['the call itself', 'a question'] as const;
  const first = { externalIds: { charge: 'CH-1' } };
  const second = { externalIds: { charge: 'CH-2' } };

  /** Both words, as they may be told. */
  function told(rules: Rules, name: object, how: (typeof HOW)[number]) {
    const found = { via: 'reconcile', foundAt: rules.now };
    return { ...name, ...(how === 'a question' ? found : {}) };
  }

  it.each(
    (['key', 'lookup', 'none'] as const).flatMap((dedupe) =>
      HOW.flatMap((one) => HOW.map((other) => ({ dedupe, one, other }))),
    ),
  )('is a second effect of one attempt ($dedupe: $one, then $other)', ({ dedupe, one, other }) => {
    const reconcile = dedupe === 'lookup';
    const rules = new Rules([{ name: 'a', dedupe, reconcile }, { name: 'b' }]);
    rules.does(rules.claim('a'));
    const name = rules.attempt('a');
    rules.does(rules.commit('a', 'forward', told(rules, { ...name, ...first }, one)));
    const again = rules.commit('a', 'forward', told(rules, { ...name, ...first }, other));
    expect(rules.asks(again).kind).toBe('already');
    const beside = rules.commit('a', 'forward', told(rules, { ...name, ...second }, other));
    expect(rules.does(beside)).toMatchObject({ type: 'late_evidence', ...second });
    expect(rules.asks(beside).kind).toBe('already');
    rules.done('b');
    expect(rules.does(rules.complete())).toMatchObject({
      reason: 'late_evidence',
      state: 'incident',
    });
  });

  it('is a second effect of two attempts under one key', () => {
    const rules = new Rules([{ name: 'a', dedupe: 'key' }]).lost('a');
    const late = rules.commit('a', 'forward', first);
    rules.wait(LONG_MS);
    rules.does(rules.claim('a'));
    rules.does(rules.commit('a', 'forward', second));
    expect(rules.does(late)).toMatchObject({ type: 'late_evidence', ...first, attempt: 1 });
  });

  it('is a second undo where an undo told it', () => {
    const rules = new Rules([{ name: 'a' }, { name: 'b' }]).done('a').refused('b');
    rules.does(rules.assess());
    rules.does(rules.claim('a', 'compensate'));
    const commit = rules.commit('a', 'compensate', first);
    rules.does(commit);
    const found = told(rules, { ...commit, ...second }, 'a question') as typeof commit;
    expect(rules.does(found)).toMatchObject({ type: 'late_evidence', action: 'compensate' });
  });

  it('is no second effect where the first one was a pending word for it', () => {
    const rules = new Rules([{ name: 'a', dedupe: 'lookup', reconcile: true }]).lost('a');
    rules.does({ ...rules.told('a', 'pending'), externalIds: { charge: 'PENDING-1' } } as never);
    const commit = rules.commit('a', 'forward', told(rules, first, 'a question'));
    expect(rules.does(commit)).toMatchObject({ type: 'step_committed', ...first });
    expect(rules.asks(commit).kind).toBe('already');
  });
});

describe('what a pending answer told', () => {
  const PENDING = { operation: 'OP-1' };

  /** An attempt at a provider that accepted it, under an id of its own for that. */
  function accepted(dedupe: 'key' | 'lookup', ids: Readonly<Record<string, string>> = PENDING) {
    const reconcile = dedupe === 'lookup';
    const rules = new Rules([{ name: 'a', dedupe, reconcile }, { name: 'b' }]).lost('a');
    rules.does({ ...rules.told('a', 'pending'), externalIds: ids } as never);
    expect(rules.state.steps.get('a')?.forward.externalIds).toEqual(ids);
    return rules;
  }

  function settledAbsent(rules: Rules): Rules {
    rules.wait(LONG_MS);
    rules.does(rules.told('a', 'absent'));
    return rules;
  }

  it('is no word against what a person answered without ids', () => {
    const rules = accepted('lookup', { charge: 'PENDING-1' });
    const late = rules.commit('a', 'forward', { externalIds: { charge: 'CH-1' } });
    rules.wait(86_400_000);
    rules.does(rules.assess());
    rules.does(rules.answer('a', 'forward', 'committed'));
    expect(rules.asks(late).kind).toBe('already');
  });

  it('is no word against an effect that came to be in another round', () => {
    const rules = settledAbsent(accepted('lookup'));
    rules.does(rules.claim('a'));
    const second = rules.commit('a', 'forward', { externalIds: { charge: 'CH-2' } });
    rules.does(second);
    const externalIds = { operation: 'OP-2', charge: 'CH-2' };
    expect(rules.asks({ ...second, externalIds } as typeof second).kind).toBe('already');
  });

  it('does not make its effect another one’s when that one told no id', () => {
    const rules = accepted('lookup', { charge: 'CH-1' });
    const first = rules.commit('a', 'forward', { externalIds: { charge: 'CH-1' } });
    settledAbsent(rules);
    rules.does(rules.claim('a'));
    rules.does(rules.commit('a', 'forward', { externalIds: {} }));
    expect(rules.does(first)).toMatchObject({ type: 'late_evidence', attempt: 1 });
  });

  it('is another word about an effect that was called for under the same key', () => {
    const rules = accepted('key');
    const first = rules.commit('a', 'forward', { externalIds: PENDING });
    rules.wait(LONG_MS);
    rules.does(rules.claim('a'));
    rules.does(rules.commit('a', 'forward', { externalIds: { charge: 'CH-1' } }));
    expect(rules.asks(first).kind).toBe('already');
  });

  it('is forgotten once it is known to have come to nothing', () => {
    const rules = settledAbsent(accepted('lookup'));
    expect(rules.state.steps.get('a')?.forward.externalIds).toEqual({});
    rules.done('a');
    const [step] = standingReport(rules.state).steps;
    expect(step?.externalIds).toEqual({ forward: 'a-forward' });
  });
});

describe('what a person vouched for', () => {
  it('is an incident once its call turns out to have committed', () => {
    const rules = underReview([{ name: 'a' }, { name: 'b', dedupe: 'none' }], 'b');
    const late = rules.commit('b');
    rules.does(rules.decision({ decision: 'resolve', step: 'b', ...seen }));
    expect(rules.does(late)).toMatchObject({ type: 'late_evidence', step: 'b' });
    expect(rules.asks(late)).toEqual({ kind: 'already' });
    rules.undone('a');
    expect(rules.does(rules.settle())).toMatchObject({
      type: 'incident_opened',
      reason: 'late_evidence',
      steps: ['b'],
    });
    expect(standingReport(rules.state).clear).toBe(false);
  });

  it('is owed again when the person answers "committed" after all', () => {
    const rules = new Rules([
      { name: 'a' },
      { name: 'b', dedupe: 'none' },
      { name: 'c', dedupe: 'none', after: ['a'] },
    ]);
    rules.done('a').lost('b').lost('c');
    rules.does(cancel);
    rules.does(rules.assess());
    rules.does(rules.settle());
    rules.wait(LONG_MS);
    rules.does(rules.decision({ decision: 'resolve', step: 'b', ...seen }));
    rules.does(rules.settle());
    rules.does(rules.answer('b', 'forward', 'committed'));
    expect(rules.state.steps.get('b')).toMatchObject({ resolved: undefined });
    rules.undone('b');
  });

  it('waits while the pivot is in doubt, since then it may have to stand', () => {
    const rules = underReview(PIVOT, 'p');
    const resolve = (step: string) => rules.decision({ decision: 'resolve', step, ...seen });
    expect(rules.refuses(resolve('a'))).toMatchObject({
      reason: 'conflict',
      explanation: expect.stringContaining('answer for "p" first'),
    });
    expect(rules.does(resolve('p'))).toMatchObject({ type: 'review_decided' });
  });

  it('keeps a pivot that committed after all from going forward (invariant 10)', () => {
    const rules = underReview(PIVOT, 'p');
    const late = rules.commit('p');
    rules.does(rules.answer('p', 'forward', 'absent'));
    for (let tries = 0; tries < 3; tries += 1) {
      rules.does(rules.claim('a', 'compensate'));
      rules.does(rules.fail('a', 'terminal_hold', 'compensate'));
      rules.does(rules.settle());
      if (tries < 2) rules.does({ kind: 'resume' });
    }
    rules.does(rules.decision({ decision: 'resolve', step: 'a', ...seen }));
    rules.does(late);
    expect(rules.state.halt).toMatchObject({ reason: 'cancelled' });
    expect(rules.refuses(rules.complete())).toEqual({ reason: 'halted' });
  });
});

describe('a failure past the point of no return', () => {
  it('of the pivot itself is contained and ends as an incident, with nothing undone', () => {
    const rules = new Rules([{ name: 'a' }, { name: 'p', effect: 'irreversible', hook: true }]);
    rules.done('a');
    rules.does(rules.claim('p'));
    rules.does(rules.fail('p', 'irreversible_incident'));
    expect(rules.does(rules.assess())).toMatchObject({
      type: 'recovery_planned',
      plan: { entries: [{ step: 'p', action: 'contain', after: [] }] },
    });
    expect(rules.refuses(rules.claim('a', 'compensate'))).toEqual({ reason: 'not_planned' });
    rules.undone('p');
    expect(rules.does(rules.settle())).toMatchObject({
      type: 'incident_opened',
      reason: 'irreversible_failure',
      steps: ['p'],
      state: 'incident',
    });
    expect(standingReport(rules.state)).toMatchObject({
      clear: false,
      steps: [{ standing: 'stands' }, { standing: 'irreversible' }],
    });
  });

  it('of any other step is never reported as compensated', () => {
    const rules = new Rules([{ name: 'a' }, { name: 'b' }]).done('a');
    rules.does(rules.claim('b'));
    rules.does(rules.fail('b', 'irreversible_incident'));
    rules.does(rules.assess());
    rules.undone('a');
    expect(rules.does(rules.settle())).toMatchObject({
      reason: 'irreversible_failure',
      steps: ['b'],
    });
    expect(standingReport(rules.state).clear).toBe(false);
  });
});

describe('a wait', () => {
  it('for a provider that can neither be asked nor called again lasts until patience ends', () => {
    const rules = new Rules([{ name: 'a' }, { name: 'b', dedupe: 'none', pendingForMs: HOUR_MS }]);
    rules.done('a');
    rules.does(rules.claim('b'));
    rules.does(rules.told('b', 'pending', 'forward', { via: 'call' }));
    const ends = rules.now + HOUR_MS;
    expect(rules.state.steps.get('b')?.forward.askAt).toBe(ends);
    expect(rules.does(rules.assess())).toMatchObject({ reason: 'provider', dueAt: ends });
    rules.woken();
    expect(rules.does(rules.assess())).toMatchObject({ reason: 'pending_too_long', steps: ['b'] });
  });

  it('of a keyed call in recovery is no drive that moved nothing', () => {
    const rules = new Rules([{ name: 'a' }, { name: 'b', pendingForMs: HOUR_MS }]).done('a');
    rules.does(rules.claim('b'));
    rules.does(rules.told('b', 'pending', 'forward', { via: 'call' }));
    const ends = rules.now + HOUR_MS;
    rules.does(cancel);
    rules.does(rules.assess());
    rules.wait(TIMEOUT_MS * 5);
    while (rules.now < ends) {
      expect(rules.does(rules.settle())).toMatchObject({ reason: 'provider' });
      rules.woken();
    }
    expect(rules.does(rules.settle())).toMatchObject({ reason: 'pending_too_long', steps: ['b'] });
  });
});

describe('behind the pivot', () => {
  it('a person may give up on a step that never finishes: contained, and an incident', () => {
    const rules = new Rules([
      { name: 'p', effect: 'irreversible' },
      { name: 'q', effect: 'read_only' },
    ]);
    rules.done('p');
    for (let tries = 0; tries < AFTER_PIVOT_ATTEMPTS; tries += 1) {
      rules.does(rules.claim('q'));
      rules.does(rules.fail('q', 'retryable', 'forward', 0));
    }
    rules.does(rules.assess());
    expect(rules.state.review).toMatchObject({ reason: 'after_pivot' });
    rules.does(rules.decision({ decision: 'recover', ...seen }));
    expect(rules.state.halt).toMatchObject({ reason: 'person', afterPivot: true });
    rules.does(rules.assess());
    rules.does({ kind: 'mark', ...rules.drive(), step: rules.step('p'), action: 'contain' });
    expect(rules.does(rules.settle())).toMatchObject({ reason: 'pivot_committed', steps: ['p'] });
  });
});

describe('an approval', () => {
  it('is refused where recovery costs nothing', () => {
    const rules = underReview([{ name: 'a' }, { name: 'b', dedupe: 'none' }], 'b');
    const planHash = rules.state.plan?.hash ?? '';
    const maxCost = { costMinor: 1, currency: 'EUR' };
    expect(rules.refuses(rules.decision({ decision: 'approve', planHash, maxCost }))).toMatchObject(
      { explanation: expect.stringContaining('costs nothing') },
    );
  });
});
