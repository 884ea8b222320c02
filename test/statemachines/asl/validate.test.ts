import { validateAsl } from 'counterstep';
import { describe, expect, test } from 'vitest';
import { diamond } from '../samples.ts';
import { compiled } from './machine.ts';

type Level = { States: Record<string, Record<string, unknown>> };

/** The verdict's problems after a change to a good machine. */
function after(change: (machine: Level) => void): string {
  const machine = structuredClone(compiled(diamond)) as unknown as Level;
  change(machine);
  const verdict = validateAsl(machine);
  return verdict.kind === 'valid' ? 'valid' : verdict.problems.join('\n');
}
const branch = (machine: Level): Level =>
  (machine.States['wave.2'] as unknown as { Branches: [Level] }).Branches[0];
const catcher = (to: string) => [{ ErrorEquals: ['States.ALL'], Next: to }];

describe('ac-08: dangling targets and unreachable states are found at every level', () => {
  test.each<[string, (machine: Level) => void, string]>([
    [
      'a recovery removed',
      (m) => delete m.States['recover.close'],
      '$.States["route"] leads to "recover.close"',
    ],
    ['a Parallel removed', (m) => delete m.States['wave.2'], '$.States["open"] leads to "wave.2"'],
    [
      'an orphan',
      (m) => {
        m.States.orphan = { Type: 'Succeed' };
      },
      '$.States["orphan"] cannot be reached',
    ],
    [
      'an island of two',
      (m) => {
        m.States.a = { Type: 'Pass', Next: 'b' };
        m.States.b = { Type: 'Pass', Next: 'a' };
      },
      '$.States["a"] cannot be reached',
    ],
    [
      'a catch in a branch that dangles',
      (m) => delete branch(m).States['caught.left'],
      '$.States["wave.2"][0].States["left"] leads to "caught.left"',
    ],
    [
      'a catch in a branch that leaves it',
      (m) => {
        Object.assign(branch(m).States.left ?? {}, { Catch: catcher('assess') });
      },
      '[0].States["left"] leads to "assess", which is not a state of its level',
    ],
    [
      'an orphan in a branch',
      (m) => {
        branch(m).States.orphan = { Type: 'Succeed' };
      },
      '$.States["wave.2"][0].States["orphan"] cannot be reached',
    ],
    [
      'a branch that starts nowhere',
      (m) => {
        Object.assign(branch(m), { StartAt: 'gone' });
      },
      'starts at "gone"',
    ],
    [
      'one name at two levels',
      (m) => {
        branch(m).States.open = { Type: 'Succeed' };
      },
      'has the name of',
    ],
    [
      'a name too long',
      (m) => {
        m.States['x'.repeat(81)] = { Type: 'Succeed' };
      },
      'a name of 81 characters',
    ],
    [
      'a field that does not exist',
      (m) => {
        Object.assign(m.States.open ?? {}, { Retries: 3 });
      },
      '/States/open is invalid',
    ],
    [
      'a map whose catch dangles',
      (m) => {
        m.States.open = {
          Type: 'Map',
          Next: 'wave.2',
          ItemProcessor: {
            StartAt: 'item',
            States: { item: { Type: 'Parallel', Branches: [], Catch: catcher('gone'), End: true } },
          },
        };
      },
      '$.States["open"][0].States["item"] leads to "gone"',
    ],
  ])('%s', (_, change, problem) => {
    expect(after(change)).toContain(problem);
  });
});

test('a target only a catch inside a map leads to counts as reached', () => {
  const item = { Type: 'Task', Resource: 'arn:aws:states:::lambda:invoke', End: true };
  expect(
    validateAsl({
      StartAt: 'each',
      States: {
        each: {
          Type: 'Map',
          End: true,
          ItemProcessor: {
            StartAt: 'item',
            States: {
              item: { ...item, Catch: catcher('undo') },
              undo: { Type: 'Pass', End: true },
            },
          },
        },
      },
    }),
  ).toEqual({ kind: 'valid' });
});

test('what is checked is not changed', () => {
  const machine = compiled(diamond);
  const text = JSON.stringify(machine);
  validateAsl(machine);
  expect(JSON.stringify(machine)).toBe(text);
});
