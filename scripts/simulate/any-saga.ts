import {
  type AnySaga,
  type AnyTool,
  type Dedupe,
  defineSagaFromSteps,
  defineTool,
  type EffectClass,
  type SagaType,
  type StepDeclaration,
  skip,
} from 'counterstep';
import { Chance } from 'counterstep/testing';
import * as z from 'zod/mini';

const BEFORE_THE_PIVOT: readonly EffectClass[] = [
  'read_only',
  'reversible',
  'reversible',
  'reversible_with_cost',
  'compensable',
  'compensable',
  'supersede',
  'human_decision',
];
const AFTER_THE_PIVOT: readonly EffectClass[] = ['read_only', 'irreversible', 'supersede'];
const MAX_STEPS = 5;

const value = z.object({ id: z.string() });
const answer = z.object({ ref: z.string() });

/** A saga definition of any shape that passes the checks: the same one for the same number. */
export function anySaga(number: number): AnySaga {
  const chance = new Chance(number).apart('definition');
  const count = chance.between(2, MAX_STEPS);
  const steps: StepDeclaration[] = [];
  for (let at = 1; at <= count; at += 1) {
    const name = `s${at}`;
    const tool = anyTool(chance, `tool-${number}-${at}`, chance.pick(BEFORE_THE_PIVOT));
    steps.push({ name, tool, ...after(chance, steps), input });
  }
  if (chance.happens(0.5)) {
    const all = steps.map((step) => step.name);
    const tool = anyTool(chance, `tool-${number}-pivot`, 'irreversible');
    steps.push({ name: 'pivot', tool, after: all, input });
    if (chance.happens(0.4)) {
      const effect = chance.pick(AFTER_THE_PIVOT);
      steps.push({ name: 'tail', tool: anyTool(chance, `tool-${number}-tail`, effect), input });
    }
  }
  const type: SagaType = chance.happens(0.5) ? 'STANDARD' : 'EXPRESS';
  const ceiling = chance.happens(0.5) ? { ceiling: { costMinor: 300, currency: 'EUR' } } : {};
  const deadline = chance.happens(0.15) ? { deadlineMs: 300_000 } : {};
  const recovery = { ...ceiling, after: recoverAfter(chance, steps) };
  const business = chance.apart('business').happens(0.4)
    ? { businessKey: (given: unknown) => value.parse(given).id }
    : {};
  const named = { name: `any-${number}`, version: '1' };
  const spec = { ...named, type, input: value, ...business, ...deadline, recovery };
  return defineSagaFromSteps(spec, steps);
}

/** Some recoveries wait for nobody. */
function recoverAfter(
  chance: Chance,
  steps: readonly StepDeclaration[],
): Record<string, readonly string[]> {
  const writing = steps.filter(({ tool }) => tool.effect !== 'read_only');
  const free = writing.filter(() => chance.happens(0.25));
  return Object.fromEntries(free.map((step) => [step.name, []]));
}

function input(): unknown {
  return { id: 'x' };
}

/** Most steps follow the one before; some follow an earlier one, or none, and run side by side. */
function after(
  chance: Chance,
  before: readonly StepDeclaration[],
): { readonly after?: readonly string[] } {
  if (before.length === 0 || chance.happens(0.6)) return {};
  return { after: chance.happens(0.4) ? [] : [chance.pick(before).name] };
}

function anyTool(chance: Chance, name: string, effect: EffectClass): AnyTool {
  const call = (): Call => anyCall(chance);
  const forward = call();
  const undo = call();
  const reconcile = chance.happens(0.6) || forward.dedupe === 'lookup' || undo.dedupe === 'lookup';
  const common = {
    name,
    description: 'Does something that can be simulated.',
    input: value,
    output: answer,
    externalIds: ({ output }: { readonly output: { readonly ref: string } }) => ({
      ref: output.ref,
    }),
    reconcile,
    forward,
  };
  const mayBeSkipped = chance.apart('skip').happens(0.3);
  const compensate = {
    ...undo,
    input: answer,
    from: ({ output }: { readonly output: { readonly ref: string } }) =>
      mayBeSkipped && /[05]$/.test(output.ref) ? skip('nothing of it is to be undone') : output,
  };
  const cost = { estimateMinor: chance.pick([100, 250]), currency: 'EUR' };
  switch (effect) {
    case 'read_only':
    case 'human_decision':
      return defineTool({ ...common, effect });
    case 'irreversible':
      return defineTool({ ...common, effect, ...(chance.happens(0.5) ? { contain: undo } : {}) });
    case 'supersede':
      return defineTool({ ...common, effect, ...(chance.happens(0.5) ? { compensate } : {}) });
    case 'reversible':
    case 'compensable':
      return defineTool({ ...common, effect, compensate });
    case 'reversible_with_cost':
      return defineTool({ ...common, effect, compensate, cost });
  }
}

interface Call {
  readonly dedupe: Dedupe;
  readonly timeoutMs: number;
  readonly settleMs: number;
  readonly keyTtlMs?: number;
  readonly retry: {
    readonly maxAttempts: number;
    readonly backoffMs: number;
    readonly maxBackoffMs: number;
  };
}

const KEY_TTLS_MS = [8_000, 20_000, 60_000];

function anyCall(chance: Chance): Call {
  const dedupe = chance.pick(['key', 'key', 'lookup', 'lookup', 'none'] as const);
  const forgets = dedupe === 'key' && chance.happens(0.4);
  const timeoutMs = chance.pick([1_000, 2_000, 10_000]);
  return {
    dedupe,
    timeoutMs,
    settleMs: chance.pick([0, 500, 2_000, 30_000]),
    ...(forgets ? { keyTtlMs: Math.max(timeoutMs + 3_000, chance.pick(KEY_TTLS_MS)) } : {}),
    retry: { maxAttempts: chance.between(2, 4), backoffMs: 100, maxBackoffMs: 2_000 },
  };
}
