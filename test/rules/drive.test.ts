import { decide, evolve, fold, type SagaEvent } from 'counterstep';
import { describe, expect, it } from 'vitest';
import {
  DRIVE_CHECK_MS,
  FIRST_IDLE_PAUSE_MS,
  LEASE_MARGIN_MS,
  MAX_IDLE_DRIVES,
  MAX_IDLE_PAUSE_MS,
  SKEW_MS,
} from '../../statemachines/rules/protocol.ts';
import {
  Rules,
  SETTLE_MS,
  START_AT,
  type StepSpec,
  sagaOf,
  TIMEOUT_MS,
} from '../support/saga-builder.ts';

const TWO: readonly StepSpec[] = [{ name: 'a' }, { name: 'b' }];
const SIDE: readonly StepSpec[] = [
  { name: 'a', after: [], dedupe: 'lookup' },
  { name: 'b', after: [], dedupe: 'lookup' },
];
const LEASE_MS = TIMEOUT_MS + LEASE_MARGIN_MS + SKEW_MS;

describe('the start', () => {
  it('is event 1 and grants epoch 1', () => {
    expect(new Rules(TWO).last).toMatchObject({
      type: 'saga_started',
      seq: 1,
      state: 'running',
      drive: 'running',
      epoch: 1,
      dueAt: START_AT + DRIVE_CHECK_MS,
    });
  });

  it('asked for again stands already; nothing else stands without it', () => {
    const rules = new Rules(TWO);
    const start = { kind: 'start', event: rules.state.start } as const;
    expect(rules.asks(start).kind).toBe('already');
    const other = decide(undefined, { kind: 'resume' }, { now: START_AT, actor: 'ada' });
    expect(other).toEqual({ kind: 'rejected', rejection: { reason: 'not_found' } });
  });

  it('of another protocol closes the saga to claims', () => {
    const first = { ...new Rules(TWO).last, protocol: 99 } as SagaEvent;
    expect(fold([first])?.unreadable).toContain('99');
  });

  it('is the only way a ledger begins, and comes once', () => {
    const [first] = new Rules(TWO).events as [SagaEvent];
    const parked = { ...first, type: 'drive_parked', reason: 'retry', idle: true } as SagaEvent;
    expect(() => evolve(undefined, parked)).toThrow('begins with saga_started');
    expect(() => fold([first, { ...first, seq: 2 }])).toThrow('only at the beginning');
  });
});

describe('a drive', () => {
  it('may go forward under its own epoch alone', () => {
    const rules = new Rules(TWO);
    const begin = { kind: 'begin', ...rules.drive() } as const;
    expect(rules.asks(begin)).toEqual({ kind: 'route', to: 'forward' });
    expect(rules.refuses({ ...begin, epoch: 2 })).toEqual({ reason: 'stale' });
    expect(rules.refuses({ ...begin, plan: sagaOf([{ name: 'x' }]).plan })).toMatchObject({
      reason: 'drift',
    });
  });

  it('completes when everything is done, and says so to whoever asks again', () => {
    const rules = new Rules(TWO).done('a');
    expect(rules.refuses(rules.complete())).toEqual({ reason: 'not_ready' });
    rules.done('b');
    expect(rules.refuses({ ...rules.complete(), epoch: 9 } as never)).toEqual({ reason: 'stale' });
    expect(rules.does(rules.complete())).toMatchObject({
      type: 'saga_completed',
      state: 'completed',
      drive: 'ended',
    });
    expect(rules.asks(rules.complete()).kind).toBe('already');
    expect(rules.asks(rules.assess())).toEqual({ kind: 'route', to: 'final' });
    expect(rules.asks(rules.settle())).toEqual({ kind: 'route', to: 'final' });
  });

  it('that is stale ends quietly', () => {
    const rules = new Rules(TWO);
    const stale = { assess: rules.assess(), settle: rules.settle() };
    rules.wait(DRIVE_CHECK_MS);
    rules.does({ kind: 'grant', reason: 'due' });
    for (const command of Object.values(stale)) {
      expect(rules.asks(command)).toEqual({ kind: 'route', to: 'parked' });
    }
  });

  it('of other code hands the saga to a person, once', () => {
    const rules = new Rules(TWO);
    const explanation = 'no definition at hand';
    const drift = { kind: 'drift', epoch: 1, explanation, reviewMs: 1_000 } as const;
    expect(rules.does(drift)).toMatchObject({
      type: 'review_opened',
      reason: 'code_drift',
      explanation,
    });
    expect(rules.asks(drift)).toEqual({ kind: 'route', to: 'parked' });
    rules.woken();
    expect(rules.does({ ...drift, epoch: 2 })).toMatchObject({
      type: 'drive_parked',
      reason: 'person',
    });
    const other = new Rules(TWO);
    const plan = sagaOf([{ name: 'x' }]).plan;
    expect(other.does({ kind: 'assess', plan, epoch: 1 })).toMatchObject({ reason: 'code_drift' });
    const settling = new Rules(TWO).refused('a');
    expect(settling.does({ kind: 'settle', plan, epoch: 1 })).toMatchObject({
      reason: 'code_drift',
    });
  });
});

describe('a drive that cannot go on parks', () => {
  it.each([
    [
      'for a lease, until it is over',
      (rules: Rules): void => {
        rules.does(rules.claim('a'));
      },
      'lease',
      LEASE_MS,
    ],
    [
      'for a provider, until it is asked again',
      (rules: Rules): void => {
        rules.does(rules.claim('a'));
        rules.does(rules.told('a', 'pending', 'forward', { via: 'call', askAgainInMs: 7_000 }));
      },
      'provider',
      7_000,
    ],
    [
      'for a back-off',
      (rules: Rules): void => {
        rules.does(rules.claim('a'));
        rules.does(rules.fail('a', 'retryable', 'forward', 9_000));
      },
      'backoff',
      9_000,
    ],
    [
      'to be tried again soon, where nothing explains it',
      (): void => {},
      'retry',
      FIRST_IDLE_PAUSE_MS,
    ],
  ] as const)('%s', (_why, make, reason, dueInMs) => {
    const rules = new Rules(SIDE);
    make(rules);
    expect(rules.does(rules.assess())).toMatchObject({
      type: 'drive_parked',
      reason,
      state: 'waiting',
      drive: 'parked',
      dueAt: START_AT + dueInMs,
    });
  });

  it('until the first of all that it waits for', () => {
    const three = [...SIDE, { name: 'c', after: [], dedupe: 'lookup' } as const];
    const once = three.map((step) => ({ ...step, maxAttempts: 1 }));
    const rules = new Rules(once, { deadlineMs: 2_500 });
    rules.does(rules.claim('a'));
    rules.does(rules.claim('b'));
    rules.does(rules.told('b', 'pending', 'forward', { via: 'call', askAgainInMs: 7_000 }));
    expect(rules.does(rules.assess())).toMatchObject({ reason: 'lease', dueAt: START_AT + 2_500 });
  });

  it('but goes on at once where it moved something', () => {
    const rules = new Rules(TWO).done('a');
    expect(rules.does(rules.assess())).toMatchObject({
      type: 'drive_granted',
      reason: 'next',
      epoch: 2,
    });
  });

  it('and states a passed deadline, or a spent budget', () => {
    const once = TWO.map((step) => ({ ...step, maxAttempts: 1 }));
    const late = new Rules(once, { deadlineMs: 1_000 }).done('a').wait(1_000);
    expect(late.does(late.assess())).toMatchObject({
      type: 'saga_halted',
      reason: 'deadline_passed',
    });
    const spent = new Rules([{ name: 'a', maxAttempts: 1 }]);
    spent.does(spent.claim('a'));
    spent.does(spent.fail('a', 'retryable', 'forward', 60_000));
    expect(spent.does(spent.assess())).toMatchObject({
      type: 'saga_halted',
      reason: 'attempts_spent',
      step: 'a',
      code: 'retryable',
    });
    expect(spent.asks(spent.assess())).toMatchObject({ event: { type: 'recovery_planned' } });
  });

  it('and routes to recovery once the plan stands', () => {
    const rules = new Rules(TWO).done('a').refused('b');
    rules.does(rules.assess());
    expect(rules.asks(rules.assess())).toEqual({ kind: 'route', to: 'recover' });
  });
});

describe('due times', () => {
  it('while a drive runs: the end of a living lease, else a minute', () => {
    const rules = new Rules(SIDE);
    rules.does(rules.claim('a'));
    expect(rules.last.dueAt).toBe(START_AT + LEASE_MS);
    rules.wait(100);
    rules.does(rules.claim('b'));
    expect(rules.last.dueAt).toBe(START_AT + LEASE_MS);
    rules.does(rules.commit('a'));
    expect(rules.last.dueAt).toBe(START_AT + 100 + LEASE_MS);
    rules.does(rules.commit('b'));
    expect(rules.last.dueAt).toBe(START_AT + 100 + DRIVE_CHECK_MS);
  });

  it('a lease that is over does not hurry the drive that looks into it', () => {
    const rules = new Rules(SIDE);
    rules.does(rules.claim('a'));
    rules.now = rules.last.dueAt ?? 0;
    rules.does({ kind: 'grant', reason: 'due' });
    expect(rules.last.dueAt).toBe(rules.now + DRIVE_CHECK_MS);
  });

  it('what a drive found due and could not move is not due again at once', () => {
    const rules = new Rules(SIDE);
    rules.does(rules.claim('a'));
    const pauses: number[] = [];
    for (let drives = 0; drives < 3; drives += 1) {
      rules.woken();
      rules.does(rules.assess());
      expect(rules.last).toMatchObject({ type: 'drive_parked', reason: 'retry', idle: true });
      pauses.push((rules.last.dueAt ?? 0) - rules.now);
    }
    expect(pauses).toEqual([1_000, 4_000, 16_000]);
  });

  it('once recovery began, the back-off of a forward call wakes nobody', () => {
    const rules = new Rules([
      { name: 'a', after: [] },
      { name: 'b', after: [] },
      { name: 'c', after: [] },
    ]);
    rules.does(rules.claim('a'));
    rules.does(rules.fail('a', 'retryable', 'forward', 1_000));
    rules.done('b').refused('c');
    rules.does(rules.assess());
    rules.does(rules.claim('b', 'compensate'));
    rules.does(rules.fail('b', 'retryable', 'compensate', 30_000));
    rules.does(rules.settle());
    expect(rules.last).toMatchObject({ reason: 'backoff', dueAt: START_AT + 30_000 });
  });
});

describe('drives that move nothing', () => {
  it('are tried at growing pauses, then a person is asked', () => {
    const rules = new Rules(TWO);
    const pauses: number[] = [];
    for (;;) {
      rules.does(rules.assess());
      if (rules.last.type === 'review_opened') break;
      pauses.push((rules.last.dueAt ?? 0) - rules.now);
      rules.woken();
    }
    expect(pauses).toHaveLength(MAX_IDLE_DRIVES);
    expect(pauses.slice(0, 3)).toEqual([1_000, 4_000, 16_000]);
    expect(Math.max(...pauses)).toBe(MAX_IDLE_PAUSE_MS);
    expect(rules.last).toMatchObject({ reason: 'no_progress', state: 'needs_review' });
    rules.does(rules.decision({ decision: 'retry' }));
    expect(rules.state.idleDrives).toBe(0);
  });

  it('that vanish without a trace count as well, and the sweep asks the person', () => {
    const rules = new Rules(TWO);
    for (let drives = 0; drives < MAX_IDLE_DRIVES; drives += 1) rules.woken();
    expect(rules.state.idleDrives).toBe(MAX_IDLE_DRIVES);
    rules.woken();
    expect(rules.last).toMatchObject({ type: 'review_opened', reason: 'no_progress' });
  });

  it('do not count in a row with one that moved something', () => {
    const rules = new Rules([...TWO, { name: 'c' }]);
    for (let drives = 0; drives < 3; drives += 1) {
      rules.does(rules.assess());
      rules.woken();
    }
    rules.done('a');
    rules.does(rules.assess());
    expect(rules.last).toMatchObject({ type: 'drive_granted', reason: 'next' });
    expect(rules.state.idleDrives).toBe(0);
  });

  it('are excused while they wait for a lease', () => {
    const rules = new Rules(SIDE);
    rules.does(rules.claim('a'));
    // The process died with the attempt; the next drive can only wait for the lease.
    rules.does({ kind: 'grant', reason: 'restart' });
    expect(rules.does(rules.assess())).toMatchObject({ reason: 'lease', idle: true });
    expect(rules.state.idleDrives).toBe(0);
  });
});

describe('a grant', () => {
  it('is not given before the saga is due', () => {
    const rules = new Rules(TWO);
    expect(rules.asks({ kind: 'grant', reason: 'due' }).kind).toBe('already');
    rules.wait(DRIVE_CHECK_MS);
    expect(rules.does({ kind: 'grant', reason: 'due' })).toMatchObject({
      epoch: 2,
      drive: 'running',
    });
  });

  it('after a restart replaces a drive that ran, and leaves what is parked', () => {
    const rules = new Rules(TWO);
    expect(rules.does({ kind: 'grant', reason: 'restart' })).toMatchObject({ epoch: 2 });
    rules.does(rules.assess());
    expect(rules.asks({ kind: 'grant', reason: 'restart' }).kind).toBe('already');
  });

  it('is nothing to a final saga', () => {
    const rules = new Rules(TWO).done('a', 'b');
    rules.does(rules.complete());
    rules.wait(1_000_000);
    expect(rules.asks({ kind: 'grant', reason: 'due' })).toEqual({ kind: 'route', to: 'final' });
  });
});

describe("the writer's clock", () => {
  it('never runs backwards in the ledger', () => {
    const rules = new Rules(TWO);
    rules.does(rules.claim('a'));
    rules.wait(-60_000);
    rules.does(rules.commit('a'));
    const times = rules.events.map((event) => event.at);
    expect(times).toEqual([...times].sort((left, right) => left - right));
  });

  it('that is ahead by less than the skew takes no lease that lives', () => {
    const rules = new Rules(SIDE);
    rules.does(rules.claim('a'));
    rules.wait(TIMEOUT_MS + LEASE_MARGIN_MS - 1 + SKEW_MS);
    expect(rules.refuses(rules.claim('a'))).toMatchObject({ reason: 'in_flight' });
    rules.wait(1);
    expect(rules.refuses(rules.claim('a'))).toEqual({ reason: 'in_doubt' });
    expect(rules.does(rules.told('a', 'absent'))).toMatchObject({
      answer: SETTLE_MS <= LEASE_MARGIN_MS ? 'absent' : 'pending',
    });
  });
});
