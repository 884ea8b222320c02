import type { StepDeclaration, UncheckedSagaSpec } from '../language/saga.ts';
import type { Graph } from './graph.ts';

/** Which step comes before which, forward and in recovery, and the waves that follow from it. */

type Steps = readonly Pick<StepDeclaration, 'name' | 'tool' | 'after'>[];

/** Steps with their direct predecessors. A step that names none follows the one declared before it. */
export function forwardGraph(steps: Steps): Graph {
  return new Map(
    steps.map((step, index) => {
      const before = steps[index - 1];
      const byDefault = before === undefined ? [] : [before.name];
      return [step.name, [...new Set(step.after ?? byDefault)]];
    }),
  );
}

/**
 * Writing steps with the steps recovered directly before them: the forward graph turned round,
 * except where `declared` says otherwise.
 */
export function recoveryGraph(
  steps: Steps,
  declared: Readonly<Record<string, readonly string[] | undefined>> | undefined,
): Graph {
  const forward = forwardGraph(steps);
  const writes = new Set(
    steps.filter((step) => step.tool.effect !== 'read_only').map((step) => step.name),
  );
  // A step that only reads has no recovery: what follows it counts as following its predecessors.
  const writingFollowers = (name: string): string[] => {
    const passed = new Set([name]);
    const found = new Set<string>();
    for (const each of passed) {
      for (const [follower, before] of forward) {
        if (!before.includes(each)) continue;
        (writes.has(follower) ? found : passed).add(follower);
      }
    }
    return [...forward.keys()].filter((each) => found.has(each));
  };
  const graph = new Map<string, readonly string[]>();
  for (const { name } of [...steps].reverse()) {
    if (!writes.has(name)) continue;
    const own =
      declared !== undefined && Object.hasOwn(declared, name) ? declared[name] : undefined;
    graph.set(name, [...new Set(own ?? writingFollowers(name))]);
  }
  return graph;
}

/** Nodes in waves, each as early as its predecessors allow; inside a wave in the order of `names`. */
export function wavesOf(graph: Graph, names: readonly string[]): string[][] {
  return scheduled(graph, names, () => 0);
}

/** The recovery's waves and the direct predecessors that enforce them. */
export function recoveryOrder(
  spec: Pick<UncheckedSagaSpec, 'recovery'>,
  steps: Steps,
): { readonly waves: string[][]; readonly after: Graph } {
  const graph = recoveryGraph(steps, spec.recovery?.after);
  const priorities = new Map(Object.entries(spec.recovery?.priority ?? {}));
  const waves = scheduled(graph, [...graph.keys()], (name) => priorities.get(name) ?? 0);
  if (priorities.size === 0) return { waves, after: graph };
  // What priority put into an earlier wave must be a predecessor too: claims check those, not waves.
  const after = new Map<string, readonly string[]>();
  for (const [index, wave] of waves.entries()) {
    for (const name of wave) {
      after.set(name, [...new Set([...(graph.get(name) ?? []), ...(waves[index - 1] ?? [])])]);
    }
  }
  return { waves, after };
}

/** Of all nodes whose predecessors are through, those of the highest priority make the next wave. */
function scheduled(
  graph: Graph,
  names: readonly string[],
  priorityOf: (name: string) => number,
): string[][] {
  const waves: string[][] = [];
  const through = new Set<string>();
  while (through.size < names.length) {
    const ready = names.filter(
      (name) =>
        !through.has(name) && (graph.get(name) ?? []).every((before) => through.has(before)),
    );
    if (ready.length === 0) {
      throw new Error('the graph has a cycle: look for it with cycleIn before asking for waves');
    }
    const highest = Math.max(...ready.map(priorityOf));
    const wave = ready.filter((name) => priorityOf(name) === highest);
    for (const name of wave) through.add(name);
    waves.push(wave);
  }
  return waves;
}
