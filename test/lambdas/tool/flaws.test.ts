import { defineTool } from 'counterstep';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { implementTool } from '../../../lambdas/tool/implementation.ts';
import { commitOf } from '../../../lambdas/tool/job.ts';
import { callJob } from '../../support/call-job.ts';

/** What is wrong with an answer is in the log at once, not only in a ledger that nobody reads yet. */

const call = { dedupe: 'key', timeoutMs: 1_000, settleMs: 0 } as const;
const id = z.object({ id: z.string() });

function booking(members: {
  readonly ids?: (output: { readonly id: string }) => Readonly<Record<string, string>>;
  readonly undo?: (output: { readonly id: string }) => { readonly id: string };
}) {
  const { ids = () => ({}), undo = (output) => output } = members;
  return defineTool({
    name: 'book-seat',
    description: 'Books.',
    effect: 'reversible',
    input: id,
    output: id,
    externalIds: ({ output }) => ids(output),
    forward: call,
    compensate: { ...call, input: id, from: ({ output }) => undo(output) },
  });
}

async function heard(tool: ReturnType<typeof booking>, answer: { readonly id: string }) {
  const implemented = implementTool(tool, { forward: () => answer, compensate: () => undefined });
  const { job, log } = callJob(implemented, { id: 'x' });
  const claimed = { attempt: 2, attemptNonce: 'n' };
  const commit = await commitOf({ ...job, claimed }, answer, 'call');
  return { commit, lines: log.lines };
}

function broken(): never {
  throw new TypeError('s3cret');
}

const named = { sagaId: 's-1', step: 'out', action: 'forward', attempt: 2 };
const place = /\(flaws\.test\.ts:\d+:\d+\)$/;

describe('the log of a call', () => {
  it('says nothing of a sound answer', async () => {
    expect((await heard(booking({}), { id: 'A-1' })).lines).toEqual([]);
  });

  it('says where an answer does not fit, without its values', async () => {
    const { commit, lines } = await heard(booking({}), { id: 7, token: 's3cret' } as never);
    expect(commit.defect).toMatchObject({ code: 'output_deviates' });
    expect(lines[0]).toMatchObject({ level: 'warn', message: 'answer refused', data: named });
    expect(lines[0]?.data).toMatchObject({ code: 'output_deviates' });
    expect(lines[0]?.data.message).toContain('id: invalid_type');
    expect(JSON.stringify(lines)).not.toContain('s3cret');
  });

  it('names the line at which an undo cannot be made', async () => {
    const { commit, lines } = await heard(booking({ undo: broken }), { id: 'A-1' });
    expect(commit.undo).toMatchObject({ kind: 'unavailable' });
    expect(lines).toMatchObject([{ level: 'warn', message: 'undo cannot be made', data: named }]);
    expect(lines[0]?.data.why).toMatch(place);
  });

  it('names the line at which ids cannot be read, and the commit stands without them', async () => {
    const { commit, lines } = await heard(booking({ ids: broken }), { id: 'A-1' });
    expect(commit).toMatchObject({ externalIds: {} });
    expect('idsFlaw' in commit).toBe(false);
    expect(lines).toMatchObject([{ level: 'warn', message: 'no external ids', data: named }]);
    expect(lines[0]?.data.why).toMatch(place);
    expect(JSON.stringify(lines)).not.toContain('s3cret');
  });
});
