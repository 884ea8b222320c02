import { compileSaga, type SagaState, standingReport } from 'counterstep';
import { emfMetrics, outboxHandler, powertoolsLog, sweepHandler } from 'counterstep/lambda';
import { beforeAll, describe, expect, test } from 'vitest';
import { silentLog } from '../../lambdas/ports/log.ts';
import { FINAL_STATES, type SagaStatus } from '../../statemachines/rules/events.ts';
import { DRIVE_CHECK_MS } from '../../statemachines/rules/protocol.ts';
import { recoveryStatus, stepsInOrder } from '../../statemachines/rules/view.ts';
import { deployed, ofType, type Resources, SYNTH_MS, textOf } from '../infra/synth.ts';
import { valuesIn } from '../lambdas/aws/emf.ts';
import { small } from '../lambdas/aws/small.ts';
import { ALL_STORIES, eventsOf, inserted, ledgerOf, type Story } from '../outbox/ledgers.ts';
import { OutboxWorld } from '../outbox/world.ts';
import { diamond, line } from '../statemachines/samples.ts';
import { Rules, sagaOf } from '../support/saga-builder.ts';
import { SweepWorld } from '../sweep/world.ts';

const log = { ...powertoolsLog(), ...silentLog, begin: () => undefined };
const context = { getRemainingTimeInMillis: () => 300_000 };

let resources: Resources;
beforeAll(() => {
  resources = deployed([small]).resources;
}, SYNTH_MS);

const alarm = (kind: string) => {
  const found = ofType(resources, 'AWS::CloudWatch::Alarm').filter(([, { Properties }]) =>
    String(Properties.AlarmDescription).endsWith(`runbook.md, ${kind}`),
  );
  const [only] = found;
  if (only === undefined || found.length > 1) throw new Error(`${found.length} alarms ${kind}`);
  return only[1].Properties;
};

describe('a saga that cannot be recovered', () => {
  test('mo-02: whose ledger cannot be read is told of by each of 20 passes, and delays no other', async () => {
    const world = new SweepWorld();
    const broken = world.id('broken');
    await world.start(broken);
    await world.pass(1);
    world.damage(broken);
    for (let pass = 0; pass < 20; pass += 1) {
      const other = world.id(`other-${pass}`);
      await world.start(other);
      await world.pass(DRIVE_CHECK_MS);
      const report = await world.sweep.run();
      expect(report.damaged).toMatchObject([broken]);
      expect((await world.state(other)).epoch).toBe(2);
      await world.finish(other);
    }
    expect(world.metrics.counts.get('DamagedLedgers')).toBe(20);
    expect(alarm('ledger-damaged')).toMatchObject({ MetricName: 'DamagedLedgers', Threshold: 1 });
  });

  test('mo-02: whose drives all vanish goes to a person after eight of them, by one event', async () => {
    const world = new SweepWorld();
    const id = world.id('s');
    await world.start(id);
    for (let pass = 0; pass < 20; pass += 1) {
      await world.pass(DRIVE_CHECK_MS);
      await world.sweep.run();
    }
    expect(await world.state(id)).toMatchObject({
      status: 'needs_review',
      drive: 'parked',
      review: { reason: 'no_progress' },
    });
    const bodies = world.memory.held.ledgers.get('acme/s')?.map(({ body }) => body) ?? [];
    expect(bodies.filter((body) => body.includes('"review_opened"'))).toHaveLength(1);
  });
});

describe('a wait', () => {
  test('mo-03: of a machine always ends: each Task has its timeout, and none waits for a callback', () => {
    const functions = { ledger: 'ledger', tool: (name: string) => name };
    for (const { plan } of [line, diamond, small]) {
      const text = JSON.stringify(compileSaga(plan, { functions }));
      expect(text).not.toMatch(/waitForTaskToken|"Type":"Wait"|HeartbeatSeconds/);
      const tasks = [...text.matchAll(/"Type":"Task"/g)].length;
      const timeouts = [...text.matchAll(/"TimeoutSeconds":(\d+)/g)].map(([, s]) => Number(s));
      expect(tasks).toBeGreaterThan(plan.steps.length);
      expect(timeouts).toHaveLength(tasks);
      for (const seconds of timeouts) expect(seconds).toBeGreaterThan(0);
    }
  });

  test('mo-03: of a saga always ends: whoever it waits for, its ledger says until when', () => {
    for (const story of ALL_STORIES) {
      for (const event of eventsOf(story, { tenant: 'acme', sagaId: 's' })) {
        expect([story, event.type, event.dueAt === undefined]).toEqual([
          story,
          event.type,
          FINAL_STATES.includes(event.state),
        ]);
      }
    }
  });

  test('mo-03: for a provider that never calls back ends with a person, whose review has a deadline', () => {
    const saga = new Rules([{ name: 'a', reconcile: false, pendingForMs: 3_600_000 }]);
    for (let asked = 0; asked < 100; asked += 1) {
      const claim = saga.claim('a');
      if (saga.asks(claim).kind !== 'append') break;
      saga.does(claim);
      saga.does(saga.told('a', 'pending', 'forward', { via: 'call' }));
      saga.does(saga.assess());
      expect(saga.state).toMatchObject({ status: 'waiting', drive: 'parked' });
      saga.now = saga.state.dueAt ?? Number.NaN;
      saga.does({ kind: 'grant', reason: 'due' });
    }
    saga.does(saga.assess());
    expect(saga.state.status).toBe('needs_review');
    expect(saga.state.review?.reason).toBe('pending_too_long');
    expect(saga.state.review?.deadlineAt).toBeGreaterThan(saga.now);
    expect(saga.state.dueAt).toBe(saga.state.review?.remindAt);
  });

  test.each([
    ['queued-old', 'queued'],
    ['running-old', 'running'],
    ['waiting-old', 'waiting'],
    ['compensating-old', 'compensating'],
    ['review-old', 'needs_review'],
  ])('mo-03: has an alarm on its age: %s', (kind, state) => {
    expect(alarm(kind)).toMatchObject({
      MetricName: 'OldestSaga',
      Dimensions: expect.arrayContaining([{ Name: 'State', Value: state }]) as unknown,
    });
  });
});

/** What the outbox reports of these stories, each saga's records handed over one by one. */
async function counted(stories: readonly Story[]) {
  const world = new OutboxWorld();
  const totals: Record<string, number> = {};
  const write = (text: string): void => {
    for (const [name, value] of Object.entries(valuesIn([text]))) {
      totals[name] = (totals[name] ?? 0) + value;
    }
  };
  const metrics = emfMetrics({ plane: 'p', clock: world.parts.clock, write });
  const handler = outboxHandler({ parts: { ...world.parts, log, metrics } });
  for (const [n, story] of stories.entries()) {
    const id = { tenant: 'acme', sagaId: `s${n}` };
    for (const record of ledgerOf(story, id)) {
      await handler({ Records: [inserted(id, record)] }, context);
    }
  }
  const { OutboxLag: _lag, ...counts } = totals;
  return counts;
}

test('mo-05: a hundred sagas that were undone are counted as compensated, each once', async () => {
  const undone = Array.from({ length: 100 }, (): Story => 'undone');
  expect(await counted(undone)).toEqual({
    SagasStarted: 100,
    RecoveriesStarted: 100,
    SagasCompensated: 100,
  });
});

describe('the sweep', () => {
  test('mo-06: is missed where it is not called, or fails when it starts: silence is an alarm', () => {
    expect(alarm('sweep-missed')).toMatchObject({
      MetricName: 'Sweeps',
      ComparisonOperator: 'LessThanThreshold',
      Threshold: 1,
      TreatMissingData: 'breaching',
    });
    const called = ofType(resources, 'AWS::Events::Rule').filter(
      ([, { Properties }]) => Properties.ScheduleExpression !== undefined,
    );
    expect(called).toHaveLength(1);
    const targets = called[0]?.[1].Properties.Targets as readonly { readonly Arn: unknown }[];
    expect(targets.map(({ Arn }) => textOf(Arn))).toEqual([
      expect.stringMatching(/^\$\{SagasSweepFunction\w+\.Arn\}$/),
    ]);
  });

  test('mo-06: recovers a saga that is stuck on purpose, and says that it ran', async () => {
    const world = new SweepWorld();
    const id = world.id('stuck');
    await world.start(id);
    await world.pass(DRIVE_CHECK_MS);
    const lines: string[] = [];
    const write = (text: string): void => void lines.push(text);
    const metrics = emfMetrics({ plane: 'p', clock: world.time.world, write });
    await sweepHandler({ host: { ...world.host, log, metrics } })({}, context);
    expect(await world.state(id)).toMatchObject({ epoch: 2, drive: 'running' });
    expect(world.drives.at(-1)).toMatchObject({ ...id, epoch: 2 });
    expect(valuesIn(lines)).toMatchObject({ Sweeps: 1, DrivesGranted: 1 });
  });
});

test.each([
  ['success', 'completed', { SagasCompleted: 1 }],
  ['undo success', 'undone', { RecoveriesStarted: 1, SagasCompensated: 1 }],
  ['undo failure', 'undo failed', { RecoveriesStarted: 1, ReviewsOpened: 1, RecoveriesFailed: 1 }],
  ['review', 'reviewed', { ReviewsOpened: 1, SagasCompleted: 1 }],
  ['expiry', 'expired', { RecoveriesStarted: 1, SagasCompensated: 1 }],
  ['cancel', 'cancelled', { RecoveriesStarted: 1, SagasCompensated: 1 }],
] as const)('mo-08: %s is counted exactly once', async (_, story, expected) => {
  expect(await counted([story])).toEqual({ SagasStarted: 1, ...expected });
  expect(alarm('recovery-failed')).toMatchObject({ MetricName: 'RecoveriesFailed', Threshold: 1 });
});

describe('mo-09: pairs of forward and recovery state', () => {
  const NAMES = ['a', 'b', 'c', 'd'] as const;
  const definition = sagaOf(NAMES.map((name) => ({ name, dedupe: 'lookup' as const })));
  const FORWARD = ['refused', 'absent', 'committed', 'lost', 'pending', 'held'] as const;
  const UNDO = ['done', 'refused', 'lost', 'pending', 'absent'] as const;

  interface Seen {
    readonly status: SagaStatus;
    readonly pairs: readonly string[];
    readonly clear: boolean;
  }

  const seen: Seen[] = [];
  const note = (state: SagaState): void => {
    const pairs = stepsInOrder(state).map(
      (step) => `${step.forward.status}/${recoveryStatus(step)}`,
    );
    seen.push({ status: state.status, pairs, clear: standingReport(state).clear });
  };

  /** As a drive goes on after its step ended like this; every state on the way is noted. */
  function play(
    failing: number,
    how: (typeof FORWARD)[number],
    undoing: number,
    undo: (typeof UNDO)[number],
  ) {
    const saga = new Rules(definition);
    const step = (does: () => unknown): void => {
      does();
      note(saga.state);
    };
    /** What the rules refuse here is not a way that a saga can go. */
    const tries = (command: Parameters<Rules['asks']>[0]): boolean => {
      const verdict = saga.asks(command);
      if (verdict.kind !== 'append') return false;
      saga.applies(verdict.event);
      note(saga.state);
      return true;
    };
    const settle = (): void => {
      for (let turn = 0; turn < 6 && saga.state.drive === 'running'; turn += 1) {
        if (!tries(saga.assess()) && !tries(saga.settle())) return;
      }
    };
    for (const name of NAMES.slice(0, failing)) {
      step(() => saga.does(saga.claim(name)));
      step(() => saga.does(saga.commit(name)));
    }
    const name = NAMES[failing] ?? 'a';
    step(() => saga.does(saga.claim(name)));
    if (how === 'refused') tries(saga.fail(name, 'terminal_compensate'));
    else if (how === 'held') tries(saga.fail(name, 'terminal_hold'));
    else {
      if (how === 'pending') tries(saga.told(name, 'pending', 'forward', { via: 'call' }));
      else {
        saga.wait(1_000);
        tries(saga.doubt(name));
      }
      if (how === 'absent') {
        saga.wait(10_000);
        tries(saga.told(name, 'absent'));
      }
      if (how === 'committed') tries(saga.commit(name, 'forward', { via: 'reconcile' }));
      tries({ kind: 'cancel', reason: 'enough' });
    }
    tries(saga.assess());
    for (let at = NAMES.length - 1; at >= 0; at -= 1) {
      const undone = NAMES[at] ?? 'a';
      if (!tries(saga.claim(undone, 'compensate'))) continue;
      const outcome = at === undoing ? undo : 'done';
      if (outcome === 'done') tries(saga.commit(undone, 'compensate'));
      if (outcome === 'refused') tries(saga.fail(undone, 'terminal_compensate', 'compensate'));
      if (outcome === 'pending') {
        tries(saga.told(undone, 'pending', 'compensate', { via: 'call' }));
      }
      if (outcome === 'lost' || outcome === 'absent') {
        saga.wait(1_000);
        tries(saga.doubt(undone, 'compensate'));
      }
      if (outcome === 'absent') {
        saga.wait(10_000);
        tries(saga.told(undone, 'absent', 'compensate'));
      }
    }
    settle();
  }

  for (let failing = 0; failing < NAMES.length; failing += 1) {
    for (const how of FORWARD) {
      for (let undoing = 0; undoing <= failing; undoing += 1) {
        for (const undo of UNDO) play(failing, how, undoing, undo);
      }
    }
  }

  /** By forward state: the recovery states that can stand beside it, and nothing else can. */
  const DOCUMENTED: Readonly<Record<string, readonly string[]>> = {
    idle: ['not_required'],
    running: ['not_required'],
    retrying: ['not_required'],
    waiting: ['not_required'],
    in_doubt: ['not_required'],
    failed: ['not_required'],
    done: ['pending', 'running', 'retrying', 'waiting', 'in_doubt', 'done', 'failed'],
  };

  test('mo-09: only documented pairs are reached, and each of them is', () => {
    const reached = [...new Set(seen.flatMap(({ pairs }) => pairs))].sort();
    const documented = Object.entries(DOCUMENTED)
      .flatMap(([forward, recoveries]) => recoveries.map((recovery) => `${forward}/${recovery}`))
      .sort();
    expect(reached).toEqual(documented);
  });

  test('mo-09: a saga is compensated only where nothing stands, and completed only where all does', () => {
    const ended = seen.filter(({ status }) => status === 'compensated');
    expect(ended.length).toBeGreaterThan(20);
    for (const { pairs, clear } of ended) {
      expect(clear).toBe(true);
      for (const pair of pairs) {
        expect([
          'idle/not_required',
          'failed/not_required',
          'retrying/not_required',
          'done/done',
        ]).toContain(pair);
      }
    }
    expect(seen.filter(({ status }) => status === 'completed')).toEqual([]);
  });

  test('mo-09: a recovery that failed or is in doubt is never behind a final state', () => {
    const open = seen.filter(({ pairs }) =>
      pairs.some((pair) => /\/(?:running|retrying|waiting|in_doubt|failed)$/.test(pair)),
    );
    expect(open.length).toBeGreaterThan(20);
    for (const { status } of open) expect(FINAL_STATES).not.toContain(status);
  });
});
