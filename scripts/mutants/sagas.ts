import {
  type AnySaga,
  type AnyTool,
  type CallSpec,
  defineSagaFromSteps,
  defineTool,
  type StepDeclaration,
} from 'counterstep';
import * as z from 'zod/mini';

/** Small definitions, each with what one rule needs to be put to the test. */

const value = z.object({ id: z.string() });
/** Named unlike the arguments, so that each answer of a simulated provider is one of its own. */
const answer = z.object({ ref: z.string() });
const CALL = { timeoutMs: 1_000, settleMs: 2_000 } as const;
const RETRY = { maxAttempts: 4, backoffMs: 100, maxBackoffMs: 500 } as const;

type Dedupe = CallSpec['dedupe'];

const common = (name: string, dedupe: Dedupe) => ({
  name,
  description: 'Does something that can be simulated.',
  input: value,
  output: answer,
  externalIds: ({ output }: { readonly output: { readonly ref: string } }) => ({ ref: output.ref }),
  reconcile: dedupe === 'lookup',
  retry: RETRY,
  forward: { dedupe, ...CALL },
});

let written = 0;

/** @param forgets its provider remembers keys for a while only */
function undoable(name: string, dedupe: Dedupe, forgets: { keyTtlMs?: number } = {}): AnyTool {
  const compensate = {
    dedupe,
    ...CALL,
    input: z.object({ ref: z.string(), slip: z.int() }),
    // Each slip has a number of its own, so an undo that is computed twice differs from itself.
    from: ({ output }: { readonly output: { readonly ref: string } }) => {
      written += 1;
      return { ref: output.ref, slip: written };
    },
  };
  const forward = { dedupe, ...CALL, ...forgets };
  return defineTool({ ...common(name, dedupe), forward, effect: 'reversible', compensate });
}

/** Its undo has a price. */
function costly(name: string, dedupe: Dedupe, estimateMinor: number): AnyTool {
  const compensate = {
    dedupe,
    ...CALL,
    input: answer,
    from: ({ output }: { readonly output: { readonly ref: string } }) => ({ ref: output.ref }),
  };
  const cost = { estimateMinor, currency: 'EUR' };
  return defineTool({ ...common(name, dedupe), effect: 'reversible_with_cost', cost, compensate });
}

function pivotal(name: string): AnyTool {
  const contain = { dedupe: 'lookup', ...CALL } as const;
  return defineTool({ ...common(name, 'lookup'), effect: 'irreversible', contain });
}

function superseding(name: string): AnyTool {
  return defineTool({ ...common(name, 'key'), effect: 'supersede' });
}

const step = (
  name: string,
  tool: AnyTool,
  more: Partial<StepDeclaration> = {},
): StepDeclaration => ({
  name,
  tool,
  input: () => ({ id: 'x' }),
  ...more,
});

const spec = (name: string) => ({ name, version: '1', input: value });

/** Goes on behind its pivot, and has a deadline that can pass there. */
export const beyond: AnySaga = defineSagaFromSteps({ ...spec('beyond'), deadlineMs: 600_000 }, [
  step('hold', undoable('beyond-hold', 'key')),
  step('pivot', pivotal('beyond-pivot')),
  step('tail', superseding('beyond-tail')),
]);

/** A checkpoint in the middle, and a budget for the way forward that its tries just fill. */
export const kept: AnySaga = defineSagaFromSteps({ ...spec('kept'), budget: { attempts: 6 } }, [
  step('first', undoable('kept-first', 'key', { keyTtlMs: 20_000 }), { checkpoint: true }),
  step('second', undoable('kept-second', 'lookup')),
  step('third', undoable('kept-third', 'key')),
]);

/** Nothing waits for anything in its recovery, so only the rules keep the pivot first. */
export const loose: AnySaga = defineSagaFromSteps(
  { ...spec('loose'), recovery: { after: { left: [], right: [] } } },
  [
    step('left', undoable('loose-left', 'lookup')),
    step('right', undoable('loose-right', 'none'), { after: [] }),
    step('pivot', pivotal('loose-pivot'), { after: ['left', 'right'] }),
  ],
);

/** Two of its undos together are within the ceiling, unless one costs more than was said; all three are not. */
export const dear: AnySaga = defineSagaFromSteps(
  { ...spec('dear'), recovery: { ceiling: { costMinor: 280, currency: 'EUR' } } },
  [
    step('cheap', costly('dear-cheap', 'key', 100)),
    step('better', costly('dear-better', 'lookup', 150)),
    step('best', costly('dear-best', 'key', 100)),
    step('last', superseding('dear-last')),
  ],
);

/** Nothing that could stand beside its pivot. */
export const alone: AnySaga = defineSagaFromSteps(spec('alone'), [
  step('pivot', pivotal('alone-pivot')),
]);

/** One step, over a tool that is left alone when it is ill. */
export const guarded: AnySaga = defineSagaFromSteps(spec('guarded'), [
  step(
    'only',
    defineTool({
      ...common('guarded-only', 'key'),
      effect: 'supersede',
      breaker: { failures: 2, withinMs: 60_000, openMs: 5_000 },
    }),
  ),
]);

/** One step each, over a tool whose answer holds no id. */
export const nameless: Readonly<Record<'key' | 'lookup', AnySaga>> = {
  key: withoutIds('key'),
  lookup: withoutIds('lookup'),
};

function withoutIds(dedupe: 'key' | 'lookup'): AnySaga {
  const name = `nameless-${dedupe}`;
  const { externalIds: _none, ...spoken } = common(name, dedupe);
  return defineSagaFromSteps(spec(name), [
    step(name, defineTool({ ...spoken, effect: 'supersede' })),
  ]);
}

export const small: readonly AnySaga[] = [beyond, kept, loose, dear, alone];
