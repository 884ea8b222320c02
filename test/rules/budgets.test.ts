import { standingReport } from 'counterstep';
import { describe, expect, it } from 'vitest';
import { viewOf } from '../../lambdas/service/view.ts';
import { AFTER_PIVOT_ATTEMPTS, AFTER_PIVOT_FOR_MS } from '../../statemachines/rules/protocol.ts';
import { Rules, type StepSpec, TIMEOUT_MS } from '../support/saga-builder.ts';

const DAY_MS = 86_400_000;
const TWO: readonly StepSpec[] = [{ name: 'a' }, { name: 'b' }];
const MAIL: readonly StepSpec[] = [
  { name: 'mail', effect: 'irreversible' },
  { name: 'note', effect: 'read_only', maxAttempts: 1 },
];

const tried = (rules: Rules, step: string, retryInMs = 0): void => {
  rules.does(rules.claim(step));
  rules.does(rules.fail(step, 'retryable', 'forward', retryInMs));
};

const deferred = (rules: Rules, step: string, inMs: number, action?: 'compensate'): void => {
  const claim = { ...rules.claim(step, action), kind: 'defer' as const };
  rules.does({ ...claim, until: rules.now + inMs });
};

describe("a step's time", () => {
  const timed = (forMs: number, more: Partial<StepSpec> = {}) =>
    new Rules([{ name: 'a', maxAttempts: 9, forMs, ...more }, { name: 'b' }]);

  it('runs from its first try, not from the start of the saga', () => {
    const rules = timed(5_000).wait(60_000);
    tried(rules, 'a');
    rules.wait(4_999);
    tried(rules, 'a');
    rules.wait(1);
    expect(rules.refuses(rules.claim('a'))).toEqual({ reason: 'time_spent' });
  });

  it('ends the way forward as a fact, before a pause that it would not outlast', () => {
    const rules = timed(5_000);
    tried(rules, 'a', 5_000);
    expect(rules.does(rules.assess())).toMatchObject({
      type: 'saga_halted',
      reason: 'time_spent',
      step: 'a',
      code: 'retryable',
      state: 'compensating',
    });
    expect(rules.last).not.toHaveProperty('budget');
    expect(rules.state.halt).toMatchObject({ reason: 'time_spent', step: 'a' });
  });

  it('begins anew where a person gives it another budget', () => {
    const rules = new Rules([{ name: 'a' }, { name: 'b', forMs: 2_000, maxAttempts: 9 }]).done('a');
    tried(rules, 'b');
    rules.does(rules.claim('b'));
    rules.does(rules.fail('b', 'terminal_hold'));
    rules.does(rules.assess());
    rules.wait(DAY_MS);
    rules.does(rules.decision({ decision: 'retry' }));
    expect(rules.does(rules.claim('b'))).toMatchObject({ type: 'step_claimed', attempt: 3 });
  });

  it('is its own for recovery, and ends that in review', () => {
    const rules = timed(5_000, { maxAttempts: 3 });
    tried(rules, 'a');
    tried(rules, 'a');
    rules.wait(4_000).done('a').wait(60_000).refused('b');
    rules.does(rules.assess());
    rules.does(rules.claim('a', 'compensate'));
    rules.does(rules.fail('a', 'retryable', 'compensate', 100));
    rules.wait(100);
    rules.does(rules.claim('a', 'compensate'));
    rules.does(rules.fail('a', 'retryable', 'compensate', 5_000));
    expect(rules.does(rules.settle())).toMatchObject({
      type: 'review_opened',
      reason: 'recovery_failed',
      steps: ['a'],
    });
  });

  it('does not end the questions about a call in doubt', () => {
    const rules = timed(1_000, { dedupe: 'key' }).lost('a').wait(10_000);
    expect(rules.does(rules.claim('a'))).toMatchObject({ type: 'step_claimed', round: 1 });
  });
});

describe("a tool's open breaker", () => {
  it('parks the saga until then, and spends no try', () => {
    const rules = new Rules(TWO);
    deferred(rules, 'a', 30_000);
    expect(rules.last).toMatchObject({
      type: 'step_deferred',
      reason: 'breaker_open',
      retryAt: rules.now + 30_000,
    });
    expect(rules.refuses(rules.claim('a'))).toMatchObject({ reason: 'backoff' });
    expect(rules.does(rules.assess())).toMatchObject({
      type: 'drive_parked',
      reason: 'breaker',
      idle: false,
      dueAt: rules.now + 30_000,
    });
    expect(rules.state.steps.get('a')?.forward).toMatchObject({ attempts: 0, spent: 0 });
    rules.woken();
    expect(rules.does(rules.claim('a'))).toMatchObject({ type: 'step_claimed', attempt: 1 });
  });

  it("that lasts is turned into a fact by the step's time, and by a day where it has none", () => {
    for (const [forMs, limit] of [
      [60_000, 60_000],
      [undefined, DAY_MS],
    ] as const) {
      const rules = new Rules([{ name: 'a', ...(forMs === undefined ? {} : { forMs }) }]);
      deferred(rules, 'a', limit - 1);
      rules.does(rules.assess());
      rules.woken();
      deferred(rules, 'a', 1);
      expect(rules.does(rules.assess())).toMatchObject({
        type: 'saga_halted',
        reason: 'breaker_open',
        step: 'a',
      });
      expect(rules.last).not.toHaveProperty('code');
    }
  });

  it('holds a call in doubt that would be sent again, and leaves it in doubt', () => {
    const rules = new Rules([{ name: 'a', dedupe: 'key' }]).lost('a').wait(1_000);
    deferred(rules, 'a', 30_000);
    expect(rules.state.steps.get('a')?.forward.status).toBe('in_doubt');
    expect(rules.refuses(rules.claim('a'))).toMatchObject({ reason: 'waiting' });
    expect(rules.does(rules.assess())).toMatchObject({ reason: 'breaker' });
    rules.woken();
    expect(rules.does(rules.claim('a'))).toMatchObject({ round: 1, attempt: 2 });
  });

  it('holds an attempt that died without a word, and is waited for, not looked at again at once', () => {
    const rules = new Rules([{ name: 'a', dedupe: 'key' }]);
    rules.does(rules.claim('a'));
    rules.wait(60_000);
    deferred(rules, 'a', 30_000);
    expect(rules.does(rules.assess())).toMatchObject({ dueAt: rules.now + 30_000 });
  });

  it('holds a recovery, which goes to a person when its time is over', () => {
    const rules = new Rules([{ name: 'a', forMs: 60_000 }, { name: 'b' }]).done('a').refused('b');
    rules.does(rules.assess());
    deferred(rules, 'a', 20_000, 'compensate');
    expect(rules.does(rules.settle())).toMatchObject({
      reason: 'breaker',
      dueAt: rules.now + 20_000,
    });
    rules.woken();
    deferred(rules, 'a', 40_000, 'compensate');
    expect(rules.does(rules.settle())).toMatchObject({
      type: 'review_opened',
      reason: 'recovery_failed',
      explanation: expect.stringContaining("its tool's breaker let nothing through") as string,
    });
    rules.does(rules.decision({ decision: 'retry' }));
    expect(rules.does(rules.claim('a', 'compensate'))).toMatchObject({ attempt: 1 });
  });

  it('is noted only where the claim would have stood', () => {
    const rules = new Rules(TWO);
    const claim = rules.claim('b');
    expect(rules.refuses({ ...claim, kind: 'defer', until: rules.now })).toEqual({
      reason: 'not_ready',
    });
    rules.does(rules.claim('a'));
    expect(rules.refuses({ ...rules.claim('a'), kind: 'defer', until: rules.now })).toMatchObject({
      reason: 'in_flight',
    });
  });
});

describe('the pauses for a breaker', () => {
  const pauses = (rules: Rules, count: number, breakerMs: number): number[] =>
    Array.from({ length: count }, () => {
      deferred(rules, 'a', breakerMs);
      const pause = (rules.state.steps.get('a')?.forward.retryAt ?? 0) - rules.now;
      rules.does(rules.assess());
      if (rules.last.type === 'drive_parked') rules.woken();
      return pause;
    });

  it('grow, so that a long outage makes few events', () => {
    const rules = new Rules(TWO);
    const seconds = pauses(rules, 9, 30_000).map((ms) => ms / 1_000);
    expect(seconds).toEqual([30, 60, 120, 240, 480, 900, 900, 900, 900]);
    rules.does(rules.claim('a'));
    rules.does(rules.fail('a', 'retryable', 'forward', 0));
    expect(pauses(rules, 1, 30_000)).toEqual([30_000]);
  });

  it("are as long as the breaker's own, where that is longer", () => {
    expect(pauses(new Rules(TWO), 2, 3_600_000)).toEqual([3_600_000, 3_600_000]);
  });

  it('take no more than half of what is left, so that the end comes when it should', () => {
    const rules = new Rules([{ name: 'a', forMs: 600_000 }]);
    const begun = rules.now;
    for (let tries = 0; tries < 30 && rules.state.halt === undefined; tries += 1) {
      pauses(rules, 1, 10_000);
    }
    expect(rules.state.halt?.reason).toBe('breaker_open');
    const took = rules.now - begun;
    expect(took).toBeGreaterThan(580_000);
    expect(took).toBeLessThanOrEqual(600_000);
  });
});

describe("the saga's tries", () => {
  const SMALL: readonly StepSpec[] = [
    { name: 'a', maxAttempts: 3 },
    { name: 'b', maxAttempts: 3 },
  ];

  it('are counted over all forward calls, and their end is a fact', () => {
    const rules = new Rules(SMALL, { budget: { attempts: 4 } });
    tried(rules, 'a');
    tried(rules, 'a');
    rules.done('a');
    tried(rules, 'b');
    expect(rules.refuses(rules.claim('b'))).toEqual({ reason: 'attempts_spent' });
    expect(rules.does(rules.assess())).toMatchObject({
      type: 'saga_halted',
      reason: 'attempts_spent',
      budget: 'saga',
      step: 'b',
    });
    expect(rules.state.halt).toMatchObject({ budget: 'saga' });
  });

  it('leave those of recovery alone', () => {
    const rules = new Rules(SMALL, { budget: { attempts: 4 } });
    tried(rules, 'a');
    tried(rules, 'a');
    rules.done('a');
    tried(rules, 'b');
    rules.does(rules.assess());
    rules.does(rules.assess());
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      expect(rules.does(rules.claim('a', 'compensate'))).toMatchObject({ attempt });
      rules.does(rules.fail('a', 'retryable', 'compensate', 0));
    }
    expect(rules.refuses(rules.claim('a', 'compensate'))).toEqual({ reason: 'attempts_spent' });
  });

  it('end a step that was never tried', () => {
    const rules = new Rules(SMALL, { budget: { attempts: 4 } });
    // Sent again under its key, a call is a question and spends nothing; refused before, it is a try.
    tried(rules, 'a');
    tried(rules, 'a');
    rules.done('a');
    expect(rules.asks(rules.claim('b'))).toMatchObject({ kind: 'append' });
    rules.lost('b').wait(TIMEOUT_MS * 2);
    expect(rules.asks(rules.claim('b'))).toMatchObject({ kind: 'append' });
  });
});

describe("the saga's cost", () => {
  const PRICED: readonly StepSpec[] = [
    { name: 'a', forwardCostMinor: 40 },
    { name: 'b', forwardCostMinor: 60 },
  ];
  const budget = { cost: { costMinor: 100, currency: 'EUR' } };

  it('is as estimated, until the provider tells it', () => {
    const rules = new Rules(PRICED, { budget }).done('a');
    expect(rules.asks(rules.claim('b'))).toMatchObject({ kind: 'append' });
    const dear = new Rules(PRICED, { budget });
    dear.does(dear.claim('a'));
    dear.does(dear.commit('a', 'forward', { cost: { costMinor: 41, currency: 'EUR' } }));
    expect(dear.refuses(dear.claim('b'))).toEqual({ reason: 'cost_spent' });
    expect(dear.does(dear.assess())).toMatchObject({
      type: 'saga_halted',
      reason: 'cost_spent',
      budget: 'saga',
      step: 'b',
    });
  });

  it('counts what is in doubt in full, and what surely did nothing not at all', () => {
    const side = PRICED.map((step) => ({ ...step, after: [], dedupe: 'lookup' as const }));
    const dear = { cost: { costMinor: 100, currency: 'EUR' } };
    const rules = new Rules([...side, { name: 'c', after: [], forwardCostMinor: 0 }], {
      budget: dear,
    }).lost('a');
    expect(rules.asks(rules.claim('b'))).toMatchObject({ kind: 'append' });
    rules.does(rules.claim('b'));
    rules.does(rules.fail('b', 'retryable', 'forward', 0));
    expect(rules.asks(rules.claim('b'))).toMatchObject({ kind: 'append' });
    // A free step goes on whatever the others cost.
    expect(rules.asks(rules.claim('c'))).toMatchObject({ kind: 'append' });
  });
});

describe('what a spent budget leaves is told', () => {
  const wordsOf = (rules: Rules, name: string) =>
    standingReport(rules.state).steps.find(({ step }) => step === name)?.words;

  it('in the words of the standing report', () => {
    const time = new Rules([{ name: 'a', forMs: 2_000, maxAttempts: 9 }]);
    tried(time, 'a', 2_000);
    time.does(time.assess());
    expect(wordsOf(time, 'a')).toBe('never took effect: no time was left');
    const breaker = new Rules([{ name: 'a', forMs: 2_000 }]);
    deferred(breaker, 'a', 2_000);
    breaker.does(breaker.assess());
    expect(wordsOf(breaker, 'a')).toBe("never attempted: its tool's breaker let nothing through");
    const tries = new Rules(TWO, { budget: { attempts: 4 } });
    tried(tries, 'a');
    tried(tries, 'a');
    tries.done('a');
    tried(tries, 'b');
    tries.does(tries.assess());
    expect(wordsOf(tries, 'b')).toBe('never took effect: no tries were left for the saga');
    expect(wordsOf(tries, 'a')).toBe('still stands: its undo is to come');
  });

  it('and in the view: what waits for a breaker, and which budget ended it', () => {
    const rules = new Rules(TWO, { budget: { attempts: 4 } });
    deferred(rules, 'a', 30_000);
    expect(viewOf(rules.state, rules.now).steps[0]?.forward).toMatchObject({
      state: 'retrying',
      attempts: 0,
      deferred: true,
      nextAt: new Date(rules.now + 30_000).toISOString(),
    });
    rules.wait(30_000);
    tried(rules, 'a');
    tried(rules, 'a');
    rules.done('a');
    expect(viewOf(rules.state, rules.now).steps[0]?.forward).not.toHaveProperty('deferred');
    tried(rules, 'b');
    rules.does(rules.assess());
    expect(viewOf(rules.state, rules.now).halt).toMatchObject({
      reason: 'attempts_spent',
      budget: 'saga',
      step: 'b',
    });
  });
});

describe('past the pivot', () => {
  it('no budget of the saga ends anything, and a step has a day at least', () => {
    const rules = new Rules(
      MAIL.map((step) => ({ ...step, maxAttempts: 1, forMs: TIMEOUT_MS, forwardCostMinor: 5 })),
      { budget: { attempts: 1, cost: { costMinor: 5, currency: 'EUR' } } },
    ).done('mail');
    tried(rules, 'note');
    rules.wait(AFTER_PIVOT_FOR_MS - 1);
    tried(rules, 'note');
    expect(rules.asks(rules.claim('note'))).toMatchObject({ kind: 'append' });
    rules.wait(1);
    expect(rules.refuses(rules.claim('note'))).toEqual({ reason: 'time_spent' });
    expect(rules.does(rules.assess())).toMatchObject({
      type: 'review_opened',
      reason: 'after_pivot',
    });
  });

  it('a step has many tries', () => {
    const rules = new Rules(MAIL).done('mail');
    for (let tries = 1; tries < AFTER_PIVOT_ATTEMPTS; tries += 1) tried(rules, 'note');
    expect(rules.asks(rules.claim('note'))).toMatchObject({ kind: 'append' });
    tried(rules, 'note');
    expect(rules.refuses(rules.claim('note'))).toEqual({ reason: 'attempts_spent' });
  });
});
