import { toJSONSchema } from 'zod/v4/core';
import type { CallPolicy } from '../../statemachines/language/effects.ts';
import type { AnySaga } from '../../statemachines/language/saga.ts';
import type { Schema } from '../../statemachines/language/schema.ts';
import type { AnyTool } from '../../statemachines/language/tool.ts';
import { sagaGraph } from '../../statemachines/plan/mermaid.ts';
import { readBreaker } from '../runtime/breaker-record.ts';
import { demandReader, type Parts } from './parts.ts';
import type { Principal } from './principal.ts';
import { definitionUnknown } from './start.ts';
import { type DefinitionView, iso, sagaPath, type ToolView } from './wire.ts';

/** The contracts that people and agents read before they start anything. @throws Problem */
export async function listTools(
  parts: Parts,
  principal: Principal,
): Promise<{ tools: ToolView[] }> {
  demandReader(principal);
  const views = parts.tools.map(async (tool) => ({
    ...toolView(tool),
    ...(await breakerOf(parts, tool)),
  }));
  return { tools: await Promise.all(views) };
}

/** Whether the tool is called at all by now, where its contract has a breaker. */
async function breakerOf(parts: Parts, tool: AnyTool): Promise<Pick<ToolView, 'breaker'>> {
  if (tool.breaker === undefined) return {};
  const { state } = await readBreaker(parts.host.stores.breakers, tool.name);
  const { failures, withinMs, openMs } = tool.breaker;
  const open = state.kind === 'closed' ? {} : { since: iso(state.since), until: iso(state.until) };
  return { breaker: { failures, withinMs, openMs, state: state.kind, ...open } };
}

/** @throws Problem */
export function listDefinitions(
  parts: Parts,
  principal: Principal,
): { definitions: DefinitionView[] } {
  demandReader(principal);
  return { definitions: [...parts.sagas.values()].map(definitionView) };
}

/** The saga as a Mermaid flowchart. @throws Problem `definition-unknown` */
export function definitionGraph(parts: Parts, principal: Principal, name: string): string {
  demandReader(principal);
  const saga = parts.sagas.get(name);
  if (saga === undefined) throw definitionUnknown();
  return sagaGraph(saga.plan);
}

export function jsonSchemaOf(
  schema: Schema,
  io: 'input' | 'output' = 'input',
): Record<string, unknown> {
  // What JSON Schema has no words for (a Date after a transform) is left open, not refused.
  const { $schema: _dialect, ...json } = toJSONSchema(schema, { io, unrepresentable: 'any' });
  return json as Record<string, unknown>;
}

function toolView(tool: AnyTool): ToolView {
  const { compensate, contain, cost, forwardCost } = tool;
  return {
    name: tool.name,
    version: tool.version,
    description: tool.description,
    effect: tool.effect,
    reconcile: tool.reconcile,
    forward: policyView(tool.forward),
    ...(compensate === undefined ? {} : { compensate: policyView(compensate.call) }),
    ...(contain === undefined ? {} : { contain: policyView(contain) }),
    ...(cost === undefined ? {} : { cost: { ...cost } }),
    ...(forwardCost === undefined ? {} : { forwardCost: { ...forwardCost } }),
    input: jsonSchemaOf(tool.input),
    output: jsonSchemaOf(tool.output, 'output'),
    ...(compensate === undefined ? {} : { compensateInput: jsonSchemaOf(compensate.input) }),
  };
}

function policyView(call: CallPolicy): ToolView['forward'] {
  const { dedupe, timeoutMs, settleMs, keyTtlMs } = call;
  const { maxAttempts, forMs } = call.retry;
  return {
    dedupe,
    timeoutMs,
    settleMs,
    ...(keyTtlMs === undefined ? {} : { keyTtlMs }),
    maxAttempts,
    ...(forMs === undefined ? {} : { retryForMs: forMs }),
  };
}

function definitionView(saga: AnySaga): DefinitionView {
  return {
    name: saga.name,
    version: saga.version,
    type: saga.plan.sagaType,
    businessKey: saga.businessKey !== undefined,
    steps: saga.plan.steps.map(({ name, tool, effect, after, checkpoint }) => ({
      name,
      tool,
      effect,
      after: [...after],
      ...(checkpoint === undefined ? {} : { checkpoint }),
    })),
    input: jsonSchemaOf(saga.input),
    links: { start: sagaPath(saga.name), graph: `/v1/definitions/${saga.name}/graph` },
  };
}
