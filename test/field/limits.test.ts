import type { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { defineSaga, defineTool } from 'counterstep';
import { implementTool } from 'counterstep/lambda';
import { afterEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { refund } from '../../examples/refund/saga.ts';
import { LedgerFunction } from '../../lambdas/ledger/ledger-function.ts';
import { dynamoRegistry } from '../../lambdas/stores/dynamodb/registry.ts';
import { ToolRuntime } from '../../lambdas/tool/runtime.ts';
import { sagaIdOf } from '../../statemachines/rules/keys.ts';
import { VirtualTime } from '../../testing/virtual-time.ts';
import { deployed, ofType } from '../infra/synth.ts';
import { VirtualPlane } from '../support/virtual-plane.ts';

afterEach(() => vi.restoreAllMocks());

const text = z.object({ text: z.string() });
const call = { dedupe: 'key', timeoutMs: 1_000, settleMs: 0 } as const;
const write = defineTool({
  name: 'write',
  description: 'Writes a text.',
  effect: 'supersede',
  input: text,
  output: text,
  forward: call,
});
const copy = defineSaga({ name: 'copy', version: '1', input: z.object({}) }, (saga) =>
  saga
    .step('first', write, { input: () => ({ text: 'begin' }) })
    .step('second', write, { input: ({ results }) => ({ text: results.first.text }) }),
);

/** Runs the saga whose first step answers with `answer`; `onStoreCall` as in the plane. */
async function copied(
  answer: string,
  onStoreCall?: ConstructorParameters<typeof VirtualPlane>[0]['onStoreCall'],
): Promise<{ readonly state: string | undefined; readonly received: readonly string[] }> {
  const received: string[] = [];
  const tool = implementTool(write, {
    forward: async (args) => {
      received.push(args.text);
      return { text: answer };
    },
  });
  const time = new VirtualTime();
  const plane = new VirtualPlane({
    sagas: [copy],
    tools: () => [tool],
    time,
    ...(onStoreCall === undefined ? {} : { onStoreCall }),
  });
  return time.use(async () => {
    await plane.up();
    let state: string | undefined;
    void plane.start(copy, 'k', {}).then((id) => {
      const look = (): void => {
        state = plane.state(id)?.status;
        if (!plane.rests(id)) time.world.timer(10, look);
      };
      look();
    });
    const ended = (): boolean => state === 'completed' || state === 'needs_review';
    await time.run(ended, time.now() + 600_000);
    return { state, received };
  });
}

test.each(
  [200, 250, 255, 256, 257].flatMap((kib) => [
    { kib, of: 'a' },
    { kib, of: '€' },
  ]),
)(
  'li-01: a result of $kib KiB in "$of" is handed on whole, and no state of the machine ever holds it',
  async ({ kib, of }) => {
    const bytes = Buffer.byteLength(of);
    const answer = of.repeat(Math.floor((kib * 1_024) / bytes));
    const tool = vi.spyOn(ToolRuntime.prototype, 'handle');
    const ledger = vi.spyOn(LedgerFunction.prototype, 'handle');

    const { state, received } = await copied(answer);
    expect(state).toBe('completed');
    expect(received.map((each) => each.length)).toEqual(['begin'.length, answer.length]);
    expect(received[1] === answer).toBe(true);

    const exchanged = [...tool.mock.calls, ...ledger.mock.calls].map(([request]) => request);
    const answers = await Promise.all(
      [...tool.mock.results, ...ledger.mock.results].map(({ value }) => value as Promise<unknown>),
    );
    expect(answers.length).toBeGreaterThanOrEqual(4);
    const largest = Math.max(
      ...[...exchanged, ...answers].map((value) => JSON.stringify(value).length),
    );
    expect(largest).toBeLessThan(1_024);
  },
);

test('li-09: no table has an index, so no state of a saga is a key that all writes share', () => {
  const tables = ofType(deployed([refund]).resources, 'AWS::DynamoDB::Table');
  expect(tables).toHaveLength(3);
  for (const [, { Properties }] of tables) {
    expect(Properties).not.toHaveProperty('GlobalSecondaryIndexes');
    expect(Properties).not.toHaveProperty('LocalSecondaryIndexes');
  }
});

test('li-09: two thousand sagas that are due in one minute are spread over partitions', async () => {
  const written = new Map<string, number>();
  const client = {
    send: async ({ input }: PutItemCommand) => {
      const partition = input.Item?.pk?.S ?? '';
      written.set(partition, (written.get(partition) ?? 0) + 1);
      return {};
    },
  } as unknown as DynamoDBClient;
  const registry = dynamoRegistry(client, 'coordination');
  const sagas = 2_000;
  for (let n = 0; n < sagas; n += 1) {
    const sagaId = sagaIdOf({ tenant: 't', principal: 'p', name: 'refund', key: `key-${n}` });
    await registry.add({ tenant: 't', sagaId, dueAt: 1_700_000_000_000 + n });
  }
  expect(written.size).toBeGreaterThanOrEqual(8);
  expect(Math.max(...written.values())).toBeLessThan((sagas / written.size) * 1.5);
});

test('li-09: a registry that refuses for a while delays sagas, and loses none', async () => {
  let refused = 0;
  const { state } = await copied('short', ({ store, phase }) => {
    if (store !== 'registry' || phase === 'after' || refused === 5) return undefined;
    refused += 1;
    return 'error';
  });
  expect(refused).toBe(5);
  expect(state).toBe('completed');
});
