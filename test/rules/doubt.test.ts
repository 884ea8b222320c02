import { describe, expect, it } from 'vitest';
import type { Command } from '../../statemachines/rules/commands.ts';
import { MAX_ASK_INTERVAL_MS, SKEW_MS } from '../../statemachines/rules/protocol.ts';
import {
  BACKOFF_MS,
  Rules,
  SETTLE_MS,
  type StepSpec,
  TIMEOUT_MS,
} from '../support/saga-builder.ts';

const WINDOW_MS = SETTLE_MS + SKEW_MS;

function one(spec: Partial<StepSpec>): Rules {
  return new Rules([{ name: 'a', ...spec }, { name: 'b' }]);
}

describe('a call whose outcome nobody knows', () => {
  it.each([
    ['a key', { dedupe: 'key' }, 'append'],
    ['a key that may be asked about', { dedupe: 'key', reconcile: true }, 'in_doubt'],
    ['a lookup', { dedupe: 'lookup' }, 'in_doubt'],
    ['neither', { dedupe: 'none' }, 'held'],
  ] as const)('with %s', (_what, spec, expected) => {
    const rules = one(spec).lost('a');
    rules.wait(BACKOFF_MS);
    const verdict = rules.asks(rules.claim('a'));
    expect(verdict.kind === 'rejected' ? verdict.rejection.reason : verdict.kind).toBe(expected);
  });

  it.each([
    ['a key', { dedupe: 'key' }, 'append'],
    ['a lookup', { dedupe: 'lookup' }, 'in_doubt'],
    ['neither', { dedupe: 'none' }, 'held'],
  ] as const)('because its process died, with %s', (_what, spec, expected) => {
    const rules = one(spec);
    rules.does(rules.claim('a'));
    rules.wait(TIMEOUT_MS + 1_000 + SKEW_MS);
    const verdict = rules.asks(rules.claim('a'));
    expect(verdict.kind === 'rejected' ? verdict.rejection.reason : verdict.kind).toBe(expected);
  });

  it('is sent again under the same key', () => {
    const rules = one({}).lost('a');
    rules.wait(BACKOFF_MS);
    rules.does(rules.claim('a'));
    const [first, second] = rules.events.filter((event) => event.type === 'step_claimed');
    expect(second).toMatchObject({ attempt: 2, round: 1, key: first?.key });
  });

  it('is not asked about before its time', () => {
    const rules = one({ dedupe: 'lookup' });
    rules.does(rules.claim('a'));
    rules.wait(TIMEOUT_MS);
    const asked = rules.does(rules.doubt('a', 'forward', 'absent'));
    // The first question came too early for its "absent" to count.
    expect(asked).toMatchObject({ type: 'step_in_doubt', askAt: rules.now + WINDOW_MS });
    expect(rules.refuses(rules.claim('a'))).toEqual({
      reason: 'waiting',
      until: rules.now + WINDOW_MS,
    });
  });

  it('believes "absent" only once the call can no longer land (invariant 3)', () => {
    const rules = one({ dedupe: 'lookup' }).lost('a');
    rules.wait(WINDOW_MS - 1);
    expect(rules.does(rules.told('a', 'absent'))).toMatchObject({
      type: 'step_reconciled',
      answer: 'pending',
      askAt: rules.now + 1,
    });
    rules.wait(1);
    expect(rules.does(rules.told('a', 'absent'))).toMatchObject({
      answer: 'absent',
    });
    expect(rules.does(rules.claim('a'))).toMatchObject({ attempt: 2, round: 2 });
  });

  it('does not believe an "absent" that was asked for earlier and recorded late', () => {
    const rules = one({ dedupe: 'lookup' }).lost('a');
    const askedAt = rules.now;
    rules.wait(10_000);
    expect(rules.does(rules.told('a', 'absent', 'forward', { askedAt }))).toMatchObject({
      answer: 'pending',
    });
  });

  it('becomes another call under another key after "absent"', () => {
    const rules = one({ dedupe: 'lookup' }).lost('a');
    rules.wait(WINDOW_MS);
    rules.does(rules.told('a', 'absent'));
    rules.does(rules.claim('a'));
    const keys = rules.events.flatMap((event) =>
      event.type === 'step_claimed' ? [event.key] : [],
    );
    expect(new Set(keys).size).toBe(2);
    const ids = rules.events.flatMap((event) =>
      event.type === 'step_claimed' ? [event.correlationId] : [],
    );
    expect(new Set(ids).size).toBe(1);
  });

  it('is asked about at growing intervals of at most an hour, then a person is', () => {
    const rules = one({ dedupe: 'lookup', pendingForMs: 86_400_000 }).lost('a');
    const pauses: number[] = [];
    for (let asks = 0; asks < 40; asks += 1) {
      const until = rules.state.dueAt ?? 0;
      void until;
      const { askAt } = rules.does(rules.told('a', 'unknown')) as { askAt?: number };
      if (askAt === undefined) throw new Error('no time to ask');
      pauses.push(askAt - rules.now);
      rules.now = askAt;
      if (rules.asks(rules.claim('a')).kind === 'append') throw new Error('claimed in doubt');
      const verdict = rules.refuses(rules.claim('a'));
      if (verdict.reason === 'held') break;
      expect(verdict).toEqual({ reason: 'in_doubt' });
    }
    expect(pauses.slice(0, 4)).toEqual([200, 400, 800, 1_600]);
    expect(Math.max(...pauses)).toBe(MAX_ASK_INTERVAL_MS);
    expect(rules.refuses(rules.claim('a'))).toEqual({ reason: 'held' });
    rules.does(rules.assess());
    expect(rules.last).toMatchObject({ type: 'review_opened', reason: 'unknown_outcome' });
  });

  it('waits as long as the provider wishes, if that is longer than our own pause', () => {
    const rules = one({ dedupe: 'lookup' }).lost('a');
    const wish = rules.told('a', 'pending', 'forward', { askAgainInMs: 5_000 });
    expect(rules.does(wish)).toMatchObject({ askAt: rules.now + 5_000 });
    rules.wait(5_000);
    const short = rules.told('a', 'pending', 'forward', { askAgainInMs: 1 });
    expect(rules.does(short)).toMatchObject({ askAt: rules.now + 400 });
  });

  it('asks a person when it was pending for too long', () => {
    const rules = one({ dedupe: 'lookup', pendingForMs: 5_000 });
    rules.does(rules.claim('a'));
    rules.does(rules.told('a', 'pending', 'forward', { via: 'call' }));
    expect(rules.state.steps.get('a')?.forward.status).toBe('waiting');
    rules.does(rules.assess());
    expect(rules.last).toMatchObject({
      type: 'drive_parked',
      reason: 'provider',
      state: 'waiting',
    });
    rules.wait(5_000).woken();
    expect(rules.refuses(rules.claim('a'))).toEqual({ reason: 'held' });
    rules.does(rules.assess());
    expect(rules.last).toMatchObject({ type: 'review_opened', reason: 'pending_too_long' });
  });
});

describe('a provider that settles later and cannot be asked', () => {
  it('is asked by sending again, at growing pauses, which costs no tries, until patience ends', () => {
    const rules = one({ maxAttempts: 1, pendingForMs: 20_000 });
    const pauses: number[] = [];
    rules.does(rules.claim('a'));
    for (;;) {
      rules.does(rules.told('a', 'pending', 'forward', { via: 'call' }));
      const askAt = rules.state.steps.get('a')?.forward.askAt ?? 0;
      pauses.push(askAt - rules.now);
      rules.now = askAt;
      const claim = rules.claim('a');
      if (rules.asks(claim).kind !== 'append') break;
      rules.does(claim);
    }
    expect(pauses.slice(0, 5)).toEqual([100, 200, 400, 800, 1_600]);
    expect(pauses.reduce((sum, pause) => sum + pause, 0)).toBeGreaterThanOrEqual(20_000);
    expect(rules.refuses(rules.claim('a'))).toEqual({ reason: 'held' });
    rules.does(rules.assess());
    expect(rules.last).toMatchObject({ type: 'review_opened', reason: 'pending_too_long' });
    const keys = rules.events.flatMap((event) =>
      event.type === 'step_claimed' ? [event.key] : [],
    );
    expect(new Set(keys).size).toBe(1);
  });
});

describe('a provider that forgets keys', () => {
  it.each([
    ['can be asked instead', true, 'in_doubt', 'lookup'],
    ['cannot be asked either', false, 'held', 'none'],
  ] as const)('after keyTtlMs %s', (_what, reconcile, expected, dedupe) => {
    const rules = one({ keyTtlMs: 10_000, reconcile, pendingForMs: 1_000_000 }).lost('a');
    rules.wait(10_000);
    expect(rules.refuses(rules.claim('a'))).toMatchObject({ reason: expected });
    const known = one({ keyTtlMs: 10_000, reconcile });
    known.does(known.claim('a'));
    known.does(known.fail('a', 'retryable'));
    known.wait(10_000);
    expect(known.does(known.claim('a'))).toMatchObject({ dedupe });
  });

  it('counts as forgetful as soon as a call could arrive too late, by clocks that differ', () => {
    const arrivesInMs = SKEW_MS + TIMEOUT_MS;
    for (const [waitMs, dedupe] of [
      [10_000 - arrivesInMs - 1, 'key'],
      [10_000 - arrivesInMs, 'lookup'],
    ] as const) {
      const known = one({ keyTtlMs: 10_000, reconcile: true });
      known.does(known.claim('a'));
      known.does(known.fail('a', 'retryable'));
      known.wait(waitMs);
      expect(known.does(known.claim('a'))).toMatchObject({ dedupe });
    }
  });

  it('begins anew with each round', () => {
    const rules = one({ keyTtlMs: 10_000, reconcile: true }).lost('a');
    rules.wait(20_000);
    rules.does(rules.told('a', 'absent'));
    expect(rules.does(rules.claim('a'))).toMatchObject({ round: 2, dedupe: 'key' });
    rules.wait(TIMEOUT_MS);
    expect(rules.state.steps.get('a')?.forward.roundSince).toBe(rules.now - TIMEOUT_MS);
  });
});

describe('outcomes', () => {
  it('of an attempt that is no longer the last one do not speak for the step, unless it committed', () => {
    const rules = one({}).lost('a');
    const stale = {
      fail: rules.fail('a', 'terminal_compensate'),
      doubt: rules.doubt('a'),
      told: rules.told('a', 'absent'),
      commit: rules.commit('a'),
    };
    rules.wait(BACKOFF_MS);
    rules.does(rules.claim('a'));
    for (const command of [stale.fail, stale.doubt, stale.told]) {
      expect(rules.asks(command).kind).toBe('already');
    }
    expect(rules.does(stale.commit)).toMatchObject({ type: 'step_committed', attempt: 1 });
  });

  it('are recorded although the drive is over (fences stop new work only)', () => {
    const rules = one({});
    rules.does(rules.claim('a'));
    const commit = rules.commit('a');
    rules.now = rules.state.dueAt ?? 0;
    rules.does({ kind: 'grant', reason: 'due' });
    expect(rules.state.epoch).toBe(2);
    expect(rules.does(commit)).toMatchObject({ type: 'step_committed', epoch: 2 });
  });

  it('wake a parked saga', () => {
    const rules = one({ dedupe: 'lookup' }).lost('a');
    const commit = rules.commit('a');
    rules.does(rules.assess());
    expect(rules.last).toMatchObject({ drive: 'parked', epoch: 1 });
    expect(rules.does(commit)).toMatchObject({ drive: 'running', epoch: 2, state: 'running' });
  });

  it('of a step nobody knows are drift', () => {
    const rules = one({});
    rules.does(rules.claim('a'));
    expect(rules.refuses({ ...rules.commit('a'), step: 'x' } as never)).toMatchObject({
      reason: 'drift',
    });
  });

  it('that are reported twice change nothing', () => {
    const rules = one({});
    rules.does(rules.claim('a'));
    const commit = rules.commit('a');
    rules.does(commit);
    expect(rules.asks(commit).kind).toBe('already');
  });
});

/** A first attempt that nobody found, and a second one under way. */
function inNextRound(spec: Parameters<typeof one>[0] = { dedupe: 'lookup' }) {
  const rules = one(spec).lost('a');
  const first = rules.commit('a', 'forward', { externalIds: {} });
  rules.wait(WINDOW_MS);
  rules.does(rules.told('a', 'absent'));
  rules.does(rules.claim('a'));
  return { rules, first };
}

describe('what a question about the attempt before found', () => {
  const found = (first: Command, foundAt: number, externalIds = {}) =>
    ({ ...first, via: 'reconcile', foundAt, externalIds }) as Command;

  it('is the effect on record', () => {
    const { rules, first } = inNextRound();
    rules.does(rules.commit('a'));
    expect(rules.asks(found(first, rules.now)).kind).toBe('already');
  });

  it('is another effect where it was there before the present attempt was claimed', () => {
    const { rules, first } = inNextRound();
    const claimedAt = rules.now;
    rules.does(rules.commit('a'));
    expect(rules.does(found(first, claimedAt - SKEW_MS))).toMatchObject({
      type: 'late_evidence',
      attempt: 1,
    });
  });

  it('is the effect on record where both were called for under one key', () => {
    const rules = one({ dedupe: 'key' }).lost('a');
    const first = rules.commit('a', 'forward', { externalIds: {} });
    const foundAt = rules.now - SKEW_MS;
    rules.wait(BACKOFF_MS);
    rules.done('a');
    expect(rules.asks(found(first, foundAt)).kind).toBe('already');
  });

  it('is what the present attempt did, while that is still to be heard', () => {
    const { rules, first } = inNextRound();
    const second = rules.commit('a');
    expect(rules.does(found(first, rules.now))).toMatchObject({
      ...rules.attempt('a'),
      type: 'step_committed',
      attempt: 2,
    });
    expect('foundAt' in rules.last).toBe(false);
    expect(rules.asks(second).kind).toBe('already');
  });

  it.each([
    ['it was there before that one was claimed', -SKEW_MS, {}],
    ['an id tells whose it is', 0, { forward: 'a-1' }],
  ])('is what the earlier one did where %s', (_why, byMs, ids) => {
    const { rules, first } = inNextRound();
    const second = rules.commit('a');
    expect(rules.does(found(first, rules.now + byMs, ids))).toMatchObject({
      type: 'step_committed',
      attempt: 1,
    });
    expect(rules.does(second)).toMatchObject({ type: 'late_evidence', attempt: 2 });
  });

  it('is what the earlier one did where the present one surely did nothing', () => {
    const { rules, first } = inNextRound();
    rules.does(rules.fail('a', 'retryable'));
    expect(rules.does(found(first, rules.now))).toMatchObject({
      type: 'step_committed',
      attempt: 1,
    });
  });
});

describe('late evidence', () => {
  const late = (rules: Rules, externalIds: Record<string, string>, attemptNonce = 'other') => {
    const commit = rules.commit('a');
    return { ...commit, externalIds, attemptNonce } as typeof commit;
  };

  it('of the effect on record changes nothing', () => {
    const rules = one({}).done('a');
    expect(rules.asks(late(rules, { forward: 'a-forward' })).kind).toBe('already');
  });

  it('without ids to compare is the same effect within the first round', () => {
    const rules = one({}).done('a');
    expect(rules.asks(late(rules, {})).kind).toBe('already');
  });

  it('without ids to compare is another effect where it was called for in another round', () => {
    const { rules, first } = inNextRound();
    rules.does(rules.commit('a'));
    expect(rules.does(first)).toMatchObject({ type: 'late_evidence', attempt: 1 });
  });

  it('without ids to compare is the same effect within a later round, too', () => {
    const { rules } = inNextRound({ dedupe: 'key' });
    const second = rules.commit('a', 'forward', { externalIds: {} });
    rules.wait(TIMEOUT_MS);
    rules.does(rules.doubt('a'));
    rules.wait(2 * BACKOFF_MS);
    rules.does(rules.claim('a'));
    rules.does(rules.commit('a'));
    expect(rules.state.steps.get('a')?.forward.commit).toMatchObject({ attempt: 3 });
    expect(rules.asks(second).kind).toBe('already');
  });

  it('of another effect is recorded once, and ends the saga in an incident', () => {
    const rules = one({}).done('a');
    expect(rules.does(late(rules, { forward: 'second' }))).toMatchObject({
      type: 'late_evidence',
      state: 'running',
    });
    expect(rules.asks(late(rules, { forward: 'second' })).kind).toBe('already');
    rules.done('b');
    expect(rules.does(rules.complete())).toMatchObject({
      type: 'incident_opened',
      reason: 'late_evidence',
      steps: ['a'],
      state: 'incident',
    });
  });

  it('turns a compensated saga into an incident: nothing else does (invariant 1)', () => {
    const rules = one({}).done('a').refused('b');
    rules.does(rules.assess());
    rules.undone('a');
    rules.does(rules.settle());
    expect(rules.last.state).toBe('compensated');
    expect(rules.does(late(rules, { forward: 'second' }))).toMatchObject({
      type: 'late_evidence',
      state: 'incident',
      drive: 'ended',
    });
    expect(rules.last.dueAt).toBeUndefined();
    expect(rules.state.incident).toMatchObject({ reason: 'late_evidence', steps: ['a'] });
  });

  it('of a read is no second effect', () => {
    const rules = new Rules([{ name: 'a' }, { name: 'look', effect: 'read_only', after: [] }]);
    rules.does(rules.claim('look'));
    const commit = rules.commit('look');
    rules.refused('a');
    rules.does(rules.assess());
    rules.does(rules.settle());
    expect(rules.last.state).toBe('compensated');
    expect(rules.asks(commit).kind).toBe('already');
  });

  it('of a step that was given up turns a compensated saga into an incident', () => {
    const rules = one({});
    rules.refused('a');
    const commit = rules.commit('a');
    rules.does(rules.assess());
    rules.does(rules.settle());
    expect(rules.last.state).toBe('compensated');
    expect(rules.does(commit)).toMatchObject({ type: 'late_evidence', state: 'incident' });
  });
});
