import * as z from 'zod/mini';
import { EFFECT_CLASSES } from '../../statemachines/language/effects.ts';

/** What the API answers about tools and saga definitions, as schemas. */

const count = z.int().check(z.gte(0));
const time = z.iso.datetime();

const policySchema = z.object({
  dedupe: z.string(),
  timeoutMs: count,
  settleMs: count,
  keyTtlMs: z.optional(count),
  maxAttempts: count,
  retryForMs: z.optional(count.check(z.describe('After the first try no other begins later.'))),
});

const costSchema = z.object({ estimateMinor: count, currency: z.string() });

export const toolSchema = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  effect: z.enum(EFFECT_CLASSES),
  reconcile: z.boolean(),
  forward: policySchema,
  compensate: z.optional(policySchema),
  contain: z.optional(policySchema),
  cost: z.optional(costSchema),
  forwardCost: z.optional(costSchema),
  breaker: z.optional(
    z.object({
      failures: count,
      withinMs: count,
      openMs: count,
      state: z
        .enum(['closed', 'open', 'half_open'])
        .check(z.describe('Open: the tool is not called. Half open: a single call tries it.')),
      since: z.optional(time),
      until: z.optional(time),
    }),
  ),
  input: z.record(z.string(), z.unknown()),
  output: z.record(z.string(), z.unknown()),
  compensateInput: z.optional(z.record(z.string(), z.unknown())),
});
export type ToolView = z.infer<typeof toolSchema>;
export const toolsSchema = z.object({ tools: z.array(toolSchema) });

export const definitionSchema = z.object({
  name: z.string(),
  version: z.string(),
  type: z.enum(['STANDARD', 'EXPRESS']),
  businessKey: z.boolean().check(z.describe('Starts for one business fact are one saga.')),
  steps: z.array(
    z.object({
      name: z.string(),
      tool: z.string(),
      effect: z.enum(EFFECT_CLASSES),
      after: z.array(z.string()),
      checkpoint: z.optional(z.boolean()),
    }),
  ),
  input: z.record(z.string(), z.unknown()),
  links: z.object({ start: z.string(), graph: z.string() }),
});
export type DefinitionView = z.infer<typeof definitionSchema>;
export const definitionsSchema = z.object({ definitions: z.array(definitionSchema) });
