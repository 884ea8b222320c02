import { type States, validateAsl } from 'counterstep';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anySaga } from '../definitions.ts';
import { compiled, run, tasksIn } from './machine.ts';

test('every valid definition compiles to a valid machine', () => {
  fc.assert(
    fc.property(anySaga, (saga) => {
      expect(validateAsl(compiled(saga))).toEqual({ kind: 'valid' });
    }),
    // The schema check takes a fifth of a second each time.
    { numRuns: 12 },
  );
});

test('ac-03: every Task has its timeout, its retries and its catches, and no path but three', () => {
  fc.assert(
    fc.property(anySaga, (saga) => {
      for (const task of allTasks(compiled(saga).States)) {
        expect(task.TimeoutSeconds).toBeGreaterThan(0);
        expect(task.TimeoutSeconds).toBeLessThan(saga.plan.sagaType === 'EXPRESS' ? 300 : 905);
        expect(task.Retry.map((each) => each.ErrorEquals.at(-1))).toEqual([
          'Counterstep.NotReady',
          'States.ALL',
        ]);
        expect(task.Catch.map((each) => each.ErrorEquals)).toEqual([
          ['States.DataLimitExceeded'],
          ['States.ALL'],
        ]);
        expect(task.Catch.every((each) => each.ResultPath.startsWith('$.'))).toBe(true);
      }
    }),
  );
});

test('a happy drive calls every step once, each after its predecessors, in N + 2 Tasks', async () => {
  await fc.assert(
    fc.asyncProperty(anySaga, async (saga) => {
      const { tried, end } = await run(compiled(saga));
      expect(tried).toHaveLength(saga.steps.length + 2);
      for (const step of saga.steps) {
        for (const before of step.after) {
          expect(tried.indexOf(before)).toBeLessThan(tried.indexOf(step.name));
        }
      }
      expect(end).toEqual({ kind: 'succeeded', output: { state: 'completed' } });
    }),
    { numRuns: 30 },
  );
});

test('whatever fails, a drive recovers every writing step in order and settles', async () => {
  await fc.assert(
    fc.asyncProperty(anySaga, fc.nat(), fc.boolean(), async (saga, pick, text) => {
      const machine = compiled(saga);
      const failing = ['begin', ...saga.steps.map((step) => step.name)];
      const fails = failing[pick % failing.length] as string;
      const refuse = (): never => {
        if (text) throw 'text';
        throw new Error('for the test');
      };
      // In a wave the failure shows at the next claim; the ledger refuses it.
      const { tried, end } = await run(machine, { [fails]: refuse, complete: refuse });
      const recovered = tried.filter((state) => state.startsWith('recover.'));
      expect(new Set(recovered)).toEqual(
        new Set(saga.plan.recoveryWaves.flat().map((name) => `recover.${name}`)),
      );
      for (const step of saga.plan.steps) {
        for (const before of step.recoverAfter) {
          expect(tried.indexOf(`recover.${before}`)).toBeLessThan(
            tried.indexOf(`recover.${step.name}`),
          );
        }
      }
      expect(end).toEqual({ kind: 'failed', error: 'Compensated' });
    }),
    { numRuns: 30 },
  );
});

function allTasks(states: States) {
  const found = Object.values(states).flatMap((state) => {
    if (state.Type === 'Task') return [state];
    return state.Type === 'Parallel'
      ? state.Branches.flatMap((branch) => allTasks(branch.States))
      : [];
  }) as Extract<States[string], { Type: 'Task' }>[];
  expect(found).toHaveLength(tasksIn(states).length);
  return found;
}
