import { limitProblems } from '../asl/limits.ts';
import { buildPlan } from '../plan/build-plan.ts';
import { ancestorsIn } from '../plan/graph.ts';
import { forwardGraph } from '../plan/orders.ts';
import { type Problem, refuseProblems } from './problems.ts';
import type {
  AnySaga,
  AnyStepFacts,
  SagaBuilder,
  SagaDefinition,
  SagaSpec,
  StepDeclaration,
  StepShapes,
  UncheckedSagaSpec,
} from './saga.ts';
import { sagaProblems } from './saga-checks.ts';
import type { Schema } from './schema.ts';
import type { AnyTool } from './tool.ts';

/**
 * Defines a saga: what it takes, its steps over tools, and its recovery policy.
 *
 * @throws DefinitionError that lists every problem, each with what to change.
 */
export function defineSaga<I extends Schema, S extends StepShapes, Last extends string>(
  spec: SagaSpec<I, NoInfer<keyof S & string>>,
  build: (saga: SagaBuilder<I, Record<never, never>, never>) => SagaBuilder<I, S, Last>,
): SagaDefinition<I> {
  const names = new Set<string>();
  const start: RuntimeBuilder = builder([], names);
  const end: unknown = build(start as unknown as SagaBuilder<I, Record<never, never>, never>);
  const declared = declarations.get(end);
  const place = `saga ${JSON.stringify(spec.name)}`;
  if (declared === undefined) {
    refuseProblems(place, [
      {
        place,
        problem: 'the function that declares the steps does not return them',
        remedy: 'Return the chain: `(saga) => saga.step(…).step(…)`',
      },
    ]);
  }
  for (const { name } of declared ?? []) names.delete(name);
  if (names.size > 0) {
    refuseProblems(
      place,
      [...names].map((name) => ({
        place: `${place}, step ${JSON.stringify(name)}`,
        problem: 'it is declared, and not among the steps that the function returns',
        remedy: 'Each `step` answers a new builder: return one chain, `saga.step(…).step(…)`',
      })),
    );
  }
  return defineSagaFromSteps(spec as UncheckedSagaSpec, declared ?? []) as SagaDefinition<I>;
}

/**
 * The same for steps that come as data (generated definitions, tests): the compiler checks no
 * mapping then, the rest is checked as always.
 *
 * @throws DefinitionError that lists every problem, each with what to change.
 */
export function defineSagaFromSteps(
  spec: UncheckedSagaSpec,
  steps: readonly StepDeclaration[],
): AnySaga {
  const place = `saga ${JSON.stringify(spec.name)}`;
  refuseProblems(place, sagaProblems(spec, steps));
  const plan = buildPlan(spec, steps);
  const problems: Problem[] = limitProblems(plan).map((each) => ({ place, ...each }));
  refuseProblems(place, problems);

  const ancestors = ancestorsIn(forwardGraph(steps));
  const { businessKey } = spec;
  return Object.freeze({
    kind: 'saga',
    name: spec.name,
    version: spec.version,
    input: spec.input,
    steps: Object.freeze(
      plan.steps.map((step, index) => {
        const declared = steps[index] as StepDeclaration;
        return Object.freeze({
          name: step.name,
          tool: declared.tool,
          after: step.after,
          ancestors: Object.freeze([...(ancestors.get(step.name) ?? [])]),
          input: (facts: AnyStepFacts): unknown => declared.input(facts),
        });
      }),
    ),
    plan,
    ...(businessKey === undefined
      ? {}
      : { businessKey: (input: unknown): string => businessKey(input) }),
  } as const);
}

interface RuntimeBuilder {
  step(
    name: string,
    tool: AnyTool,
    options: Pick<StepDeclaration, 'after' | 'checkpoint' | 'input'>,
  ): RuntimeBuilder;
}

/** What each builder has collected; kept apart from it, so that a builder shows nothing but `step`. */
const declarations = new WeakMap<object, readonly StepDeclaration[]>() as {
  get(builder: unknown): readonly StepDeclaration[] | undefined;
  set(builder: object, steps: readonly StepDeclaration[]): unknown;
};

function builder(steps: readonly StepDeclaration[], names: Set<string>): RuntimeBuilder {
  const self: RuntimeBuilder = {
    step: (name, tool, options) => {
      names.add(name);
      return builder(
        [
          ...steps,
          {
            name,
            tool,
            after: options?.after,
            checkpoint: options?.checkpoint,
            input: options?.input,
          },
        ],
        names,
      );
    },
  };
  declarations.set(self, steps);
  return Object.freeze(self);
}
