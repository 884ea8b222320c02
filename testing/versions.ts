import { defineSagaFromSteps } from '../statemachines/language/define-saga.ts';
import { DefinitionError } from '../statemachines/language/problems.ts';
import type { AnySaga, AnyStepFacts, StepDeclaration } from '../statemachines/language/saga.ts';
import type { AnyTool } from '../statemachines/language/tool.ts';
import type { SagaEvent } from '../statemachines/rules/events.ts';
import { exampleOf, NoExample } from './example.ts';

/** How a later version of a definition differs from the first one. */
export const CHANGES = [
  /** The other type of machine. */
  'type',
  /** A call that waits longer. */
  'patience',
  'renamed',
  'removed',
  'added',
  'reordered',
  /** A step that uses another tool of the same kind. */
  'retooled',
  /** A step whose tool is of another effect class now. */
  'reclassed',
] as const;
export type Change = (typeof CHANGES)[number];

const derived = new WeakSet<AnySaga>();
const built = new WeakMap<AnySaga, Map<string, AnySaga | undefined>>();

/**
 * A later version of a definition: always the same one for the same change and place. Nothing where no
 * such version is a definition at all.
 */
export function versionOf(first: AnySaga, change: Change, place: number): AnySaga | undefined {
  let versions = built.get(first);
  if (versions === undefined) {
    versions = new Map();
    built.set(first, versions);
  }
  const name = `${change} ${place}`;
  if (!versions.has(name)) versions.set(name, make(first, change, place));
  return versions.get(name);
}

/** Whether the simulator made this version of a definition that was given to it. */
export function isDerived(saga: AnySaga): boolean {
  return derived.has(saga);
}

function make(first: AnySaga, change: Change, place: number): AnySaga | undefined {
  const { plan } = first;
  const steps = changedSteps(first, change, place % first.steps.length);
  if (steps === undefined) return undefined;
  const other = plan.sagaType === 'STANDARD' ? 'EXPRESS' : 'STANDARD';
  const known = new Set(steps.map((step) => step.name));
  const recoverAfter = plan.steps
    .filter((step) => known.has(step.name) && step.effect !== 'read_only')
    .map((step) => [step.name, step.recoverAfter.filter((each) => known.has(each))] as const);
  // Where steps change places, their recoveries follow.
  const after = change === 'reordered' ? {} : { after: Object.fromEntries(recoverAfter) };
  const { businessKey } = first;
  const spec = {
    name: first.name,
    version: `${first.version}-${change}-${place}`,
    input: first.input,
    type: change === 'type' ? other : plan.sagaType,
    ...(plan.deadlineMs === undefined ? {} : { deadlineMs: plan.deadlineMs }),
    ...(plan.budget === undefined ? {} : { budget: plan.budget }),
    ...(businessKey === undefined ? {} : { businessKey: (input: unknown) => businessKey(input) }),
    recovery: {
      reviewMs: plan.reviewMs,
      ...(plan.ceiling === undefined ? {} : { ceiling: plan.ceiling }),
      ...after,
    },
  };
  try {
    const version = defineSagaFromSteps(spec, steps);
    derived.add(version);
    return version;
  } catch (error) {
    if (error instanceof DefinitionError) return undefined;
    throw error;
  }
}

function changedSteps(first: AnySaga, change: Change, at: number): StepDeclaration[] | undefined {
  const steps = first.steps.map((step): StepDeclaration => {
    const closes = first.plan.steps.some((each) => each.name === step.name && each.checkpoint);
    const input = (facts: AnyStepFacts): unknown => step.input(withKnown(facts, first));
    return { name: step.name, tool: step.tool, after: step.after, checkpoint: closes, input };
  });
  const one = steps[at];
  if (one === undefined) return undefined;
  const { name, tool } = one;
  const replaced = (by: Partial<StepDeclaration>): StepDeclaration[] =>
    steps.map((step) => (step === one ? { ...step, ...by } : step));
  // Steps over one tool have its contract in common.
  const contract = (by: Partial<AnyTool>): StepDeclaration[] => {
    const now = { ...tool, ...by };
    return steps.map((step) => (step.tool === tool ? { ...step, tool: now } : step));
  };
  switch (change) {
    case 'type':
      return steps;
    case 'patience':
      return contract({ forward: { ...tool.forward, timeoutMs: tool.forward.timeoutMs + 500 } });
    case 'renamed':
      return followed(replaced({ name: `${name}_now` }), name, [`${name}_now`]);
    case 'removed':
      if (steps.length === 1) return undefined;
      return followed(
        steps.filter((step) => step !== one),
        name,
        one.after ?? [],
      );
    case 'added': {
      const new_ = { name: 'in_front', tool: copied(tool, `${tool.name}-again`), after: [] };
      const behind = steps.map((step) =>
        step.after?.length === 0 ? { ...step, after: [new_.name] } : step,
      );
      return [{ ...new_, input: (facts) => one.input(facts) }, ...behind];
    }
    case 'reordered': {
      const next = steps.find((step) => step.after?.includes(name));
      if (next === undefined) return undefined;
      const swap = new Map([
        [one, next],
        [next, one],
      ]);
      const names = new Map([
        [name, next.name],
        [next.name, name],
      ]);
      return steps.map((step) => ({
        ...(swap.get(step) ?? step),
        after: (step.after ?? []).map((each) => names.get(each) ?? each),
      }));
    }
    case 'retooled':
      return replaced({ tool: copied(tool, `${tool.name}-next`) });
    case 'reclassed':
      if (tool.effect === 'reversible') return contract({ effect: 'compensable' });
      return tool.effect === 'compensable' ? contract({ effect: 'reversible' }) : undefined;
  }
}

function copied(tool: AnyTool, name: string): AnyTool {
  return { ...tool, name };
}

/** Who came after `gone` comes after `instead` now. */
function followed(
  steps: readonly StepDeclaration[],
  gone: string,
  instead: readonly string[],
): StepDeclaration[] {
  return steps.map((step) => ({
    ...step,
    after: [...new Set((step.after ?? []).flatMap((each) => (each === gone ? instead : [each])))],
  }));
}

/** Mappings of the first version read steps by the names of then: whoever changes a version adapts them. */
function withKnown({ input, results }: AnyStepFacts, first: AnySaga): AnyStepFacts {
  const known: Record<string, unknown> = {};
  for (const { name, tool } of first.steps) {
    const now = results[name] ?? results[`${name}_now`];
    known[name] = now ?? madeUp(tool, input);
  }
  return { input, results: known };
}

function madeUp(tool: AnyTool, like: unknown): unknown {
  try {
    return exampleOf(tool.output, tool.name, { number: 1, like });
  } catch (error) {
    if (error instanceof NoExample) return undefined;
    throw error;
  }
}

/**
 * Why a saga that stands where `events` say cannot go on with this version: told from what the ledger
 * holds, and apart from the rule that the engine goes by. Nothing where it can.
 */
export function whyUnfit(events: readonly SagaEvent[], later: AnySaga): string | undefined {
  const [start] = events;
  if (start?.type !== 'saga_started') return 'it has not begun';
  const done = new Set(start.adopted?.map(({ step }) => step));
  for (const event of events) {
    const committed =
      event.type === 'step_committed' ||
      (event.type === 'review_decided' && event.answer === 'committed');
    if (committed && event.action === 'forward' && event.step !== undefined) done.add(event.step);
  }
  for (const { name, effect, tool } of start.steps) {
    const now = later.steps.find((step) => step.name === name);
    const wrote = effect !== 'read_only';
    if (now === undefined) {
      if (wrote || !done.has(name)) return `"${name}" is gone`;
    } else if (now.tool.effect !== effect) return `"${name}" is ${now.tool.effect}`;
    else if (wrote && now.tool.name !== tool) return `"${name}" uses ${now.tool.name}`;
  }
  const added = later.steps.find(({ name }) => start.steps.every((step) => step.name !== name));
  if (added !== undefined) return `"${added.name}" is new`;
  return outOfOrder(start.steps, later, done);
}

/** Plays the later version's order on what is still to come: a step it comes to must find those before it done. */
function outOfOrder(
  recorded: Extract<SagaEvent, { type: 'saga_started' }>['steps'],
  later: AnySaga,
  done: ReadonlySet<string>,
): string | undefined {
  const before = new Map(
    recorded.map(({ name, after }, index) => {
      const previous = recorded[index - 1];
      return [name, after ?? (previous === undefined ? [] : [previous.name])] as const;
    }),
  );
  for (const step of later.steps) {
    if (done.has(step.name)) continue;
    const open = before.get(step.name)?.filter((each) => !done.has(each)) ?? [];
    const early = open.find((each) => !step.ancestors.includes(each));
    if (early !== undefined) return `"${step.name}" comes before "${early}"`;
  }
  return undefined;
}
