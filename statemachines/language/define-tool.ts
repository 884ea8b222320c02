import {
  DEFAULT_PENDING_FOR_MS,
  DEFAULT_RETRY,
  DEFAULT_VERSION,
  READ_ONLY_CALL,
} from './defaults.ts';
import type { CallPolicy, RetryPolicy } from './effects.ts';
import { refuseProblems } from './problems.ts';
import type { Schema } from './schema.ts';
import type {
  AnyFacts,
  AnyTool,
  CallSpec,
  ReadSpec,
  Tool,
  ToolSpec,
  UncheckedToolSpec,
} from './tool.ts';
import { toolProblems } from './tool-checks.ts';

/**
 * Defines a tool's contract. The answer is frozen and can be used in any number of sagas.
 *
 * @throws DefinitionError that lists every problem, each with what to change.
 */
export function defineTool<
  I extends Schema,
  O extends Schema,
  U extends Schema | undefined = undefined,
>(spec: ToolSpec<I, O, U>): Tool<I, O, U> {
  const unchecked = spec as UncheckedToolSpec;
  refuseProblems(`tool ${JSON.stringify(unchecked.name)}`, toolProblems(unchecked));
  return build(unchecked) as Tool<I, O, U>;
}

function build(spec: UncheckedToolSpec): AnyTool {
  const policy = (call: CallSpec | ReadSpec): CallPolicy =>
    callPolicy(call, spec.retry ?? {}, spec.reconcile ?? false);
  const { externalIds } = spec;
  const undo = typeof spec.compensate === 'object' ? spec.compensate : undefined;
  const contain = typeof spec.contain === 'object' ? spec.contain : undefined;
  const cost = typeof spec.cost === 'object' ? spec.cost : undefined;
  const { forwardCost, breaker } = spec;
  return Object.freeze({
    kind: 'tool',
    name: spec.name,
    version: spec.version ?? DEFAULT_VERSION,
    description: spec.description,
    effect: spec.effect,
    input: spec.input,
    output: spec.output,
    ...(externalIds === undefined ? {} : { externalIds: (facts: AnyFacts) => externalIds(facts) }),
    reconcile: spec.reconcile ?? false,
    forward: spec.effect === 'read_only' ? repeatable(policy(spec.forward)) : policy(spec.forward),
    ...(undo?.input === undefined
      ? {}
      : {
          compensate: Object.freeze({
            input: undo.input,
            from: (facts: AnyFacts): unknown => undo.from(facts),
            call: policy(undo),
          }),
        }),
    ...(contain === undefined ? {} : { contain: policy(contain) }),
    ...(cost === undefined
      ? {}
      : {
          cost: Object.freeze({ estimateMinor: cost.estimateMinor, currency: cost.currency }),
        }),
    ...(forwardCost === undefined ? {} : { forwardCost: Object.freeze({ ...forwardCost }) }),
    ...(breaker === undefined ? {} : { breaker: Object.freeze({ ...breaker }) }),
  } as const);
}

/** Whatever its author says of repeats: a read has no effect that a second one could double. */
function repeatable({ keyTtlMs: _, ...call }: CallPolicy): CallPolicy {
  return Object.freeze({ ...call, dedupe: READ_ONLY_CALL.dedupe });
}

function callPolicy(
  call: CallSpec | ReadSpec,
  retry: Partial<RetryPolicy>,
  reconcile: boolean,
): CallPolicy {
  return Object.freeze({
    dedupe: call.dedupe ?? READ_ONLY_CALL.dedupe,
    ...(call.keyTtlMs === undefined ? {} : { keyTtlMs: call.keyTtlMs }),
    timeoutMs: call.timeoutMs,
    settleMs: call.settleMs ?? READ_ONLY_CALL.settleMs,
    pendingForMs: call.pendingForMs ?? DEFAULT_PENDING_FOR_MS,
    retry: Object.freeze({ ...DEFAULT_RETRY, ...retry, ...call.retry }),
    reconcile,
  });
}
