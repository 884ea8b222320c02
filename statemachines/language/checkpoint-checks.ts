import { ancestorsIn } from '../plan/graph.ts';
import { forwardGraph } from '../plan/orders.ts';
import type { Problem } from './problems.ts';
import type { StepDeclaration } from './saga.ts';

/**
 * A checkpoint is one moment: every other step is before it or after it, so that what it keeps can be
 * told. The graph MUST have no cycle.
 */
export function checkpointProblems(
  steps: readonly StepDeclaration[],
  placeOf: (step: string) => string,
): Problem[] {
  const ancestors = ancestorsIn(forwardGraph(steps));
  const isBefore = (first: string, then: string): boolean =>
    ancestors.get(then)?.has(first) ?? false;
  return steps.flatMap(({ name, tool, checkpoint }): Problem[] => {
    if (checkpoint !== true) return [];
    const place = placeOf(name);
    const pivot = steps.find(
      (step) => step.tool.effect === 'irreversible' && isBefore(step.name, name),
    );
    if (tool.effect === 'irreversible' || pivot !== undefined) {
      const where =
        pivot === undefined ? 'at an irreversible step' : `behind the irreversible "${pivot.name}"`;
      return [
        {
          place,
          problem: `it closes a checkpoint ${where}, where nothing is undone any more`,
          remedy: 'Leave `checkpoint` out, or put it on a step before the irreversible one',
        },
      ];
    }
    const beside = steps.filter(
      (step) => step.name !== name && !isBefore(step.name, name) && !isBefore(name, step.name),
    );
    if (beside.length === 0) return [];
    const names = beside.map((step) => `"${step.name}"`).join(', ');
    return [
      {
        place,
        problem: `it closes a checkpoint while ${names} may still run beside it, so nobody could say what the checkpoint keeps`,
        remedy: `Order ${names} with \`after\`: before "${name}", or behind it`,
      },
    ];
  });
}
