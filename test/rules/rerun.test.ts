import { type AnySaga, fold, standingReport } from 'counterstep';
import { describe, expect, it } from 'vitest';
import { RERUN_LEASE_MS, SKEW_MS } from '../../statemachines/rules/protocol.ts';
import { Rules, type StepSpec, sagaOf } from '../support/saga-builder.ts';

const TRIP: readonly StepSpec[] = [
  { name: 'hold' },
  { name: 'pay', effect: 'compensable', checkpoint: true },
  { name: 'pick' },
  { name: 'pack', checkpoint: true },
  { name: 'ship' },
];

/** Compensated to checkpoint `pay`. */
function compensated(): Rules {
  const rules = new Rules(TRIP).done('hold', 'pay').refused('pick');
  rules.does(rules.assess());
  rules.does(rules.settle());
  expect(rules.state.status).toBe('compensated');
  return rules;
}

/** A saga that goes on behind `pay`. */
function goingOn(saga: AnySaga = sagaOf(TRIP)): Rules {
  const rules = new Rules(saga);
  const [first] = rules.events;
  if (first?.type !== 'saga_started') throw new Error('no start');
  const adopted = ['hold', 'pay'].map((step, index) => ({
    step,
    seq: 3 + 2 * index,
    hash: 'ab'.repeat(32),
    result: { kind: 'inline' as const, value: { id: step } },
    externalIds: { forward: `${step}-forward` },
  }));
  return Rules.from(saga, { ...first, previous: 'saga-0', adopted });
}

describe('a saga that goes on from a checkpoint', () => {
  it('has what was kept done from the start, and goes forward behind it', () => {
    const rules = goingOn();
    expect(rules.asks(rules.claim('hold'))).toEqual({ kind: 'already' });
    expect(rules.asks(rules.claim('pay'))).toEqual({ kind: 'already' });
    expect(rules.state.steps.get('pay')).toMatchObject({
      adopted: true,
      forward: {
        status: 'done',
        attempts: 0,
        externalIds: { forward: 'pay-forward' },
        commit: { via: 'adopted', seq: 1, result: { value: { id: 'pay' } } },
      },
    });
    expect(standingReport(rules.state).steps[1]).toMatchObject({
      standing: 'stands',
      words: 'done by saga saga-0, whose checkpoint kept it',
    });
    rules.done('pick', 'pack', 'ship');
    expect(rules.does(rules.complete())).toMatchObject({ type: 'saga_completed' });
  });

  it('does not undo what was kept, if it fails', () => {
    const rules = goingOn().done('pick').refused('pack');
    rules.does(rules.assess());
    expect(rules.state.plan).toMatchObject({ checkpoint: 'pay', entries: [{ step: 'pick' }] });
    rules.undone('pick');
    expect(rules.does(rules.settle())).toMatchObject({ checkpoint: 'pay' });
  });

  it('does not even where everything is asked back: that is the saga before’s', () => {
    const rules = goingOn().done('pick', 'pack');
    rules.does({ kind: 'cancel', reason: 'no', everything: true });
    rules.does(rules.assess());
    expect(rules.state.plan).toMatchObject({
      checkpoint: 'pay',
      entries: [{ step: 'pack' }, { step: 'pick' }],
    });
    rules.undone('pack', 'pick');
    rules.does(rules.settle());
    expect(standingReport(rules.state)).toMatchObject({
      summary: 'compensated to checkpoint pay: kept: hold, pay; undone: pick, pack',
    });
  });

  it('reaches later checkpoints of its own', () => {
    const rules = goingOn().done('pick', 'pack').refused('ship');
    rules.does(rules.assess());
    expect(rules.does(rules.settle())).toMatchObject({ checkpoint: 'pack' });
  });
});

describe('a claim on going on with a saga', () => {
  const rerun = (saga: string, vacant?: string) =>
    ({ kind: 'rerun', saga, ...(vacant === undefined ? {} : { vacant }) }) as const;

  it('is an event on the compensated saga, which moves nothing', () => {
    const rules = compensated();
    const before = rules.state;
    expect(rules.does(rerun('next'))).toMatchObject({
      type: 'rerun_claimed',
      saga: 'next',
      state: 'compensated',
      drive: 'ended',
    });
    expect(rules.last).not.toHaveProperty('dueAt');
    expect(rules.state.rerun).toEqual({ saga: 'next', at: rules.now });
    expect(standingReport(rules.state).steps).toEqual(standingReport(before).steps);
    expect(rules.asks(rerun('next'))).toEqual({ kind: 'already' });
  });

  it('keeps every other one out for as long as that saga exists', () => {
    const rules = compensated();
    rules.does(rerun('next'));
    rules.wait(10 * RERUN_LEASE_MS);
    expect(rules.refuses(rerun('other'))).toMatchObject({
      reason: 'conflict',
      explanation: expect.stringContaining('next'),
    });
  });

  it('of a saga that never began is over with its lease, and can be renewed', () => {
    const rules = compensated();
    rules.does(rerun('next'));
    const at = rules.now;
    expect(rules.refuses(rerun('other', 'next'))).toMatchObject({
      until: at + RERUN_LEASE_MS + SKEW_MS,
    });
    rules.wait(RERUN_LEASE_MS);
    expect(rules.asks(rerun('next')).kind).toBe('append');
    rules.wait(SKEW_MS);
    expect(rules.does(rerun('other', 'next'))).toMatchObject({ saga: 'other' });
    // The first one is too late now: it claims anew before it begins, and may not.
    expect(rules.refuses(rerun('next'))).toMatchObject({ reason: 'conflict' });
  });

  it('is refused of a saga that is not compensated, or whose payloads are gone', () => {
    const running = new Rules(TRIP).done('hold');
    expect(running.refuses(rerun('next'))).toMatchObject({
      explanation: 'the saga is running: only a compensated one is run again',
    });
    const erased = compensated();
    erased.does({ kind: 'erase', reason: 'asked for' });
    expect(erased.refuses(rerun('next'))).toMatchObject({
      explanation: expect.stringContaining('erased'),
    });
  });

  it('reads back from the ledger as it was', () => {
    const rules = compensated();
    rules.does(rerun('next'));
    expect(fold(rules.events)).toEqual(rules.state);
  });
});
