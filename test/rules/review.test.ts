import { describe, expect, it } from 'vitest';
import { SKEW_MS } from '../../statemachines/rules/protocol.ts';
import { Rules, SETTLE_MS, type StepSpec, TIMEOUT_MS } from '../support/saga-builder.ts';

const TWO: readonly StepSpec[] = [{ name: 'a' }, { name: 'b' }];
const NONE: readonly StepSpec[] = [{ name: 'a', dedupe: 'none' }, { name: 'b' }];
const evidence = 'seen in their records';

function held(): Rules {
  const rules = new Rules(TWO).done('a');
  rules.does(rules.claim('b'));
  rules.does(rules.fail('b', 'terminal_hold'));
  rules.does(rules.assess());
  return rules;
}

function unknown(): Rules {
  const rules = new Rules(NONE).lost('a');
  rules.does(rules.assess());
  return rules;
}

function stuck(): Rules {
  const rules = new Rules(TWO).done('a').refused('b');
  rules.does(rules.assess());
  rules.does(rules.claim('a', 'compensate'));
  rules.does(rules.fail('a', 'terminal_compensate', 'compensate'));
  rules.does(rules.settle());
  return rules;
}

describe('a review', () => {
  it('parks the saga under a name of its own, with a deadline', () => {
    const rules = held();
    expect(rules.last).toMatchObject({
      type: 'review_opened',
      review: `saga-1.${rules.last.seq}`,
      reason: 'held_by_tool',
      steps: ['b'],
      deadlineAt: rules.now + 86_400_000,
      state: 'needs_review',
      drive: 'parked',
      dueAt: rules.now + 86_400_000,
    });
  });

  it('is reminded of at its deadline, then at twice, four times the distance', () => {
    const rules = held();
    const openedAt = rules.now;
    const days: number[] = [];
    for (let drives = 0; drives < 4; drives += 1) {
      days.push(((rules.state.dueAt ?? 0) - openedAt) / 86_400_000);
      rules.woken();
      rules.does(rules.assess());
      expect(rules.last).toMatchObject({
        type: 'drive_parked',
        reason: 'person',
        state: 'needs_review',
      });
    }
    expect(days).toEqual([1, 2, 4, 8]);
  });

  it('takes no decision meant for another', () => {
    const rules = held();
    const decision = { ...rules.decision({ decision: 'retry' }), review: 'saga-1.2' } as never;
    expect(rules.refuses(decision)).toMatchObject({ reason: 'conflict' });
    rules.does(rules.decision({ decision: 'retry' }));
    expect(rules.refuses(rules.decision({ decision: 'retry' }))).toMatchObject({
      reason: 'conflict',
    });
  });

  it('rejected stays open', () => {
    const rules = held();
    rules.does(rules.decision({ decision: 'reject', evidence: 'not now' }));
    expect(rules.state).toMatchObject({
      status: 'needs_review',
      review: { reason: 'held_by_tool' },
    });
  });

  it('about a lost answer is over when the answer comes after all', () => {
    const rules = unknown();
    rules.does(rules.commit('a'));
    expect(rules.state).toMatchObject({ review: undefined, status: 'running', drive: 'running' });
  });
});

describe('the decision', () => {
  it('retry gives what was held a fresh budget under another key', () => {
    const rules = held();
    rules.does(rules.decision({ decision: 'retry' }));
    expect(rules.last).toMatchObject({
      type: 'review_decided',
      state: 'running',
      drive: 'running',
      epoch: 2,
    });
    expect(rules.does(rules.claim('b'))).toMatchObject({ attempt: 2, round: 2 });
  });

  it('retry reopens failed recoveries', () => {
    const rules = stuck();
    rules.does(rules.decision({ decision: 'retry' }));
    rules.undone('a');
    expect(rules.does(rules.settle())).toMatchObject({ type: 'saga_compensated' });
  });

  it('recover is a terminal fact', () => {
    const rules = held();
    rules.does(rules.decision({ decision: 'recover' }));
    expect(rules.state).toMatchObject({ halt: { reason: 'person' }, status: 'compensating' });
    rules.does(rules.assess());
    rules.undone('a');
    expect(rules.does(rules.settle())).toMatchObject({ type: 'saga_compensated' });
  });

  it('recover is refused under way, and while the pivot may have committed', () => {
    const under = stuck();
    expect(under.refuses(under.decision({ decision: 'recover' }))).toMatchObject({
      reason: 'conflict',
    });
    const pivot = new Rules([{ name: 'a', effect: 'irreversible', dedupe: 'none' }]).lost('a');
    pivot.does(pivot.assess());
    expect(pivot.refuses(pivot.decision({ decision: 'recover' }))).toMatchObject({
      reason: 'conflict',
    });
  });

  it('resolve vouches for a step, by name and with evidence', () => {
    const rules = stuck();
    rules.actor = 'ada';
    const resolve = (more: object) => rules.decision({ decision: 'resolve', step: 'a', ...more });
    expect(rules.refuses(resolve({}))).toMatchObject({ reason: 'conflict' });
    expect(rules.refuses(resolve({ evidence: ' ' }))).toMatchObject({ reason: 'conflict' });
    expect(rules.refuses(resolve({ evidence, step: 'x' }))).toMatchObject({ reason: 'conflict' });
    expect(rules.refuses(resolve({ evidence, step: 'b' }))).toMatchObject({ reason: 'conflict' });
    rules.does(resolve({ evidence }));
    expect(rules.state.steps.get('a')?.resolved).toEqual({ by: 'ada', at: rules.now, evidence });
    expect(rules.does(rules.settle())).toMatchObject({ type: 'saga_compensated' });
  });

  it('resolve is refused while nothing is recovered, and while a call may still land', () => {
    const early = held();
    expect(
      early.refuses(early.decision({ decision: 'resolve', step: 'a', evidence })),
    ).toMatchObject({
      reason: 'conflict',
    });
    const rules = new Rules(NONE).lost('a');
    rules.does({ kind: 'cancel', reason: 'no' });
    rules.does(rules.assess());
    rules.does(rules.settle());
    const resolve = rules.decision({ decision: 'resolve', step: 'a', evidence });
    expect(rules.refuses(resolve)).toMatchObject({ reason: 'conflict', until: rules.now + 3_000 });
    rules.wait(3_000);
    rules.does(resolve);
    expect(rules.does(rules.settle())).toMatchObject({ type: 'saga_compensated' });
  });

  it('resolve of an irreversible step in doubt lets the others be recovered', () => {
    const rules = new Rules([{ name: 'a' }, { name: 'b', effect: 'irreversible', dedupe: 'none' }])
      .done('a')
      .lost('b');
    rules.does({ kind: 'cancel', reason: 'no' });
    rules.does(rules.assess());
    rules.does(rules.settle());
    rules.wait(10_000);
    rules.does(rules.decision({ decision: 'resolve', step: 'b', evidence }));
    rules.undone('a');
    expect(rules.does(rules.settle())).toMatchObject({ type: 'saga_compensated' });
  });

  it('answer "committed" takes the place of the provider\'s, result included', () => {
    const rules = unknown();
    rules.actor = 'ada';
    const result = { kind: 'inline', value: { id: 'x' } } as const;
    const undo = { kind: 'inline', value: { id: 'x' } } as const;
    const answer = {
      decision: 'answer',
      step: 'a',
      action: 'forward',
      answer: 'committed',
    } as const;
    expect(rules.refuses(rules.decision(answer))).toMatchObject({ reason: 'conflict' });
    rules.does(rules.decision({ ...answer, evidence, result, undo, externalIds: { a: 'A-1' } }));
    expect(rules.state.steps.get('a')?.forward).toMatchObject({
      status: 'done',
      externalIds: { a: 'A-1' },
      commit: { via: 'person', by: 'ada', result, undo },
    });
    rules.actor = 'drive';
    expect(rules.asks(rules.claim('b')).kind).toBe('append');
  });

  it('answer "absent" waits until the call can no longer land, then raises the round (invariant 9)', () => {
    const rules = unknown();
    const answer = rules.answer('a', 'forward', 'absent');
    const until = rules.now + Math.max(SETTLE_MS, 1_000) + SKEW_MS;
    expect(rules.refuses(answer)).toMatchObject({ reason: 'conflict', until });
    rules.now = until;
    rules.does(answer);
    expect(rules.does(rules.claim('a'))).toMatchObject({ round: 2, attempt: 2 });
  });

  it.each([
    ['no step', { action: 'forward', answer: 'absent', evidence }],
    ['no action', { step: 'a', answer: 'absent', evidence }],
    ['no answer', { step: 'a', action: 'forward', evidence }],
    ['an action never attempted', { step: 'a', action: 'compensate', answer: 'absent', evidence }],
    ['a step never attempted', { step: 'b', action: 'forward', answer: 'absent', evidence }],
  ] as const)('answer is refused with %s', (_what, more) => {
    const rules = unknown().wait(10_000);
    expect(rules.refuses(rules.decision({ decision: 'answer', ...more }))).toMatchObject({
      reason: 'conflict',
    });
  });

  it('answer is refused for what is known', () => {
    const rules = held();
    for (const step of ['a', 'b']) {
      const answer = rules.answer(step, 'forward', 'absent');
      expect(rules.refuses(answer)).toMatchObject({ reason: 'conflict' });
    }
  });

  it('answer for a recovery in doubt ends it', () => {
    const rules = new Rules(NONE).done('a').refused('b');
    rules.does(rules.assess());
    rules.lost('a', 'compensate');
    rules.does(rules.settle());
    expect(rules.last).toMatchObject({
      type: 'review_opened',
      reason: 'unknown_outcome',
      steps: ['a'],
    });
    rules.does(rules.answer('a', 'compensate', 'committed'));
    expect(rules.does(rules.settle())).toMatchObject({ type: 'saga_compensated' });
  });

  it('may name newer code', () => {
    const rules = held();
    rules.does(rules.decision({ decision: 'retry', machine: 'machine:2', planDigest: 'mended' }));
    expect(rules.state).toMatchObject({ machine: 'machine:2', planDigest: 'mended' });
    expect(rules.refuses(rules.claim('b'))).toMatchObject({ reason: 'drift' });
  });

  it('close ends an incident once, by name and with evidence, and moves nothing else', () => {
    const rules = new Rules([
      { name: 'a', effect: 'irreversible' },
      { name: 'b', effect: 'read_only' },
    ])
      .done('a')
      .refused('b');
    const close = (more: object) => rules.decision({ decision: 'close', ...more });
    expect(rules.refuses(close({ evidence }))).toMatchObject({ reason: 'conflict' });
    rules.does(rules.assess());
    rules.does({ kind: 'mark', ...rules.drive(), step: rules.step('a'), action: 'contain' });
    rules.does(rules.settle());
    expect(rules.refuses(close({}))).toMatchObject({ reason: 'conflict' });
    rules.actor = 'ada';
    expect(rules.does(close({ evidence }))).toMatchObject({ state: 'incident', drive: 'ended' });
    expect(rules.state.incident?.closed).toEqual({ by: 'ada', at: rules.now, evidence });
    expect(rules.refuses(close({ evidence }))).toMatchObject({
      reason: 'conflict',
      explanation: expect.stringContaining('ada'),
    });
  });
});

describe('a review timed out of nowhere', () => {
  it('is opened when the answer to a lost call cannot be had, at once', () => {
    const rules = new Rules(NONE);
    rules.does(rules.claim('a'));
    rules.wait(TIMEOUT_MS);
    rules.does(rules.doubt('a'));
    expect(rules.last).not.toHaveProperty('askAt');
    rules.does(rules.assess());
    expect(rules.last).toMatchObject({
      type: 'review_opened',
      reason: 'unknown_outcome',
      explanation: expect.stringContaining(
        rules.state.steps.get('a')?.forward.attempt?.correlationId ?? '?',
      ),
    });
  });
});
