import { describe, expect, it } from 'vitest';
import { DRIVE_CHECK_MS, LEASE_MARGIN_MS, SKEW_MS } from '../../statemachines/rules/protocol.ts';
import { Rules, START_AT, type StepSpec, TIMEOUT_MS } from '../support/saga-builder.ts';

const TWO: readonly StepSpec[] = [{ name: 'a' }, { name: 'b' }];
const SIDE: readonly StepSpec[] = [
  { name: 'a', after: [], dedupe: 'lookup' },
  { name: 'b', after: [], dedupe: 'lookup' },
];
const LEASE_MS = TIMEOUT_MS + LEASE_MARGIN_MS + SKEW_MS;
const cancel = { kind: 'cancel', reason: 'no longer wanted' } as const;

describe('cancel', () => {
  it('is a terminal fact, and wakes a parked saga', () => {
    const rules = new Rules(SIDE).done('a').lost('b');
    rules.does(rules.assess());
    expect(rules.does(cancel)).toMatchObject({
      type: 'cancel_requested',
      state: 'compensating',
      drive: 'running',
      epoch: 2,
    });
    expect(rules.asks(cancel).kind).toBe('already');
  });

  it('leaves a running drive its epoch', () => {
    const rules = new Rules(TWO);
    expect(rules.does(cancel)).toMatchObject({ epoch: 1, drive: 'running' });
    expect(rules.refuses(rules.claim('a'))).toEqual({ reason: 'halted' });
  });

  it('is refused while recovery is under way, and at the end', () => {
    const under = new Rules(TWO).done('a').refused('b');
    expect(under.refuses(cancel)).toMatchObject({ reason: 'conflict' });
    const over = new Rules(TWO).done('a', 'b');
    over.does(over.complete());
    expect(over.refuses(cancel)).toMatchObject({ reason: 'conflict' });
  });

  it('makes a question about going forward moot', () => {
    const rules = new Rules(TWO).done('a');
    rules.does(rules.claim('b'));
    rules.does(rules.fail('b', 'terminal_hold'));
    rules.does(rules.assess());
    rules.does(cancel);
    expect(rules.state).toMatchObject({ status: 'compensating', review: undefined });
    rules.does(rules.assess());
    rules.undone('a');
    expect(rules.does(rules.settle())).toMatchObject({ type: 'saga_compensated' });
  });
});

describe('resume', () => {
  const resume = { kind: 'resume' } as const;

  it('says until when an attempt holds the saga', () => {
    const rules = new Rules(TWO);
    rules.does(rules.claim('a'));
    expect(rules.refuses(resume)).toMatchObject({ reason: 'conflict', until: START_AT + LEASE_MS });
    rules.wait(LEASE_MS);
    expect(rules.does(resume)).toMatchObject({ type: 'drive_granted', reason: 'resume', epoch: 2 });
  });

  it('leaves a drive alone that moves the saga, and a final saga', () => {
    const rules = new Rules(TWO).done('a');
    expect(rules.refuses(resume)).toMatchObject({
      reason: 'conflict',
      until: START_AT + DRIVE_CHECK_MS,
    });
    rules.done('b');
    rules.does(rules.complete());
    expect(rules.refuses(resume)).toMatchObject({ reason: 'conflict' });
  });

  it('starts a parked saga before its time', () => {
    const rules = new Rules(TWO);
    rules.does(rules.assess());
    expect(rules.does({ ...resume, note: 'now' })).toMatchObject({ epoch: 2, note: 'now' });
  });

  it('gives failed recoveries a fresh budget and closes the review', () => {
    const rules = new Rules([{ name: 'a', maxAttempts: 1 }, { name: 'b' }]).done('a').refused('b');
    rules.does(rules.assess());
    rules.does(rules.claim('a', 'compensate'));
    rules.does(rules.fail('a', 'retryable', 'compensate'));
    rules.does(rules.settle());
    expect(rules.last).toMatchObject({ type: 'review_opened', reason: 'recovery_failed' });
    rules.does(resume);
    expect(rules.state.review).toBeUndefined();
    rules.undone('a');
    expect(rules.does(rules.settle())).toMatchObject({ type: 'saga_compensated' });
  });

  it('keeps the refusal of the forward call that led to recovery', () => {
    const rules = new Rules(TWO).done('a').refused('b');
    rules.does(rules.assess());
    rules.does(rules.claim('a', 'compensate'));
    rules.does(rules.fail('a', 'terminal_compensate', 'compensate'));
    rules.does(rules.settle());
    rules.does(resume);
    expect(rules.state.steps.get('b')?.forward.status).toBe('failed');
    expect(rules.state.steps.get('a')?.recovery).toMatchObject({
      status: 'retrying',
      round: 2,
      spent: 0,
    });
  });

  it('asks at once about what is in doubt, within a fresh patience', () => {
    const rules = new Rules([{ name: 'a', dedupe: 'lookup', pendingForMs: 1_000 }]).lost('a');
    rules.wait(5_000);
    rules.does(rules.assess());
    expect(rules.last).toMatchObject({ type: 'review_opened', reason: 'unknown_outcome' });
    rules.does(resume);
    expect(rules.refuses(rules.claim('a'))).toEqual({ reason: 'in_doubt' });
  });

  it('may name the code that drives from now on', () => {
    const rules = new Rules(TWO);
    rules.does(rules.assess());
    rules.does({ ...resume, machine: 'machine:2', planDigest: 'mended' });
    expect(rules.state).toMatchObject({ machine: 'machine:2', planDigest: 'mended' });
  });
});

describe('advice and erasure', () => {
  const suggest = { kind: 'suggest', suggestion: { kind: 'inline', value: 'wait' } } as const;
  const erase = { kind: 'erase', reason: 'asked for' } as const;

  it('advice wakes nobody, puts nothing off and is no progress', () => {
    const rules = new Rules(TWO);
    rules.does(rules.assess());
    const before = rules.state;
    rules.wait(500);
    rules.does(suggest);
    expect(rules.state).toMatchObject({
      drive: 'parked',
      epoch: 1,
      status: 'waiting',
      dueAt: before.dueAt,
      progress: before.progress,
      idleDrives: before.idleDrives,
    });
  });

  it('payloads are needed until the end, and erased once', () => {
    const rules = new Rules(TWO).done('a');
    expect(rules.refuses(erase)).toMatchObject({ reason: 'conflict' });
    rules.done('b');
    rules.does(rules.complete());
    expect(rules.does(erase)).toMatchObject({
      type: 'payloads_erased',
      state: 'completed',
      drive: 'ended',
    });
    expect(rules.state.erased).toBe(true);
    expect(rules.asks(erase).kind).toBe('already');
  });
});
