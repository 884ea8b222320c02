import {
  type AnyTool,
  defineSaga,
  defineSagaFromSteps,
  defineTool,
  type EffectClass,
  type StepDeclaration,
  type UncheckedSagaSpec,
} from 'counterstep';
import { z } from 'zod';

/** Small contracts and sagas that the tests of language, plan and compiler share. */

export const call = { dedupe: 'key', timeoutMs: 5_000, settleMs: 2_000 } as const;
const id = z.object({ id: z.string() });

/** A tool of any class, with what its class demands. */
export function toolOf(effect: EffectClass, name = `${effect}-tool`, timeoutMs = 5_000): AnyTool {
  const common = {
    name,
    description: `A tool that is ${effect}.`,
    input: id,
    output: id,
    forward: { ...call, timeoutMs },
  };
  const compensate = {
    ...call,
    input: id,
    from: ({ output }: { output: { id: string } }) => ({ id: output.id }),
  };
  switch (effect) {
    case 'read_only':
    case 'human_decision':
      return defineTool({ ...common, effect });
    case 'reversible':
    case 'compensable':
    case 'supersede':
      return defineTool({ ...common, effect, compensate });
    case 'reversible_with_cost':
      return defineTool({
        ...common,
        effect,
        compensate,
        cost: { estimateMinor: 100, currency: 'EUR' },
      });
    case 'irreversible':
      return defineTool({ ...common, effect, contain: call });
  }
}

export const spec: UncheckedSagaSpec = { name: 'sample', version: '1', input: id };

export function stepOf(name: string, tool: AnyTool, after?: readonly string[]): StepDeclaration {
  return { name, tool, after, input: () => ({ id: name }) };
}

export const tools = {
  look: toolOf('read_only', 'look-up'),
  hold: toolOf('reversible', 'hold-stock'),
  charge: toolOf('compensable', 'charge-card'),
  send: toolOf('irreversible', 'send-mail'),
};

/** Read, hold, charge, then the pivot: the usual shape. */
export const line = defineSaga({ name: 'line', version: '1', input: id }, (saga) =>
  saga
    .step('look', tools.look, { input: ({ input }) => input })
    .step('hold', tools.hold, { input: ({ input }) => input })
    .step('charge', tools.charge, { input: ({ input }) => input })
    .step('send', tools.send, { input: ({ input }) => input }),
);

/** One step first, two side by side, one last; forward and in recovery. */
export const diamond = defineSaga({ name: 'diamond', version: '1', input: id }, (saga) =>
  saga
    .step('open', tools.hold, { input: ({ input }) => input })
    .step('left', tools.charge, { after: ['open'], input: ({ input }) => input })
    .step('right', tools.hold, { after: ['open'], input: ({ input }) => input })
    .step('close', tools.charge, { after: ['left', 'right'], input: ({ input }) => input }),
);

/** Nothing to undo. */
export const reading = defineSaga({ name: 'reading', version: '1', input: id }, (saga) =>
  saga.step('look', tools.look, { input: ({ input }) => input }),
);

/** Steps in a line, all reversible, all over one tool or each over its own. */
export function longLine(length: number, oneTool: boolean) {
  const shared = toolOf('reversible', 'shared');
  return defineSagaFromSteps(
    { ...spec, name: 'long' },
    Array.from({ length }, (_, index) =>
      stepOf(`step-${index}`, oneTool ? shared : toolOf('reversible', `tool-${index}`)),
    ),
  );
}
