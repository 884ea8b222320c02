import { implementTool, toolHandler } from 'counterstep/lambda';
import { holdItem, small } from '../../lambdas/aws/small.ts';

const tool = implementTool(holdItem, {
  forward: ({ id }) => ({ holdId: `hold-${id}` }),
  compensate: () => undefined,
});

export const handler = toolHandler(tool, { sagas: [small] });
