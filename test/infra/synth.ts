import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import type { AnySaga, AnyTool } from 'counterstep';
import { SagaPlane, type SagaPlaneProps } from 'counterstep/cdk';
import { vi } from 'vitest';

export const LEDGER_ENTRY = 'test/infra/entries/ledger.lambda.ts';
export const API_ENTRY = 'test/infra/entries/api.lambda.ts';
/** Any file will do where nothing is bundled. */
export const TOOL_ENTRY = 'test/infra/entries/hold-item.lambda.ts';

/** Synthesising is work for the processor, and others may use it too. */
export const SYNTH_MS = 120_000;
vi.setConfig({ testTimeout: SYNTH_MS, hookTimeout: SYNTH_MS });

export interface Resource {
  readonly Type: string;
  readonly Properties: Readonly<Record<string, unknown>>;
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
}
export type Resources = Readonly<Record<string, Resource>>;

/** A plane in a stack of its own; nothing is bundled. */
export function planeIn(
  props: Partial<SagaPlaneProps> = {},
  context: Readonly<Record<string, string>> = {},
) {
  const app = new App({
    analyticsReporting: false,
    treeMetadata: false,
    context: { ...context, 'aws:cdk:bundling-stacks': [] },
  });
  const stack = new Stack(app, 'Test');
  const plane = new SagaPlane(stack, 'Sagas', { ledgerEntry: LEDGER_ENTRY, ...props });
  return { stack, plane };
}

/** Deploys definitions with a function for each of their tools, and answers the final template. */
export function deployed(
  sagas: readonly AnySaga[],
  props: Partial<SagaPlaneProps> = {},
  context: Readonly<Record<string, string>> = {},
): { readonly template: Template; readonly resources: Resources } {
  const { stack, plane } = planeIn(props, context);
  const tools = new Map<string, AnyTool>();
  for (const { steps } of sagas) for (const { tool } of steps) tools.set(tool.name, tool);
  for (const tool of tools.values()) plane.tool(tool, { entry: TOOL_ENTRY });
  for (const saga of sagas) plane.saga(saga);
  return final(stack);
}

export function final(stack: Stack): {
  readonly template: Template;
  readonly resources: Resources;
} {
  const template = Template.fromStack(stack);
  const { Resources: resources } = template.toJSON() as { Resources: Resources };
  return { template, resources };
}

export function ofType(resources: Resources, type: string): (readonly [string, Resource])[] {
  return Object.entries(resources).filter(([, resource]) => resource.Type === type);
}

/**
 * A value of the template as text, its references written `${Id}` and `${Id.Attribute}`, as they
 * would stand in Fn::Sub.
 */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  const intrinsic = value as {
    readonly Ref?: string;
    readonly 'Fn::GetAtt'?: readonly string[];
    readonly 'Fn::Join'?: readonly [string, readonly unknown[]];
  };
  if (intrinsic.Ref !== undefined) return `\${${intrinsic.Ref}}`;
  if (intrinsic['Fn::GetAtt'] !== undefined) return `\${${intrinsic['Fn::GetAtt'].join('.')}}`;
  const join = intrinsic['Fn::Join'];
  if (join !== undefined) return join[1].map(textOf).join(join[0]);
  throw new Error(
    `the template has a value that this test does not read: ${JSON.stringify(value)}`,
  );
}

export const LEDGER = /^SagasTablesLedger/;

/** The id of the one resource of this type whose id fits. */
export function idOf(resources: Resources, type: string, pattern: RegExp): string {
  const found = ofType(resources, type).filter(([id]) => pattern.test(id));
  const [only] = found;
  if (only === undefined || found.length > 1) {
    throw new Error(`${found.length} resources of type ${type} fit ${pattern}`);
  }
  return only[0];
}

export function tableArn(resources: Resources, pattern: RegExp): string {
  return `\${${idOf(resources, 'AWS::DynamoDB::Table', pattern)}.Arn}`;
}
