import type { AnySaga } from '../statemachines/language/saga.ts';
import { type Befalls, eitherEnds, type MatrixCase, together, UNDONE } from './matrix-case.ts';

/**
 * Two at a time: each failure followed by each other failure, of a step or of an undo, by another one of
 * the same call, and by each cancel.
 * Pairs that exclude each other are left out: what a step's refusal has ended never comes to a later step.
 */
export function pairCases(
  saga: AnySaga,
  failures: readonly MatrixCase[],
  cancels: readonly MatrixCase[],
): MatrixCase[] {
  const order = new Map(saga.steps.map(({ name }, index) => [name, index]));
  return failures.flatMap((left, index) => [
    ...[...failures.slice(index + 1), ...cancels]
      .filter((right) => mayMeet(left, right, order))
      .map((right) => pair(saga, left, right)),
    ...(left.passes === true ? failures.flatMap((right) => twice(left, right)) : []),
  ]);
}

/** One call fails, then the next one of the same action does. */
function twice(left: MatrixCase, right: MatrixCase): MatrixCase[] {
  const { again } = right;
  if (left.step !== right.step || left.group !== right.group || again === undefined) return [];
  const ends = eitherEnds(left, right);
  return [
    {
      ...left,
      name: `${left.name} + again: ${right.failure}`,
      failure: `${left.failure} + again: ${right.failure}`,
      mayRest: [...new Set([...ends.mayRest, ...UNDONE])],
      // Together they may spend the tries.
      mayEnd: [...new Set([...ends.mayEnd, ...UNDONE])],
      strikes: [...left.strikes, again],
    },
  ];
}

function mayMeet(left: MatrixCase, right: MatrixCase, order: ReadonlyMap<string, number>): boolean {
  // Two mishaps of one call: only the first could strike.
  if (left.step === right.step && left.group === right.group) return false;
  if (left.group !== 'failure') return true;
  if (right.takes === left.step) return false;
  if (left.mayEnd.includes('completed') || right.step === undefined) return true;
  const place = (of: MatrixCase): number => order.get(of.step ?? '') ?? 0;
  // What is refused does nothing, and has nothing undone.
  return place(right) < place(left) || (right.group === 'outside' && right.step === left.step);
}

function pair(saga: AnySaga, left: MatrixCase, right: MatrixCase): MatrixCase {
  const ends = eitherEnds(left, right);
  // Either alone leaves a try; both may spend the last one.
  const spends = saga.plan.budget !== undefined;
  const unreachable = left.unreachable ?? right.unreachable;
  return {
    name: `${left.name} + ${right.name}`,
    group: right.group,
    failure: `${left.failure} + ${right.failure}`,
    ...(right.step === undefined ? {} : { step: right.step }),
    ...ends,
    ...(spends ? { mayEnd: [...new Set([...ends.mayEnd, ...UNDONE])] } : {}),
    ...(unreachable === undefined ? {} : { unreachable }),
    ...both(left, right),
    ...(right.demand === undefined ? {} : { demand: right.demand }),
  };
}

/** What the second needs to strike comes first: else the first's own failure might keep it from happening. */
function both(left: Befalls, right: Befalls): Befalls {
  const given = [right.given, left.given].flatMap((each) => (each === undefined ? [] : [each]));
  return {
    ...(given.length === 0 ? {} : { given: () => together(given.map((part) => part())) }),
    strikes: [...left.strikes, ...right.strikes],
  };
}
