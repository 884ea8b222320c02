import { DEFAULT_REVIEW_MS, DEFAULT_SAGA_TYPE } from '../language/defaults.ts';
import type { SagaBudget, StepDeclaration, UncheckedSagaSpec } from '../language/saga.ts';
import type { AnyTool } from '../language/tool.ts';
import { canonicalJson, type JsonValue } from '../ledger/canonical.ts';
import { sha256Hex } from '../ledger/hash.ts';
import { PROTOCOL } from '../rules/events.ts';
import { ancestorsIn } from './graph.ts';
import { forwardGraph, recoveryOrder, wavesOf } from './orders.ts';
import type { SagaPlan, StepPlan } from './plan.ts';

/** Turns a checked definition into data. Deeply frozen; the same definition gives the same digest. */
export function buildPlan(spec: UncheckedSagaSpec, steps: readonly StepDeclaration[]): SagaPlan {
  const forward = forwardGraph(steps);
  const ancestors = ancestorsIn(forward);
  const recovery = recoveryOrder(spec, steps);
  const pivots = new Set(
    steps.filter((step) => step.tool.effect === 'irreversible').map((step) => step.name),
  );
  const names = steps.map((step) => step.name);
  const ceiling = spec.recovery?.ceiling;
  const body = {
    protocol: PROTOCOL,
    name: spec.name,
    version: spec.version,
    sagaType: spec.type ?? DEFAULT_SAGA_TYPE,
    ...(spec.deadlineMs === undefined ? {} : { deadlineMs: spec.deadlineMs }),
    ...(spec.budget === undefined ? {} : { budget: budgetOf(spec.budget) }),
    ...(ceiling === undefined
      ? {}
      : { ceiling: { costMinor: ceiling.costMinor, currency: ceiling.currency } }),
    reviewMs: spec.recovery?.reviewMs ?? DEFAULT_REVIEW_MS,
    steps: steps.map(({ name, tool, checkpoint }): StepPlan => {
      const planned = recoveryOf(tool);
      const afterPivot = [...(ancestors.get(name) ?? [])].some((before) => pivots.has(before));
      return {
        name,
        tool: tool.name,
        effect: tool.effect,
        after: forward.get(name) ?? [],
        recoverAfter: recovery.after.get(name) ?? [],
        forward: tool.forward,
        ...(planned === undefined ? {} : { recovery: planned }),
        ...(tool.cost === undefined
          ? {}
          : { estimate: { costMinor: tool.cost.estimateMinor, currency: tool.cost.currency } }),
        ...(tool.forwardCost === undefined
          ? {}
          : {
              forwardCost: {
                costMinor: tool.forwardCost.estimateMinor,
                currency: tool.forwardCost.currency,
              },
            }),
        ...(afterPivot ? { afterPivot: true as const } : {}),
        ...(checkpoint === true ? { checkpoint: true as const } : {}),
      };
    }),
    forwardWaves: wavesOf(forward, names),
    recoveryWaves: recovery.waves,
  };
  // Every member above is JSON; the interfaces of the policies only lack an index signature.
  const digest = sha256Hex(canonicalJson(body as unknown as JsonValue));
  return deepFreeze({ ...body, digest });
}

/** Its known members and no other: they are part of the digest. */
function budgetOf({ attempts, cost }: SagaBudget): SagaBudget {
  return {
    ...(attempts === undefined ? {} : { attempts }),
    ...(cost === undefined ? {} : { cost: { costMinor: cost.costMinor, currency: cost.currency } }),
  };
}

function recoveryOf(tool: AnyTool): StepPlan['recovery'] {
  switch (tool.effect) {
    case 'read_only':
    case 'human_decision':
      return undefined;
    case 'reversible':
    case 'reversible_with_cost':
    case 'compensable':
      return withCall('compensate', tool.compensate?.call);
    case 'supersede':
      return withCall('supersede', tool.compensate?.call);
    case 'irreversible':
      return withCall('contain', tool.contain);
    default: {
      const unknown: never = tool.effect;
      throw new Error(`effect class ${JSON.stringify(unknown)} has no recovery rule: add one`);
    }
  }
}

type Recovery = NonNullable<StepPlan['recovery']>;

function withCall(action: Recovery['action'], call: Recovery['call']): Recovery {
  return call === undefined ? { action } : { action, call };
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const each of Object.values(value)) deepFreeze(each);
  }
  return value;
}
