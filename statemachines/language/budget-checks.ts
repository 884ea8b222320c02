import { ancestorsIn } from '../plan/graph.ts';
import { forwardGraph } from '../plan/orders.ts';
import type { CallPolicy } from './effects.ts';
import type { Problem } from './problems.ts';
import type { StepDeclaration, UncheckedSagaSpec } from './saga.ts';
import { isCurrency, isMinor } from './tool-checks.ts';

/** A budget that makes no sense by itself. */
export function budgetShapeProblems(spec: UncheckedSagaSpec, place: string): Problem[] {
  const { budget } = spec;
  if (budget === undefined) return [];
  const problems: Problem[] = [];
  const { attempts, cost } = budget;
  if (attempts !== undefined && (!isMinor(attempts) || attempts === 0)) {
    const problem = `budget.attempts is ${JSON.stringify(attempts)}`;
    problems.push({ place, problem, remedy: 'Use a whole number, 1 or more' });
  }
  if (cost !== undefined && !(isMinor(cost.costMinor) && isCurrency(cost.currency))) {
    problems.push({
      place,
      problem: 'its budget.cost is malformed',
      remedy:
        "Use `{ costMinor: <whole cents, 0 or more>, currency: 'EUR' }` with an ISO 4217 code",
    });
  }
  return problems;
}

/**
 * Steps that the saga's budgets could never let finish as they declare. Only those up to the pivot: past
 * it the saga's budgets and its deadline end nothing any more.
 */
export function budgetProblems(
  spec: UncheckedSagaSpec,
  steps: readonly StepDeclaration[],
  placeOf: (step: string) => string,
): Problem[] {
  const ancestors = ancestorsIn(forwardGraph(steps));
  const pivots = new Set(
    steps.filter(({ tool }) => tool.effect === 'irreversible').map(({ name }) => name),
  );
  const before = steps.filter(
    ({ name }) => ![...(ancestors.get(name) ?? [])].some((other) => pivots.has(other)),
  );
  return [
    ...before.flatMap((step) => timeProblems(spec, step, placeOf(step.name))),
    ...before.flatMap((step) => attemptProblems(spec, step, before.length, placeOf(step.name))),
    ...costProblems(spec, before, placeOf),
  ];
}

function timeProblems(
  { deadlineMs }: UncheckedSagaSpec,
  { tool }: StepDeclaration,
  place: string,
): Problem[] {
  const longest = longestMs(tool.forward);
  if (deadlineMs === undefined || longest <= deadlineMs) return [];
  return [
    {
      place,
      problem: `its tries may take ${longest} ms, longer than the saga's deadline of ${deadlineMs} ms`,
      remedy: `Give the tool fewer or shorter tries (timeoutMs, retry.maxAttempts, retry.forMs), or the saga a deadlineMs of ${longest} or more`,
    },
  ];
}

/** All tries to their timeouts, with the pauses between them; `forMs` bounds when the last one begins. */
export function longestMs({ timeoutMs, retry }: CallPolicy): number {
  let all = timeoutMs;
  for (let tries = 1; tries < retry.maxAttempts && all < Number.MAX_SAFE_INTEGER / 4; tries += 1) {
    all += timeoutMs + Math.min(retry.maxBackoffMs, retry.backoffMs * 2 ** Math.min(30, tries - 1));
    if (retry.forMs !== undefined && all > retry.forMs + timeoutMs) return retry.forMs + timeoutMs;
  }
  return all;
}

function attemptProblems(
  { budget }: UncheckedSagaSpec,
  { tool }: StepDeclaration,
  steps: number,
  place: string,
): Problem[] {
  const { maxAttempts } = tool.forward.retry;
  const needed = maxAttempts + steps - 1;
  if (budget?.attempts === undefined || needed <= budget.attempts) return [];
  return [
    {
      place,
      problem: `its ${maxAttempts} tries, with one for each other step, do not fit in the saga's budget of ${budget.attempts}`,
      remedy: `Give the tool fewer tries (retry.maxAttempts), or the saga a budget.attempts of ${needed} or more`,
    },
  ];
}

function costProblems(
  { budget }: UncheckedSagaSpec,
  steps: readonly StepDeclaration[],
  placeOf: (step: string) => string,
): Problem[] {
  const limit = budget?.cost?.costMinor;
  if (limit === undefined) return [];
  const total = steps.reduce((sum, { tool }) => sum + (tool.forwardCost?.estimateMinor ?? 0), 0);
  if (total <= limit) return [];
  let sum = 0;
  const over = steps.find(({ tool }) => {
    sum += tool.forwardCost?.estimateMinor ?? 0;
    return sum > limit;
  });
  return [
    {
      place: placeOf(over?.name ?? ''),
      problem: `with it the steps cost ${sum} (minor units) going forward, more than the saga's budget of ${limit}`,
      remedy: `Use cheaper tools, or give the saga a budget.cost of ${total} or more`,
    },
  ];
}
