import { randomUUID } from 'node:crypto';
import { STALE, TERMINAL } from 'counterstep';
import {
  implementTool,
  type LambdaContext,
  type LambdaHost,
  ledgerHandler,
  powertoolsLog,
  refused,
  sweepHandler,
  toolHandler,
} from 'counterstep/lambda';
import { beforeEach, describe, expect, test } from 'vitest';
import { awsHost } from '../../../lambdas/aws/host.ts';
import { systemClock } from '../../../lambdas/ports/clock.ts';
import type { Drive } from '../../../lambdas/ports/drive-starter.ts';
import { systemEntropy } from '../../../lambdas/ports/entropy.ts';
import { SagaLedger } from '../../../lambdas/runtime/saga-ledger.ts';
import { memoryStores } from '../../../lambdas/stores/memory/open.ts';
import type { LedgerOp } from '../../../statemachines/asl/payloads.ts';
import { PROTOCOL } from '../../../statemachines/rules/events.ts';
import { holdItem, small } from './small.ts';

interface Line {
  readonly message: string;
  readonly level: string;
  readonly [key: string]: unknown;
}

const lines: Line[] = [];
const drives: Drive[] = [];
let host: LambdaHost;

beforeEach(async () => {
  lines.length = 0;
  drives.length = 0;
  host = {
    stores: memoryStores(),
    clock: systemClock,
    entropy: systemEntropy,
    log: powertoolsLog(await listeningLogger()),
    drives: {
      start: async (drive) => {
        drives.push(drive);
      },
    },
  };
});

/** A Powertools logger whose lines are read back instead of printed. */
async function listeningLogger() {
  const { Logger } = await import('@aws-lambda-powertools/logger');
  return new (class extends Logger {
    override printLog(_level: number, item: { getAttributes(): object }): void {
      lines.push(item.getAttributes() as Line);
    }
  })({ serviceName: 'test' });
}

const context: LambdaContext = { getRemainingTimeInMillis: () => 20_000 };

async function startSmall(): Promise<{ tenant: string; sagaId: string }> {
  const id = { tenant: 'acme', sagaId: randomUUID().replaceAll('-', '') };
  await new SagaLedger(host).write(
    id,
    {
      kind: 'start',
      event: {
        ...id,
        protocol: PROTOCOL,
        principal: 'test',
        name: small.name,
        version: small.version,
        sagaType: small.plan.sagaType,
        planDigest: small.plan.digest,
        machine: 'arn:aws:states:eu-central-1:123456789012:stateMachine:small:1',
        key: 'k',
        bodyDigest: 'b',
        input: { kind: 'inline', value: { id: 'i1' } },
        steps: small.plan.steps.map(({ name, tool, effect }) => ({ name, tool, effect })),
        registeredAt: Date.now() + 60_000,
      },
    },
    { actor: 'test' },
  );
  return id;
}

const onLedger = (op: LedgerOp, id: Id) => ({ op, saga: 'small', drive: { ...id, epoch: 1 } });
const onStep = (id: Id, epoch = 1) =>
  ({ saga: 'small', step: 'hold', action: 'forward', drive: { ...id, epoch } }) as const;
type Id = { readonly tenant: string; readonly sagaId: string };

const holding = implementTool(holdItem, {
  forward: () => ({ holdId: 'h1' }),
  compensate: () => undefined,
});

describe('a saga through its handlers', () => {
  test('begins, moves and completes', async () => {
    const id = await startSmall();
    const ledger = ledgerHandler({ sagas: [small], host });
    const tool = toolHandler(holding, { sagas: [small], host });
    expect(await ledger(onLedger('begin', id), context)).toEqual({
      ...id,
      epoch: 1,
      softDeadlineAt: 0,
    });
    const moved = await tool(onStep(id), context);
    expect(moved).toEqual({ kind: 'moved' });
    const done = await ledger(onLedger('complete', id), context);
    expect(done).toEqual({ state: 'completed' });
  });

  test('ends with an error that is named by a constant, whatever its class is called', async () => {
    const id = await startSmall();
    const refusing = implementTool(holdItem, {
      forward: () => {
        throw refused('sold_out', 'nothing left');
      },
      compensate: () => undefined,
    });
    const tool = toolHandler(refusing, { sagas: [small], host });
    const call = tool(onStep(id), context);
    await expect(call).rejects.toMatchObject({ name: TERMINAL });
    const stale = tool(onStep(id, 7), context);
    await expect(stale).rejects.toMatchObject({ name: STALE });
    expect(lines.filter((line) => line.level === 'ERROR')).toEqual([]);
  });

  test('every line names tenant, saga and step; the lines of an attempt its number', async () => {
    const id = await startSmall();
    const tool = toolHandler(holding, { sagas: [small], host });
    await tool(onStep(id), context);
    const call = lines.find((line) => line.message === 'call');
    expect(call).toMatchObject({ ...id, saga: 'small', step: 'hold', attempt: 1, epoch: 1 });
    for (const line of lines) expect(line).toMatchObject({ ...id, step: 'hold' });
  });

  test('keys of one invocation do not reach the next one', async () => {
    const [first, second] = [await startSmall(), await startSmall()];
    const tool = toolHandler(holding, { sagas: [small], host });
    await tool(onStep(first), context);
    lines.length = 0;
    await ledgerHandler({ sagas: [small], host })(onLedger('complete', second), context).catch(
      () => undefined,
    );
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) {
      expect(line).toMatchObject(second);
      expect(line).not.toHaveProperty('step');
    }
  });

  test('an invocation without time for the call does not make it', async () => {
    const id = await startSmall();
    let calls = 0;
    const counting = implementTool(holdItem, {
      forward: () => {
        calls += 1;
        return { holdId: 'h1' };
      },
      compensate: () => undefined,
    });
    const tool = toolHandler(counting, { sagas: [small], host });
    const late: LambdaContext = { getRemainingTimeInMillis: () => 1_000 };
    await expect(tool(onStep(id), late)).rejects.toThrow();
    expect(calls).toBe(0);
  });

  test('the sweep grants a drive to a saga that is due, and starts it', async () => {
    const id = await startSmall();
    drives.length = 0;
    const later = { ...systemClock, now: () => Date.now() + 120_000 };
    const report = await sweepHandler({ host: { ...host, clock: later } })(undefined, context);
    expect(report).toMatchObject({ seen: 1, granted: 1 });
    expect(drives).toMatchObject([{ ...id, epoch: 2 }]);
  });
});

describe('a function that cannot work says so when it starts', () => {
  test('a tool that no given saga uses', () => {
    expect(() => toolHandler(holding, { sagas: [], host })).toThrow(/"hold-item".*`sagas`/);
  });

  test.each([
    'COUNTERSTEP_LEDGER_TABLE',
    'COUNTERSTEP_PAYLOAD_TABLE',
    'COUNTERSTEP_COORDINATION_TABLE',
  ])('without %s', (missing) => {
    const all = {
      COUNTERSTEP_LEDGER_TABLE: 'ledger',
      COUNTERSTEP_PAYLOAD_TABLE: 'payloads',
      COUNTERSTEP_COORDINATION_TABLE: 'coordination',
    };
    expect(() => awsHost({ ...all, [missing]: '' })).toThrow(missing);
  });

  test.each([undefined, null, {}, { tenant: 'a', sagaId: 's', saga: 'small', epoch: '1' }])(
    'an event that no state machine sends: %j',
    async (event) => {
      const tool = toolHandler(holding, { sagas: [small], host });
      await expect(tool(event as never, context)).rejects.toThrow(/start a saga instead/);
    },
  );
});
