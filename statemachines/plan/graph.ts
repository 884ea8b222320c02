/** At most this many steps run side by side. */
export const MAX_WAVE = 10;

/** Each node with its direct predecessors, all of them nodes of the same graph. */
export type Graph = ReadonlyMap<string, readonly string[]>;

/** The nodes of one cycle, its first node repeated at the end, or `undefined` where there is none. */
export function cycleIn(graph: Graph): string[] | undefined {
  const finished = new Set<string>();
  for (const start of graph.keys()) {
    const cycle = walk(graph, start, [], finished);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}

function walk(
  graph: Graph,
  node: string,
  path: readonly string[],
  finished: Set<string>,
): string[] | undefined {
  if (finished.has(node)) return undefined;
  const seen = path.indexOf(node);
  // The path runs against the arrows, from a node to its predecessors; readers expect it with them.
  if (seen >= 0) return [...path.slice(seen), node].reverse();
  for (const before of graph.get(node) ?? []) {
    const cycle = walk(graph, before, [...path, node], finished);
    if (cycle !== undefined) return cycle;
  }
  finished.add(node);
  return undefined;
}

/** All nodes before each node, in the graph's own order. The graph MUST have no cycle. */
export function ancestorsIn(graph: Graph): ReadonlyMap<string, ReadonlySet<string>> {
  const known = new Map<string, ReadonlySet<string>>();
  const of = (node: string): ReadonlySet<string> => {
    const before = known.get(node);
    if (before !== undefined) return before;
    const found = new Set<string>();
    for (const direct of graph.get(node) ?? []) {
      for (const further of of(direct)) found.add(further);
      found.add(direct);
    }
    const sorted = new Set([...graph.keys()].filter((each) => found.has(each)));
    known.set(node, sorted);
    return sorted;
  };
  for (const node of graph.keys()) of(node);
  return known;
}
