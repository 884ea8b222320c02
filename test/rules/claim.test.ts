import { describe, expect, it } from 'vitest';
import { LEASE_MARGIN_MS, SKEW_MS } from '../../statemachines/rules/protocol.ts';
import {
  Rules,
  SETTLE_MS,
  START_AT,
  type StepSpec,
  sagaOf,
  TIMEOUT_MS,
} from '../support/saga-builder.ts';

const TWO: readonly StepSpec[] = [{ name: 'a' }, { name: 'b' }];
const LEASE_MS = TIMEOUT_MS + LEASE_MARGIN_MS + SKEW_MS;

describe('a claim', () => {
  it('stands before anything is called, and names all that the call needs', () => {
    const rules = new Rules(TWO);
    const event = rules.does(
      rules.claim('a', 'forward', { args: { kind: 'inline', value: { id: 'x' } } }),
    );
    expect(event).toMatchObject({
      type: 'step_claimed',
      seq: 2,
      at: START_AT,
      actor: 'drive',
      state: 'running',
      drive: 'running',
      epoch: 1,
      step: 'a',
      action: 'forward',
      attempt: 1,
      attemptNonce: 'n1',
      effect: 'reversible',
      tool: 'a-tool',
      round: 1,
      dedupe: 'key',
      deadlineAt: START_AT + TIMEOUT_MS,
      leaseUntil: START_AT + TIMEOUT_MS + LEASE_MARGIN_MS,
      settleUntil: START_AT + TIMEOUT_MS + SETTLE_MS,
      dueAt: START_AT + LEASE_MS,
      args: { kind: 'inline', value: { id: 'x' } },
    });
  });

  it('names keys that differ by step, action and round, and correlation ids by step and action', () => {
    const rules = new Rules(TWO).done('a').refused('b');
    rules.does(rules.assess());
    rules.undone('a');
    const claims = rules.events.flatMap((event) => (event.type === 'step_claimed' ? [event] : []));
    expect(new Set(claims.map((claim) => claim.key)).size).toBe(3);
    expect(new Set(claims.map((claim) => claim.correlationId)).size).toBe(3);
    for (const { key, correlationId } of claims) {
      expect([key, correlationId]).toEqual([
        expect.stringMatching(/^[0-9a-f]{40}$/),
        expect.stringMatching(/^[0-9a-f]{40}$/),
      ]);
    }
  });

  it("counts its times from the last event where the writer's clock is behind", () => {
    const rules = new Rules(TWO);
    rules.wait(-500);
    expect(rules.does(rules.claim('a'))).toMatchObject({
      at: START_AT,
      deadlineAt: START_AT + TIMEOUT_MS,
    });
  });

  it('keeps the arguments of the first claim', () => {
    const rules = new Rules(TWO);
    const args = (value: string) => ({ args: { kind: 'inline', value } }) as const;
    rules.does(rules.claim('a', 'forward', args('first')));
    rules.does(rules.fail('a', 'retryable'));
    expect(rules.does(rules.claim('a', 'forward', args('second')))).not.toHaveProperty('args');
    expect(rules.state.steps.get('a')?.forward.args).toEqual({ kind: 'inline', value: 'first' });
  });

  it('is answered with what stands where the step is done', () => {
    const rules = new Rules(TWO).done('a');
    expect(rules.asks(rules.claim('a')).kind).toBe('already');
  });

  it('may start again after a short back-off under the same key, and not before', () => {
    const rules = new Rules(TWO);
    const first = rules.does(rules.claim('a'));
    rules.does(rules.fail('a', 'retryable', 'forward', 200));
    expect(rules.refuses(rules.claim('a'))).toEqual({ reason: 'backoff', until: START_AT + 200 });
    rules.wait(200);
    expect(rules.does(rules.claim('a'))).toMatchObject({
      attempt: 2,
      round: 1,
      key: first.type === 'step_claimed' ? first.key : '',
    });
  });
});

describe('a claim is refused', () => {
  it.each([
    ['under an older epoch', { epoch: 0 }],
    ['under an epoch that was never granted', { epoch: 2 }],
  ])('as stale %s', (_when, change) => {
    const rules = new Rules(TWO);
    expect(rules.refuses(rules.claim('a', 'forward', change))).toEqual({ reason: 'stale' });
  });

  it('as stale while the saga is parked, and once it is final', () => {
    const rules = new Rules(TWO).lost('a');
    rules.does(rules.assess());
    expect(rules.state.drive).toBe('parked');
    expect(rules.refuses(rules.claim('a'))).toEqual({ reason: 'stale' });

    const final = new Rules(TWO).done('a', 'b');
    final.does(final.complete());
    expect(final.refuses(final.claim('a'))).toEqual({ reason: 'stale' });
  });

  it('as drift by code of another definition', () => {
    const rules = new Rules(TWO);
    const other = sagaOf([{ name: 'a' }, { name: 'b', effect: 'compensable' }]);
    expect(rules.refuses(rules.claim('a', 'forward', { plan: other.plan }))).toMatchObject({
      reason: 'drift',
      explanation: expect.stringContaining('pinned'),
    });
  });

  it('as drift where the ledger holds an event nobody here knows', () => {
    const rules = new Rules(TWO);
    const strange = { ...rules.last, seq: 2, type: 'from_the_future' };
    rules.applies(strange as unknown as Rules['last']);
    expect(rules.refuses(rules.claim('a'))).toMatchObject({
      reason: 'drift',
      explanation: expect.stringContaining('from_the_future'),
    });
    rules.does(rules.assess());
    expect(rules.last).toMatchObject({ type: 'review_opened', reason: 'code_drift' });
  });

  it('where a predecessor is not done', () => {
    const rules = new Rules([
      { name: 'a' },
      { name: 'b', after: ['a'] },
      { name: 'c', after: ['a'] },
      { name: 'd', after: ['b', 'c'] },
    ]);
    expect(rules.refuses(rules.claim('b'))).toEqual({ reason: 'not_ready' });
    rules.done('a', 'c');
    expect(rules.refuses(rules.claim('d'))).toEqual({ reason: 'not_ready' });
    rules.done('b');
    expect(rules.asks(rules.claim('d')).kind).toBe('append');
  });

  it('to a twin, until the lease and the skew are over (invariant 7)', () => {
    const rules = new Rules(TWO);
    rules.does(rules.claim('a'));
    rules.wait(LEASE_MS - 1);
    expect(rules.refuses(rules.claim('a'))).toEqual({
      reason: 'in_flight',
      until: START_AT + LEASE_MS,
    });
    rules.wait(1);
    expect(rules.asks(rules.claim('a')).kind).toBe('append');
  });

  it('once a terminal fact stands', () => {
    const rules = new Rules([
      { name: 'a' },
      { name: 'b', after: ['a'] },
      { name: 'c', after: ['a'] },
    ]);
    rules.done('a').refused('b');
    expect(rules.refuses(rules.claim('c'))).toEqual({ reason: 'halted' });
    expect(rules.refuses(rules.complete())).toEqual({ reason: 'halted' });
    expect(rules.refuses({ kind: 'begin', ...rules.drive() })).toEqual({ reason: 'halted' });
  });

  it('past the deadline', () => {
    const rules = new Rules(TWO, { deadlineMs: 5_000 });
    rules.done('a').wait(5_000);
    expect(rules.refuses(rules.claim('b'))).toEqual({ reason: 'deadline_passed' });
  });

  it('where the drive has no time left for it', () => {
    const rules = new Rules(TWO);
    const fits = rules.now + TIMEOUT_MS + LEASE_MARGIN_MS;
    const late = rules.claim('a', 'forward', { softDeadlineAt: fits - 1 });
    expect(rules.refuses(late)).toEqual({ reason: 'soft_deadline' });
    expect(rules.asks(rules.claim('a', 'forward', { softDeadlineAt: fits })).kind).toBe('append');
  });

  it('when the tries are spent, however they were spent', () => {
    const rules = new Rules([{ name: 'a', maxAttempts: 2 }]);
    rules.does(rules.claim('a'));
    rules.does(rules.fail('a', 'retryable'));
    rules.does(rules.claim('a'));
    rules.wait(TIMEOUT_MS + LEASE_MARGIN_MS + SKEW_MS);
    expect(rules.refuses(rules.claim('a'))).toEqual({ reason: 'attempts_spent' });
  });

  it('for a person who asked to be asked', () => {
    const rules = new Rules(TWO);
    rules.does(rules.claim('a'));
    rules.does(rules.fail('a', 'terminal_hold'));
    expect(rules.refuses(rules.claim('a'))).toEqual({ reason: 'held' });
  });

  it('for a step the ledger does not know', () => {
    const rules = new Rules(TWO);
    const step = { ...rules.step('a'), name: 'x' };
    expect(rules.refuses({ ...rules.claim('a'), step })).toMatchObject({ reason: 'drift' });
  });
});

describe('a refusal without a claim', () => {
  const refusal = (rules: Rules, failure: 'terminal_compensate' | 'terminal_hold') =>
    ({
      kind: 'refuse',
      ...rules.drive(),
      step: 'a',
      action: 'forward',
      failure,
      code: 'schema_deviation',
      message: 'no',
    }) as const;

  it('is a terminal fact where the arguments cannot be built', () => {
    const rules = new Rules(TWO);
    expect(rules.does(refusal(rules, 'terminal_compensate'))).toMatchObject({
      type: 'step_failed',
      attempt: 0,
      state: 'compensating',
    });
    expect(rules.asks(refusal(rules, 'terminal_compensate')).kind).toBe('already');
  });

  it('is not believed while an attempt lives or is in doubt: its effect would be forgotten', () => {
    const rules = new Rules(TWO);
    rules.does(rules.claim('a'));
    expect(rules.refuses(refusal(rules, 'terminal_compensate'))).toEqual({ reason: 'held' });
    rules.wait(TIMEOUT_MS);
    rules.does(rules.doubt('a'));
    expect(rules.refuses(refusal(rules, 'terminal_hold'))).toEqual({ reason: 'held' });
  });

  it.each(['stale', 'drift', 'not_ready'] as const)('is itself refused: %s', (reason) => {
    const rules = new Rules(TWO);
    const base = refusal(rules, 'terminal_hold');
    const asked = {
      stale: { ...base, epoch: 7 },
      drift: { ...base, plan: sagaOf([{ name: 'a' }]).plan },
      not_ready: { ...base, step: 'b' },
    }[reason];
    expect(rules.refuses(asked)).toMatchObject({ reason });
  });
});
