import { defineSaga, defineTool } from 'counterstep';
import { type ImplementedTool, implementTool, refused } from 'counterstep/lambda';
import * as z from 'zod/mini';

/** Four steps over tools that do nothing, so that only the engine is measured. */
const tools = ['first', 'second', 'third', 'fourth'].map((name) =>
  defineTool({
    name,
    description: `The ${name} tool of the bench.`,
    effect: 'reversible',
    input: z.object({ order: z.string() }),
    output: z.object({ id: z.string() }),
    externalIds: ({ output }) => ({ id: output.id }),
    forward: { dedupe: 'key', timeoutMs: 10_000, settleMs: 1_000 },
    compensate: {
      input: z.object({ id: z.string() }),
      from: ({ output }) => ({ id: output.id }),
      dedupe: 'key',
      timeoutMs: 10_000,
      settleMs: 1_000,
    },
  }),
);

const input = z.object({ order: z.string(), fail: z.boolean() });
const [first, second, third, fourth] = tools;
if (!first || !second || !third || !fourth) throw new Error('the bench has four tools');

/** Its last tool refuses orders that begin with `fail`. */
export const benchSaga = defineSaga({ name: 'bench', version: '1', input }, (saga) =>
  saga
    .step('first', first, { input: ({ input }) => ({ order: input.order }) })
    .step('second', second, {
      input: ({ input, results }) => ({ order: `${input.order}/${results.first.id}` }),
    })
    .step('third', third, { input: ({ input }) => ({ order: input.order }) })
    .step('fourth', fourth, {
      input: ({ input }) => ({ order: input.fail ? 'fail' : input.order }),
    }),
);

export const benchTools: readonly ImplementedTool[] = tools.map((tool) =>
  implementTool(tool, {
    forward: ({ order }, call) => {
      if (order === 'fail') throw refused('bench_refused', 'the bench asked for a failure');
      return { id: call.correlationId };
    },
    compensate: () => {},
  }),
);
