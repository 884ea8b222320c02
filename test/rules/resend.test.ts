import { describe, expect, it } from 'vitest';
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

describe('an attempt sent again over one in doubt', () => {
  it('cannot, by failing, make the first one not have happened', () => {
    const rules = one({}).lost('a');
    rules.wait(BACKOFF_MS);
    rules.does(rules.claim('a'));
    rules.does(rules.fail('a', 'retryable', 'forward', 300));
    expect(rules.state.steps.get('a')?.forward).toMatchObject({
      status: 'in_doubt',
      askAt: rules.now + 300,
    });
  });

  it('is a question: no try is spent on it, and the pauses grow up to an hour', () => {
    const rules = one({ maxAttempts: 2 }).lost('a');
    const pauses: number[] = [];
    for (let asked = 0; asked < 24; asked += 1) {
      const askAt = rules.state.steps.get('a')?.forward.askAt ?? 0;
      pauses.push(askAt - rules.now);
      expect(rules.refuses(rules.claim('a'))).toEqual({ reason: 'waiting', until: askAt });
      rules.now = askAt;
      rules.lost('a');
    }
    expect(rules.state.steps.get('a')?.forward).toMatchObject({ spent: 1, attempts: 25 });
    expect(pauses.slice(0, 4)).toEqual([100, 200, 400, 800]);
    expect(pauses.at(-1)).toBe(MAX_ASK_INTERVAL_MS);
    rules.does(rules.assess());
    expect(rules.last).toMatchObject({ type: 'drive_parked', reason: 'provider' });
  });

  it('that dies without a word is bounded by the tries', () => {
    const rules = one({ maxAttempts: 3 });
    for (let tries = 0; tries < 3; tries += 1) {
      rules.does(rules.claim('a'));
      rules.wait(TIMEOUT_MS * 10);
    }
    expect(rules.refuses(rules.claim('a'))).toEqual({ reason: 'attempts_spent' });
    rules.does(rules.assess());
    expect(rules.last).toMatchObject({ type: 'review_opened', reason: 'unknown_outcome' });
  });

  it('leaves a question for a person when patience ends, never a recovery', () => {
    const rules = one({ pendingForMs: 60_000 }).lost('a');
    for (let tries = 0; tries < 5; tries += 1) {
      rules.wait(BACKOFF_MS * 100);
      rules.does(rules.claim('a'));
      rules.does(rules.fail('a', 'retryable', 'forward', 0));
    }
    rules.wait(60_000);
    rules.does(rules.assess());
    expect(rules.last).toMatchObject({
      type: 'review_opened',
      reason: 'unknown_outcome',
      steps: ['a'],
    });
    expect(rules.state.halt).toBeUndefined();
  });

  it('is believed when it is refused after the first one could land', () => {
    const rules = one({}).lost('a');
    const settled = rules.now + WINDOW_MS;
    rules.wait(BACKOFF_MS);
    rules.does(rules.claim('a'));
    rules.does(rules.fail('a', 'terminal_compensate'));
    expect(rules.state.halt).toBeUndefined();
    expect(rules.state.steps.get('a')?.forward).toMatchObject({
      status: 'in_doubt',
      askAt: settled,
    });
    rules.now = settled;
    rules.does(rules.claim('a'));
    rules.does(rules.fail('a', 'terminal_compensate'));
    expect(rules.state.halt).toMatchObject({ reason: 'step_failed', step: 'a' });
  });

  it('settles the doubt by committing', () => {
    const rules = one({}).lost('a');
    rules.wait(BACKOFF_MS);
    rules.done('a');
    expect(rules.state.steps.get('a')?.forward).toMatchObject({
      status: 'done',
      suspectUntil: undefined,
    });
  });
});
