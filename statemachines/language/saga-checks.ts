import { ancestorsIn, cycleIn, MAX_WAVE } from '../plan/graph.ts';
import { forwardGraph, recoveryGraph, recoveryOrder, wavesOf } from '../plan/orders.ts';
import { budgetProblems, budgetShapeProblems } from './budget-checks.ts';
import { checkpointProblems } from './checkpoint-checks.ts';
import { nameProblems, stepNameProblems, versionProblems } from './names.ts';
import type { Problem } from './problems.ts';
import type { StepDeclaration, UncheckedSagaSpec } from './saga.ts';
import { isSchema } from './schema.ts';
import type { AnyTool } from './tool.ts';
import { isCurrency, isMinor } from './tool-checks.ts';

/** The longest attempt of an Express saga: an Express execution ends after five minutes. */
export const MAX_EXPRESS_TIMEOUT_MS = 4 * 60_000;

const NEEDS_COMPENSATION = new Set(['reversible', 'reversible_with_cost', 'compensable']);

type Add = (place: string, problem: string, remedy: string) => void;

/** Everything that keeps a saga from being built. */
export function sagaProblems(
  spec: UncheckedSagaSpec,
  steps: readonly StepDeclaration[],
): Problem[] {
  const saga = `saga ${JSON.stringify(spec.name)}`;
  const problems: Problem[] = [
    ...nameProblems(saga, spec.name),
    ...versionProblems(saga, spec.version),
  ];
  const add: Add = (place, problem, remedy) => problems.push({ place, problem, remedy });
  const placeOf = (step: string): string => `${saga}, step ${JSON.stringify(step)}`;

  specProblems(spec, saga, add);
  problems.push(...budgetShapeProblems(spec, saga));
  if (steps.length === 0) add(saga, 'it has no step', 'Declare at least one with `.step(…)`');
  for (const [index, step] of steps.entries()) {
    problems.push(...stepNameProblems(placeOf(step.name), step.name));
    shapeProblems(step, steps.slice(0, index), placeOf(step.name), add);
  }
  // Order can only be judged once every name stands for one step and every step has a tool.
  if (problems.length > 0) return problems;

  toolsProblems(spec, steps, placeOf, add);
  referenceProblems(spec, steps, saga, placeOf, add);
  if (problems.length > 0) return problems;

  const forward = forwardGraph(steps);
  const forwardCycle = cycleIn(forward);
  if (forwardCycle !== undefined) {
    add(
      saga,
      `its steps wait for each other: ${forwardCycle.join(' → ')}`,
      'Break the cycle in `after`',
    );
    return problems;
  }
  const recoveryCycle = cycleIn(recoveryGraph(steps, spec.recovery?.after));
  if (recoveryCycle !== undefined) {
    add(
      saga,
      `its recoveries wait for each other: ${recoveryCycle.join(' → ')}`,
      'Break the cycle in `recovery.after`: steps it does not name keep the reverse of the forward order',
    );
    return problems;
  }
  pivotProblems(steps, placeOf, add);
  problems.push(...checkpointProblems(steps, placeOf), ...budgetProblems(spec, steps, placeOf));
  widthProblems(spec, steps, saga, add);
  return problems;
}

function specProblems(spec: UncheckedSagaSpec, saga: string, add: Add): void {
  if (!isSchema(spec.input)) {
    add(saga, 'its input is not a zod 4 schema', 'Give `input` a schema of zod or zod/mini');
  }
  if (spec.type !== undefined && spec.type !== 'STANDARD' && spec.type !== 'EXPRESS') {
    add(saga, `its type is ${JSON.stringify(spec.type)}`, "Use 'STANDARD' or 'EXPRESS'");
  }
  const times = [
    ['deadlineMs', spec.deadlineMs],
    ['recovery.reviewMs', spec.recovery?.reviewMs],
  ] as const;
  for (const [name, value] of times) {
    if (value !== undefined && (!isMinor(value) || value === 0)) {
      add(saga, `${name} is ${JSON.stringify(value)}`, 'Use whole milliseconds, 1 or more');
    }
  }
  const ceiling = spec.recovery?.ceiling;
  if (ceiling !== undefined && !(isMinor(ceiling.costMinor) && isCurrency(ceiling.currency))) {
    add(
      saga,
      'its recovery ceiling is malformed',
      "Use `{ costMinor: <whole cents, 0 or more>, currency: 'EUR' }` with an ISO 4217 code",
    );
  }
}

function shapeProblems(
  step: StepDeclaration,
  before: readonly StepDeclaration[],
  place: string,
  add: Add,
): void {
  if (before.some((other) => other.name === step.name)) {
    add(place, 'another step has the same name', 'Give each step a name of its own');
  }
  const tool: unknown = step.tool;
  if (typeof tool !== 'object' || tool === null || Reflect.get(tool, 'kind') !== 'tool') {
    add(place, 'it has no tool', 'Give it one made by `defineTool`');
  }
  if (step.checkpoint !== undefined && typeof step.checkpoint !== 'boolean') {
    add(place, '`checkpoint` is neither true nor false', 'Use `checkpoint: true`, or leave it out');
  }
  if (typeof step.input !== 'function') {
    add(place, 'it has no input mapping', 'Give `input: ({ input, results }) => ({ … })`');
  }
}

function toolsProblems(
  spec: UncheckedSagaSpec,
  steps: readonly StepDeclaration[],
  placeOf: (step: string) => string,
  add: Add,
): void {
  const byName = new Map<string, AnyTool>();
  let currency = spec.recovery?.ceiling?.currency ?? spec.budget?.cost?.currency;
  for (const { name, tool } of steps) {
    const known = byName.get(tool.name);
    if (known !== undefined && known !== tool) {
      add(
        placeOf(name),
        `its tool "${tool.name}" is another one than an earlier step's tool of that name`,
        'Use one contract for both, or give one of the tools another name',
      );
    }
    byName.set(tool.name, tool);
    for (const [what, cost] of [
      ['cost', tool.cost],
      ['forwardCost', tool.forwardCost],
    ] as const) {
      if (cost === undefined) continue;
      currency ??= cost.currency;
      if (cost.currency === currency) continue;
      add(
        placeOf(name),
        `its ${what} is in ${cost.currency}, but this saga counts in ${currency}`,
        'Estimate all costs, the ceiling and the budget of a saga in one currency',
      );
    }
    const calls = {
      forward: tool.forward,
      compensate: tool.compensate?.call,
      contain: tool.contain,
    };
    for (const [action, call] of Object.entries(calls)) {
      if (
        spec.type === 'EXPRESS' &&
        call !== undefined &&
        call.timeoutMs > MAX_EXPRESS_TIMEOUT_MS
      ) {
        add(
          placeOf(name),
          `${action} may take ${call.timeoutMs} ms, too long for an Express execution`,
          `Use a timeoutMs of at most ${MAX_EXPRESS_TIMEOUT_MS}, or the type 'STANDARD'`,
        );
      }
    }
  }
}

function referenceProblems(
  spec: UncheckedSagaSpec,
  steps: readonly StepDeclaration[],
  saga: string,
  placeOf: (step: string) => string,
  add: Add,
): void {
  const names = steps.map((step) => step.name);
  const known = (place: string, where: string, name: string): boolean => {
    if (names.includes(name)) return true;
    add(
      place,
      `${where} names the step ${JSON.stringify(name)}, which does not exist`,
      `Use one of ${names.join(', ')}`,
    );
    return false;
  };
  for (const step of steps) {
    for (const name of step.after ?? []) known(placeOf(step.name), '`after`', name);
  }
  const writing = (where: string, name: string): void => {
    if (!known(saga, where, name)) return;
    const effect = steps.find((step) => step.name === name)?.tool.effect;
    if (effect === 'read_only') {
      add(
        saga,
        `${where} names the step "${name}", which only reads and has no recovery`,
        'Leave it out',
      );
    }
  };
  for (const [name, others] of Object.entries(spec.recovery?.after ?? {})) {
    writing('`recovery.after`', name);
    for (const other of others ?? []) writing(`\`recovery.after\` of "${name}"`, other);
  }
  for (const [name, priority] of Object.entries(spec.recovery?.priority ?? {})) {
    writing('`recovery.priority`', name);
    if (!Number.isFinite(priority)) {
      add(
        saga,
        `the recovery priority of "${name}" is ${JSON.stringify(priority)}`,
        'Use a number',
      );
    }
  }
}

/** Design §3: what may stand beside and behind an irreversible step. */
function pivotProblems(
  steps: readonly StepDeclaration[],
  placeOf: (step: string) => string,
  add: Add,
): void {
  const ancestors = ancestorsIn(forwardGraph(steps));
  const isBefore = (first: string, then: string): boolean =>
    ancestors.get(then)?.has(first) ?? false;
  const pivots = steps.filter((step) => step.tool.effect === 'irreversible');
  for (const step of steps) {
    const place = placeOf(step.name);
    const { effect } = step.tool;
    const before = pivots.find((pivot) => isBefore(pivot.name, step.name));
    if (before !== undefined && NEEDS_COMPENSATION.has(effect)) {
      const middle = pivots.some((pivot) => isBefore(step.name, pivot.name));
      add(
        place,
        `it needs compensation, but follows the irreversible step "${before.name}"`,
        middle
          ? `Split this into two sagas, each ending with its own irreversible step`
          : `Move it before "${before.name}"`,
      );
    }
    const beside = pivots.find(
      (pivot) =>
        pivot !== step && !isBefore(pivot.name, step.name) && !isBefore(step.name, pivot.name),
    );
    // Two irreversible steps side by side: one report is enough.
    const reported =
      effect === 'irreversible' &&
      beside !== undefined &&
      steps.indexOf(beside) > steps.indexOf(step);
    if (beside !== undefined && effect !== 'read_only' && !reported) {
      add(
        place,
        `it writes while the irreversible step "${beside.name}" runs, so a failure could no longer be undone`,
        `Order the two with \`after\`; what needs compensation comes before "${beside.name}"`,
      );
    }
  }
}

function widthProblems(
  spec: UncheckedSagaSpec,
  steps: readonly StepDeclaration[],
  saga: string,
  add: Add,
): void {
  const names = steps.map((step) => step.name);
  for (const wave of wavesOf(forwardGraph(steps), names)) {
    if (wave.length <= MAX_WAVE) continue;
    add(
      saga,
      `${wave.length} steps would run side by side: ${wave.join(', ')}`,
      `Order them with \`after\` so that at most ${MAX_WAVE} do`,
    );
  }
  for (const wave of recoveryOrder(spec, steps).waves) {
    if (wave.length <= MAX_WAVE) continue;
    add(
      saga,
      `${wave.length} recoveries would run side by side: ${wave.join(', ')}`,
      `Order them with \`recovery.after\` so that at most ${MAX_WAVE} do`,
    );
  }
}
