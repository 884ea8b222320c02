import {
  emfMetrics,
  type LambdaContext,
  type LambdaHost,
  type LambdaMetrics,
  ledgerHandler,
  outboxHandler,
  powertoolsLog,
  sweepHandler,
} from 'counterstep/lambda';
import { beforeEach, describe, expect, test } from 'vitest';
import { StoreUnavailable } from '../../../lambdas/ports/ledger-store.ts';
import { silentLog } from '../../../lambdas/ports/log.ts';
import type { Census, SagaCensus } from '../../../lambdas/ports/saga-census.ts';
import { SagaLedger } from '../../../lambdas/runtime/saga-ledger.ts';
import { type GAUGES, OPEN_STATES } from '../../../statemachines/metrics.ts';
import { ALL_STORIES, inserted, ledgerOf, modified } from '../../outbox/ledgers.ts';
import { OutboxWorld } from '../../outbox/world.ts';
import { SweepWorld } from '../../sweep/world.ts';
import { readEmf, valuesIn } from './emf.ts';
import { small } from './small.ts';

const NOW = 1_800_000_000_000;
const context: LambdaContext = { getRemainingTimeInMillis: () => 300_000 };
const log = { ...powertoolsLog(), ...silentLog, begin: () => undefined };

let lines: string[];
let metrics: LambdaMetrics;
beforeEach(() => {
  lines = [];
  metrics = emfMetrics({
    plane: 'plane-1',
    clock: { now: () => NOW + 0.25 },
    write: (line) => void lines.push(line),
  });
});

describe('the lines', () => {
  test('are what the format asks for: counts added up, the last of what was measured, one line for each state', () => {
    metrics.count('AppendConflicts');
    metrics.count('AppendConflicts', 2);
    metrics.count('DrivesGranted', 0);
    metrics.gauge('OutboxLag', 7);
    metrics.gauge('OutboxLag', 0.5);
    metrics.gauge('Sagas', 3, 'running');
    metrics.gauge('OldestSaga', 60, 'running');
    metrics.gauge('Sagas', 0, 'queued');
    metrics.flush();
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      {
        _aws: {
          Timestamp: NOW,
          CloudWatchMetrics: [
            {
              Namespace: 'Counterstep',
              Dimensions: [['Plane']],
              Metrics: [
                { Name: 'AppendConflicts', Unit: 'Count' },
                { Name: 'DrivesGranted', Unit: 'Count' },
                { Name: 'OutboxLag', Unit: 'Seconds' },
              ],
            },
          ],
        },
        Plane: 'plane-1',
        AppendConflicts: 3,
        DrivesGranted: 0,
        OutboxLag: 0.5,
      },
      expect.objectContaining({ Plane: 'plane-1', State: 'running', Sagas: 3, OldestSaga: 60 }),
      expect.objectContaining({ Plane: 'plane-1', State: 'queued', Sagas: 0 }),
    ]);
    for (const line of lines) readEmf(line);
    expect(readEmf(lines[1] ?? '')._aws.CloudWatchMetrics[0]?.Dimensions).toEqual([
      ['Plane', 'State'],
    ]);
  });

  test('are none where nothing was noted, and nothing is reported twice', () => {
    metrics.flush();
    metrics.count('Sweeps');
    metrics.flush();
    metrics.flush();
    expect(lines).toHaveLength(1);
  });

  test('control: what the format does not take is seen', () => {
    metrics.gauge('OutboxLag', Number.NaN);
    metrics.flush();
    expect(() => readEmf(lines[0] ?? '')).toThrow(/OutboxLag is no number/);
    expect(() => readEmf('{"_aws":{"Timestamp":1,"CloudWatchMetrics":[]}}\n')).toThrow(/directive/);
  });
});

describe('the sweep', () => {
  const census: Census = {
    states: {
      queued: { sagas: 0 },
      running: { sagas: 4, oldestSince: 0 },
      waiting: { sagas: 1, oldestSince: 0 },
      compensating: { sagas: 0 },
      needs_review: { sagas: 3, oldestSince: 0 },
    },
    reviewsOverdue: 2,
  };
  const sweeping = (world: SweepWorld, taken: SagaCensus) => {
    const host: LambdaHost = { ...world.host, log, metrics };
    return sweepHandler({ host, census: taken });
  };

  test('reports what it did, and each state with the age of its oldest: zeros too', async () => {
    const world = new SweepWorld();
    await world.start(world.id('secret-saga', 'secret-tenant'));
    await world.pass(63_000);
    await sweeping(world, { take: async () => census })({}, context);
    const age = Math.round(world.time.now() / 1000);
    expect(valuesIn(lines)).toEqual({
      Sweeps: 1,
      DueSagas: 1,
      DrivesGranted: 1,
      DamagedLedgers: 0,
      OldestDue: 3,
      ReviewsWaiting: 3,
      ReviewsOverdue: 2,
      ...Object.fromEntries(
        OPEN_STATES.flatMap((state) => [
          [`Sagas ${state}`, census.states[state].sagas],
          [`OldestSaga ${state}`, census.states[state].sagas === 0 ? 0 : age],
        ]),
      ),
    });
    expect(lines.join('')).not.toContain('secret');
  });

  test('does its pass, and reports it, where nothing can be counted', async () => {
    const world = new SweepWorld();
    await world.start(world.id('s'));
    await world.pass(60_000);
    const failing = {
      take: async () => {
        throw new StoreUnavailable('no answer');
      },
    };
    const report = await sweeping(world, failing)({}, context);
    expect(report).toMatchObject({ granted: 1 });
    expect(valuesIn(lines)).toMatchObject({ Sweeps: 1, DrivesGranted: 1 });
    expect(valuesIn(lines)).not.toHaveProperty('ReviewsWaiting');
  });

  test('that does not come to its end has no heartbeat', async () => {
    const world = new SweepWorld();
    await world.start(world.id('s'));
    await world.pass(60_000);
    const late: LambdaContext = { getRemainingTimeInMillis: () => 9_000 };
    await sweeping(world, { take: async () => census })({}, late);
    expect(valuesIn(lines)).toMatchObject({ Sweeps: 0, DrivesGranted: 0 });
  });

  test('called with an execution that ended looks at its saga alone', async () => {
    const world = new SweepWorld();
    const id = world.id('s');
    const other = world.id('other');
    for (const each of [id, other]) {
      await world.start(each);
      await world.claim(each, 'a');
      await world.commit(each, 'a');
    }
    const handler = sweeping(world, { take: async () => census });
    const ended = (change: object) => ({
      'detail-type': 'Step Functions Execution Status Change',
      source: 'aws.states',
      detail: {
        name: 's-1',
        status: 'ABORTED',
        input: JSON.stringify({ drive: { ...id, epoch: 1 } }),
        ...change,
      },
    });
    for (const foreign of [
      { name: 'by-hand' },
      { input: undefined },
      { input: '{' },
      { input: '"text"' },
      { input: JSON.stringify({ drive: { ...id, epoch: 'x' } }) },
    ]) {
      expect(await handler(ended(foreign), context)).toEqual({ granted: 0 });
    }
    expect(lines).toEqual([]);
    expect(await handler(ended({}), context)).toEqual({ granted: 1 });
    expect((await world.state(id)).epoch).toBe(2);
    expect((await world.state(other)).epoch).toBe(1);
    expect(valuesIn(lines)).toEqual({ DrivesGranted: 1 });
  });
});

describe('the outbox', () => {
  test('counts what it publishes, by kind, and says how far it is behind', async () => {
    const world = new OutboxWorld();
    const handler = outboxHandler({ parts: { ...world.parts, log, metrics } });
    const records = ALL_STORIES.flatMap((story, n) => {
      const id = { tenant: 'acme', sagaId: `saga-${n}` };
      return ledgerOf(story, id).map((record) => inserted(id, record));
    });
    await handler({ Records: records }, context);
    const values = valuesIn(lines);
    expect(values).toMatchObject({
      SagasStarted: ALL_STORIES.length,
      SagasCompleted: 2,
      SagasCompensated: 4,
      RecoveriesStarted: 6,
      ReviewsOpened: 2,
      RecoveriesFailed: 1,
      IncidentsOpened: 2,
    });
    expect(Object.keys(values)).toContain('OutboxLag' satisfies keyof typeof GAUGES);
    expect(values.OutboxLag).toBe(100_000_000);
  });

  test('does not count what the bus refused, and counts a changed record', async () => {
    const world = new OutboxWorld();
    const handler = outboxHandler({ parts: { ...world.parts, log, metrics } });
    const id = { tenant: 'acme', sagaId: 's' };
    const records = ledgerOf('completed', id);
    const [first, second] = records;
    if (first === undefined || second === undefined) throw new Error('the story is too short');
    await world.append(id, records);
    world.bus.refuses = () => true;
    await handler({ Records: [inserted(id, first)] }, context);
    expect(valuesIn(lines)).not.toHaveProperty('SagasStarted');
    world.bus.refuses = () => false;
    await handler({ Records: records.map((record) => inserted(id, record)) }, context);
    lines.length = 0;
    await handler({ Records: [modified(id, first, { ...first, body: '{}' })] }, context);
    expect(valuesIn(lines)).toMatchObject({ LedgersTampered: 1 });
  });
});

describe('writers', () => {
  test('count the appends that met another’s event, and report them when the invocation ends', async () => {
    const world = new SweepWorld();
    const id = world.id('s');
    await world.start(id);
    const host: LambdaHost = { ...world.host, log, metrics };
    const [one, two] = [new SagaLedger(host), new SagaLedger(host)];
    await Promise.all([one.load(id), two.load(id)]);
    await one.write(id, { kind: 'cancel', reason: 'first' }, { actor: 'ada' });
    await world.time.use(async () => {
      let through = false;
      const cancelled = two
        .write(id, { kind: 'cancel', reason: 'second' }, { actor: 'bob' })
        .finally(() => {
          through = true;
        });
      await world.time.run(() => through, world.time.now() + 10_000);
      await cancelled;
    });
    expect(lines).toEqual([]);
    const call = { op: 'begin', saga: 'small', drive: { ...id, epoch: 1 } } as const;
    await ledgerHandler({ sagas: [small], host })(call, context).catch(() => undefined);
    expect(valuesIn(lines)).toEqual({ AppendConflicts: 1 });
  });

  test('count a ledger that does not hold', async () => {
    const world = new SweepWorld();
    const id = world.id('s');
    await world.start(id);
    world.damage(id);
    const ledger = new SagaLedger({ ...world.host, metrics });
    const write = ledger.write(id, { kind: 'cancel', reason: '' }, { actor: 'ada' });
    await expect(write).rejects.toThrow();
    metrics.flush();
    expect(valuesIn(lines)).toEqual({ DamagedLedgers: 1 });
  });
});
