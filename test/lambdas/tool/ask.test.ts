import { defineTool } from 'counterstep';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { askProvider } from '../../../lambdas/tool/ask.ts';
import { implementTool } from '../../../lambdas/tool/implementation.ts';
import { callJob } from '../../support/call-job.ts';

const call = { dedupe: 'lookup', timeoutMs: 2_000, settleMs: 0 } as const;
const book = defineTool({
  name: 'book',
  description: 'Books.',
  effect: 'irreversible',
  reconcile: true,
  input: z.object({}),
  output: z.object({}),
  forward: call,
});

it.each([
  [
    'fails',
    () => {
      throw new Error('secret-value');
    },
    'the provider could not be asked',
  ],
  [
    'answers nonsense',
    () => ({ nonsense: 'secret-value' }) as never,
    'reconcile answered none of committed, pending, absent, unknown: read as unknown',
  ],
])(
  'a question that %s is logged with the attempt it was about',
  async (_what, reconcile, message) => {
    const { job, log } = callJob(implementTool(book, { forward: () => ({}), reconcile }), {});
    const claimed = { key: 'k', correlationId: 'c', attempt: 2, round: 1 };
    const answer = await askProvider(job, {}, claimed);
    expect(answer).toEqual({ kind: 'unknown' });
    expect(log.lines).toMatchObject([
      {
        message,
        data: { tenant: 'acme', sagaId: 's-1', step: 'out', action: 'forward', attempt: 2 },
      },
    ]);
    expect(JSON.stringify(log.lines)).not.toContain('secret-value');
  },
);
