import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineSaga, defineTool } from 'counterstep';
import { implementTool } from 'counterstep/lambda';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { retryable } from '../../lambdas/tool/failures.ts';
import { type LocalPlane, openLocalPlane } from '../../local/dev.ts';

const io = z.object({ id: z.string() });
const hold = defineTool({
  name: 'hold',
  description: 'Holds until it is let go.',
  effect: 'read_only',
  input: io,
  output: io,
  forward: { timeoutMs: 60_000 },
});
const guarded = defineTool({
  name: 'guarded',
  description: 'Has a breaker.',
  effect: 'read_only',
  input: io,
  output: io,
  forward: { timeoutMs: 1_000, retry: { maxAttempts: 200, backoffMs: 1, maxBackoffMs: 1 } },
  breaker: { failures: 2, withinMs: 60_000, openMs: 300 },
});
const held = defineSaga({ name: 'held', version: '1', input: io }, (saga) =>
  saga.step('hold', hold, { input: ({ input }) => input }),
);
const tried = defineSaga({ name: 'tried', version: '1', input: io }, (saga) =>
  saga.step('try', guarded, { input: ({ input }) => input }),
);

const folder = mkdtempSync(join(tmpdir(), 'counterstep-budgets-'));
let letGo: () => void = () => {};
const gate = new Promise<void>((resolve) => {
  letGo = resolve;
});
let down = true;
let calls = 0;
let plane: LocalPlane;
beforeAll(async () => {
  plane = await openLocalPlane({
    sagas: [held, tried],
    tools: [
      implementTool(hold, {
        forward: async (args) => {
          await gate;
          return args;
        },
      }),
      implementTool(guarded, {
        forward: (args) => {
          calls += 1;
          if (down) throw retryable('busy', 'try later');
          return args;
        },
      }),
    ],
    tenants: { '*': { openSagas: 1 } },
    dataDir: join(folder, 'data'),
    port: 0,
  });
});
afterAll(async () => {
  await plane.close();
  rmSync(folder, { recursive: true, force: true });
});

const start = (saga: string, key: string): Promise<Response> =>
  fetch(`${plane.url}/v1/sagas/${saga}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: '{"id":"A-1"}',
  });

const read = async <T>(path: string): Promise<T> =>
  (await (await fetch(`${plane.url}${path}`)).json()) as T;

const isCompleted = async (id: string): Promise<boolean> =>
  (await read<{ state: string }>(`/v1/sagas/${id}`)).state === 'completed';

describe('the local plane', () => {
  it('keeps to the budgets of its configuration, and gives back what a saga held', async () => {
    const first = await start('held', 'k-1');
    expect(first.status).toBe(202);
    const { id } = (await first.json()) as { id: string };
    const second = await start('held', 'k-2');
    expect([second.status, second.headers.get('retry-after')]).toEqual([429, '10']);
    expect((await start('held', 'k-1')).status).toBe(202);
    letGo();
    await expect.poll(() => isCompleted(id)).toBe(true);
    await expect.poll(async () => (await start('held', 'k-3')).status).toBe(202);
  });

  it('shows a breaker that is open, and closes it when the provider is back', async () => {
    type Tools = { tools: { name: string; breaker?: { state: string } }[] };
    const stateOf = async (): Promise<string | undefined> =>
      (await read<Tools>('/v1/tools')).tools.find(({ name }) => name === 'guarded')?.breaker?.state;
    expect(await stateOf()).toBe('closed');
    let id = '';
    await expect
      .poll(async () => {
        const answer = await start('tried', 'k-1');
        ({ id } = (await answer.json()) as { id: string });
        return answer.status;
      })
      .toBe(202);
    await expect.poll(stateOf, { interval: 20 }).toBe('open');
    expect(calls).toBeGreaterThanOrEqual(2);
    down = false;
    await expect.poll(() => isCompleted(id)).toBe(true);
    await expect.poll(stateOf).toBe('closed');
  });
});
