import { Logger } from '@aws-lambda-powertools/logger';
import {
  type LambdaContext,
  type OutboxReport,
  outboxHandler,
  powertoolsLog,
} from 'counterstep/lambda';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { LedgerId } from '../../../lambdas/ports/ledger-store.ts';
import { inserted, ledgerOf, removed } from '../../outbox/ledgers.ts';
import { OutboxWorld } from '../../outbox/world.ts';

interface Line {
  readonly message: string;
  readonly level: string;
  readonly [key: string]: unknown;
}

const lines: Line[] = [];
const context: LambdaContext = { getRemainingTimeInMillis: () => 20_000 };

/** A Powertools logger whose lines are read back instead of printed. */
class ListeningLogger extends Logger {
  override printLog(_level: number, item: { getAttributes(): object }): void {
    lines.push(item.getAttributes() as Line);
  }
}

const ids: readonly LedgerId[] = ['s1', 's2', 's3'].map((sagaId) => ({ tenant: 'acme', sagaId }));
const [first, second, third] = ids as [LedgerId, LedgerId, LedgerId];

let world: OutboxWorld;
let reports: OutboxReport[];
let handler: ReturnType<typeof outboxHandler>;

beforeEach(() => {
  lines.length = 0;
  reports = [];
  const log = powertoolsLog(new ListeningLogger({ serviceName: 'outbox' }));
  world = new OutboxWorld({ log });
  handler = outboxHandler({
    parts: { ...world.parts, log },
    observed: (report) => reports.push(report),
  });
});

const batchOf = (...of: readonly LedgerId[]) =>
  of.flatMap((id) => ledgerOf('completed', id).map((record) => inserted(id, record)));

describe('a batch', () => {
  test('that goes well has no failures, and one line', async () => {
    const answer = await handler({ Records: batchOf(...ids) }, context);
    expect(answer).toEqual({ batchItemFailures: [] });
    expect(world.bus.taken).toHaveLength(6);
    expect(lines).toMatchObject([
      { level: 'INFO', message: 'passed on', records: 18, sagas: 3, published: 6, failed: 0 },
    ]);
    expect(reports).toMatchObject([{ records: 18, sagas: 3, published: 6, failed: [] }]);
  });

  test('names the first record of each saga that failed, by its place in the stream', async () => {
    world.bus.refuses = ({ detail }) => detail.sagaId !== 's2';
    const records = batchOf(...ids);
    const answer = await handler({ Records: records }, context);
    expect(answer.batchItemFailures).toEqual([
      { itemIdentifier: records[0]?.dynamodb?.SequenceNumber },
      { itemIdentifier: records[12]?.dynamodb?.SequenceNumber },
    ]);
    expect(lines.filter(({ level }) => level === 'ERROR')).toMatchObject(
      [first, third].map((id) => ({
        ...id,
        position: expect.stringMatching(/^\d+$/),
        reason: expect.stringContaining('ThrottlingException'),
      })),
    );
  });

  test('that shows tampering is loud about it, once', async () => {
    const records = ledgerOf('completed', second);
    const [begun] = records;
    if (begun === undefined) throw new Error('the story is empty');
    await handler({ Records: records.map((record) => inserted(second, record)) }, context);
    lines.length = 0;
    for (let again = 0; again < 3; again += 1) {
      await handler({ Records: [removed(second, begun)] }, context);
    }
    expect(lines.filter(({ level }) => level === 'ERROR')).toMatchObject([
      { message: 'a ledger was tampered with', ...second, seq: 1, found: 'removed' },
    ]);
    expect(reports.map(({ tampered }) => tampered)).toEqual([0, 1, 0, 0]);
  });
});

describe('a function that cannot work says so', () => {
  afterEach(() => vi.unstubAllEnvs());

  test.each([
    'COUNTERSTEP_LEDGER_TABLE',
    'COUNTERSTEP_COORDINATION_TABLE',
    'COUNTERSTEP_EVENT_BUS',
  ])('when it starts without %s', (missing) => {
    for (const name of ['LEDGER_TABLE', 'PAYLOAD_TABLE', 'COORDINATION_TABLE', 'EVENT_BUS']) {
      vi.stubEnv(`COUNTERSTEP_${name}`, 'name');
    }
    vi.stubEnv(missing, '');
    expect(() => outboxHandler()).toThrow(missing);
  });

  test('when it is to publish what there is not', () => {
    for (const name of ['LEDGER_TABLE', 'PAYLOAD_TABLE', 'COORDINATION_TABLE', 'EVENT_BUS']) {
      vi.stubEnv(`COUNTERSTEP_${name}`, 'name');
    }
    vi.stubEnv('COUNTERSTEP_EVENTS', 'completed,done');
    expect(() => outboxHandler()).toThrow('there is no event "done"');
  });

  test('when it is called with something else than a batch', async () => {
    await expect(handler({} as never, context)).rejects.toThrow(/stream of the ledger table/);
  });
});
