import { describe, expect, it } from 'vitest';
import { viewOf } from '../../lambdas/service/view.ts';
import { progress } from '../../local/cli/progress.ts';
import { Rules, type StepSpec, TIMEOUT_MS } from '../support/saga-builder.ts';

const view = (rules: Rules) => viewOf(rules.state, rules.now);

/** What is told of all that happens meanwhile. */
function told(rules: Rules, act: () => void): string[] {
  const before = view(rules);
  act();
  return progress(before, view(rules));
}

const PIVOT: readonly StepSpec[] = [
  { name: 'a' },
  { name: 'p', effect: 'irreversible', hook: true },
];

describe('what happened between two looks', () => {
  it('is nothing where nothing did', () => {
    const rules = new Rules([{ name: 'a' }, { name: 'b' }]).done('a');
    expect(told(rules, () => rules.wait(60_000))).toEqual([]);
  });

  it('is told step by step, what is under way last', () => {
    const rules = new Rules([{ name: 'a' }, { name: 'b' }, { name: 'c' }]);
    const act = () => {
      rules.done('a');
      rules.does(rules.claim('b'));
    };
    expect(told(rules, act)).toEqual(['a: done', 'b: running']);
    const end = () => {
      rules.does(rules.commit('b'));
      rules.done('c');
      rules.does(rules.complete());
    };
    expect(told(rules, end)).toEqual(['b: done', 'c: done', 'completed']);
  });

  it('names a failure once, and when it goes on', () => {
    const rules = new Rules([{ name: 'a' }]);
    rules.does(rules.claim('a'));
    const fails = told(rules, () => rules.does(rules.fail('a', 'retryable', 'forward', 5_000)));
    expect(fails).toEqual([
      expect.stringMatching(/^a: retrying, retryable: no; next at [\d-]+ [\d:]+Z$/),
    ]);
    rules.wait(5_000);
    expect(told(rules, () => rules.does(rules.claim('a')))).toEqual(['a: running (call 2)']);
  });

  it('tells of a recovery in the order in which it went', () => {
    const rules = new Rules([{ name: 'a' }, { name: 'b' }, { name: 'c' }]).done('a', 'b');
    const fails = () => {
      rules.refused('c').wait(10);
      rules.does(rules.assess());
    };
    const stopped = [
      'c: failed terminal, terminal_compensate: no',
      'compensating (c, terminal_compensate)',
    ];
    expect(told(rules, fails)).toEqual(stopped);
    const undo = () => {
      rules.undone('b').wait(10).undone('a');
      rules.does(rules.settle());
    };
    expect(told(rules, undo)).toEqual([
      'undo of b: done',
      'undo of a: done',
      'compensated (c, terminal_compensate)',
    ]);
  });

  it('tells a failure and its recovery, seen in one look, in that order', () => {
    const rules = new Rules([{ name: 'a' }, { name: 'b' }]).done('a');
    const act = () => {
      rules.refused('b');
      rules.does(rules.assess());
      rules.does(rules.claim('a', 'compensate'));
    };
    expect(told(rules, act)).toEqual([
      'b: failed terminal, terminal_compensate: no',
      'compensating (b, terminal_compensate)',
      'undo of a: running',
    ]);
  });

  it('calls nothing undone that stays', () => {
    const rules = new Rules(PIVOT).done('a');
    const act = () => {
      rules.does(rules.claim('p'));
      rules.does(rules.fail('p', 'irreversible_incident'));
      rules.does(rules.assess());
      rules.undone('p');
      rules.does(rules.settle());
    };
    expect(told(rules, act)).toEqual([
      'p: failed terminal, irreversible_incident: no',
      'containment of p: done',
      'incident (irreversible failure, p)',
    ]);
  });

  it('says what a person is asked', () => {
    const rules = new Rules([{ name: 'a', dedupe: 'none' }]);
    const act = () => {
      rules.does(rules.claim('a'));
      rules.wait(TIMEOUT_MS);
      rules.does(rules.doubt('a'));
      rules.does(rules.assess());
    };
    const lines = told(rules, act);
    expect(lines[0]).toMatch(/^a: in doubt/);
    expect(lines.at(-1)).toBe('needs review (unknown outcome, a)');
  });

  it('says that a breaker keeps a step from its call, each time', () => {
    const rules = new Rules([{ name: 'a' }]);
    const putOff = () => {
      rules.wait(60_000);
      rules.does({ ...rules.claim('a'), kind: 'defer', until: rules.now + 60_000 } as never);
    };
    const line = expect.stringMatching(
      /^a: retrying, not called: its tool's breaker is open; next at /,
    );
    expect(told(rules, putOff)).toEqual([line]);
    expect(told(rules, putOff)).toEqual([line]);
  });
});
