import { standingReport } from 'counterstep';
import { describe, expect, it } from 'vitest';
import type { LedgerId } from '../../lambdas/ports/ledger-store.ts';
import { viewOf } from '../../lambdas/service/view.ts';
import { absent, unknown } from '../../lambdas/tool/answers.ts';
import { fromHttp } from '../../lambdas/tool/classify-http.ts';
import { fromNetwork } from '../../lambdas/tool/classify-network.ts';
import { ambiguous, refused } from '../../lambdas/tool/failures.ts';
import { never } from '../../testing/virtual-time.ts';
import { FieldBench, type FieldStep, type Provider, typesOf } from './bench.ts';

const no = (): never => {
  throw refused('no', 'not today');
};

/** As `fetch` reports a line that was cut after the request had gone out. */
const reset = (): Error => {
  const cause = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
  return fromNetwork(new TypeError('fetch failed', { cause }), { writes: true });
};

function answered(status: number, headers = {}): never {
  const failure = fromHttp({ status, headers }, { writes: true });
  throw failure ?? new Error(`${status} is no failure`);
}

async function cancel(bench: FieldBench, id: LedgerId): Promise<void> {
  await bench.plane.insist((engine) =>
    engine.ledger.write(id, { kind: 'cancel', reason: 'given up' }, { actor: 'ada' }),
  );
}

describe('an undo that fails for good', () => {
  it.each([
    ['waits for it', undefined, []],
    ['does not depend on it', { after: { one: [] } }, ['one-1']],
  ] as const)(
    'pf-02: is shown until a person has acted, while the undo before it %s',
    async (_what, recovery, undone) => {
      const bench = new FieldBench(
        [
          { name: 'one' },
          {
            name: 'two',
            undo: () => {
              throw refused('locked', 'the account is closed');
            },
          },
          { name: 'three', behave: no },
        ],
        recovery === undefined ? {} : { recovery },
      );
      const ended = await bench.run();
      expect(ended).toMatchObject({
        state: 'needs_review',
        // What alarms count: see the runbook.
        review: 'recovery_failed',
        findings: [],
      });
      expect(bench.provider('one').undone).toEqual(undone);
      const state = bench.plane.state(ended.id);
      if (state === undefined) throw new Error('no ledger');
      const view = viewOf(state, bench.time.now());
      expect(view).toMatchObject({ state: 'needs_review', review: { steps: ['two'] } });
      expect(view.steps[1]?.compensation).toMatchObject({
        state: 'failed',
        failure: { code: 'locked', message: 'the account is closed' },
      });
      const report = standingReport(state);
      expect(report.clear).toBe(false);
      expect(report.steps[1]).toMatchObject({
        standing: 'stands',
        words: 'still stands: its undo failed (locked)',
        externalIds: { effect: 'two-1' },
      });
    },
  );

  it.each([401, 403])('pf-03: %i is said once, then a person looks', async (status) => {
    const bench = new FieldBench([
      { name: 'one', undo: () => answered(status) },
      { name: 'two', behave: no },
    ]);
    const ended = await bench.run();
    await bench.time.use(() => bench.time.run(() => false, bench.time.now() + 600_000));
    expect(bench.provider('one').undos).toHaveLength(1);
    expect(bench.ended(ended.id)).toMatchObject({
      state: 'needs_review',
      review: 'recovery_failed',
      findings: [],
    });
  });

  it('pf-03: what may pass is tried as often as allowed, with growing pauses', async () => {
    const at: number[] = [];
    const bench: FieldBench = new FieldBench([
      {
        name: 'one',
        maxAttempts: 5,
        undo: () => {
          at.push(bench.time.now());
          answered(429);
        },
      },
      { name: 'two', behave: no },
    ]);
    const ended = await bench.run();
    await bench.time.use(() => bench.time.run(() => false, bench.time.now() + 600_000));
    expect(at).toHaveLength(5);
    const gaps = at.slice(1).map((time, index) => time - (at[index] ?? 0));
    // Full pauses double from 100 ms, and at least half of each is kept.
    expect(gaps.map((gap, index) => gap >= (100 * 2 ** index) / 2)).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(bench.ended(ended.id)).toMatchObject({ state: 'needs_review', findings: [] });
  });
});

describe('a restart', () => {
  it('pf-05: takes up every saga that was under way, with nobody starting another', async () => {
    const bench: FieldBench = new FieldBench([
      { name: 'one' },
      { name: 'two', behave: (_call, commit, nth) => (nth <= 3 ? never() : commit()) },
      { name: 'three' },
    ]);
    const keys = ['a', 'b', 'c'];
    const ids = await bench.time.use(async () => {
      await bench.plane.up();
      const started = Promise.all(keys.map((key) => bench.plane.start(bench.saga, key, {})));
      await bench.time.run(
        () => bench.provider('two').calls.length === 3,
        bench.time.now() + 5_000,
      );
      bench.plane.kill();
      await bench.time.run(() => false, bench.time.now() + 60_000);
      return started;
    });
    expect(ids.map((id) => bench.ended(id).state)).toEqual(['completed', 'completed', 'completed']);
    expect(ids.flatMap((id) => bench.ended(id).findings)).toEqual([]);
    expect(bench.provider('three').effects).toHaveLength(3);
  });
});

describe('nothing to undo', () => {
  it('pf-06: is said once; no later sweep picks the saga up or writes a row', async () => {
    const bench = new FieldBench([{ name: 'one', behave: no }, { name: 'two' }]);
    const ended = await bench.run();
    expect(ended).toMatchObject({ state: 'compensated', findings: [] });
    const finals = ended.events.filter((event) => event.state === 'compensated');
    expect(finals.map((event) => event.type)).toEqual(['saga_compensated']);
    const granted: number[] = [];
    await bench.time.use(async () => {
      for (let nth = 0; nth < 10; nth += 1) {
        const swept = bench.plane.engine.sweep.run();
        await bench.time.run(() => false, bench.time.now() + 60_000);
        granted.push((await swept).granted);
      }
    });
    expect(granted).toEqual(Array.from({ length: 10 }, () => 0));
    expect(bench.ended(ended.id).events).toHaveLength(ended.events.length);
    const state = bench.plane.state(ended.id);
    if (state === undefined) throw new Error('no ledger');
    expect(standingReport(state)).toMatchObject({
      clear: true,
      summary: 'compensated: no effect stands',
    });
  });
});

describe('an effect that nobody confirmed', () => {
  const lost = (dedupe: 'key' | 'lookup', silentUntil: number): FieldStep => ({
    name: 'two',
    dedupe,
    behave: (_call, commit) => {
      commit();
      throw ambiguous('broken', 'it failed, or so it says');
    },
    ...(dedupe === 'key'
      ? {}
      : { answer: (_question, nth) => (nth <= silentUntil ? unknown() : undefined) }),
  });

  it('pf-08: is found out after a cancel, and undone before what came before it', async () => {
    const bench = new FieldBench([{ name: 'one' }, lost('lookup', 4)]);
    const ended = await bench.run(async (id) => {
      while (bench.provider('two').asked < 2) await bench.time.world.sleep(50);
      await cancel(bench, id);
    });
    const undos = ended.events.flatMap((event) =>
      event.type === 'step_claimed' && event.action === 'compensate' ? [event.step] : [],
    );
    expect(undos).toEqual(['two', 'one']);
    expect(bench.provider('two')).toMatchObject({ undone: ['two-1'], effects: [{ id: 'two-1' }] });
    expect(ended).toMatchObject({ state: 'compensated', findings: [] });
  });

  it('pf-08: holds for a person where the provider cannot be asked, with nothing undone on a guess', async () => {
    const bench = new FieldBench([{ name: 'one' }, lost('key', 0)]);
    const ended = await bench.run(async (id) => {
      while (bench.provider('two').calls.length < 2) await bench.time.world.sleep(50);
      await cancel(bench, id);
    });
    expect(ended).toMatchObject({ state: 'needs_review', review: 'unknown_outcome', findings: [] });
    expect(bench.provider('one').undos).toEqual([]);
    expect(bench.provider('two').undos).toEqual([]);
  });

  const asking = (lands: boolean, answer: FieldStep['answer']): FieldBench =>
    new FieldBench([
      { name: 'one' },
      {
        name: 'two',
        dedupe: 'lookup',
        pendingForMs: 60_000,
        behave: (_call, commit, nth) => {
          if (nth > 1) return commit();
          if (lands) commit();
          throw reset();
        },
        ...(answer === undefined ? {} : { answer }),
      },
      { name: 'three' },
    ]);

  it('pf-09: that the provider knows is kept, and the saga goes on', async () => {
    const bench = asking(true, undefined);
    const ended = await bench.run();
    expect(ended).toMatchObject({ state: 'completed', findings: [] });
    expect(bench.provider('two').calls).toHaveLength(1);
  });

  it('pf-09: that the provider does not know is tried again', async () => {
    const bench = asking(false, undefined);
    const ended = await bench.run();
    expect(ended).toMatchObject({ state: 'completed', findings: [] });
    expect(bench.provider('two')).toMatchObject({ effects: [{ id: 'two-1' }], undos: [] });
  });

  it('pf-09: about which no question gets an answer holds for a person: no refund on a guess', async () => {
    const bench = asking(true, () => {
      throw reset();
    });
    const ended = await bench.run();
    expect(ended).toMatchObject({ state: 'needs_review', review: 'unknown_outcome', findings: [] });
    expect(bench.provider('two').calls).toHaveLength(1);
    for (const name of ['one', 'two']) expect(bench.provider(name).undos).toEqual([]);
  });
});

describe('a run that dies as a whole', () => {
  it.each([
    ['is stopped', 'kill'],
    ['overruns every timeout', 'hang'],
    ['fails in a way of its own', 'throw'],
  ] as const)('pf-11: and %s loses nothing of what it had done', async (_what, end) => {
    const bench: FieldBench = new FieldBench([
      { name: 'one' },
      {
        name: 'two',
        dedupe: 'lookup',
        maxAttempts: 2,
        behave: () => {
          if (end === 'kill') bench.plane.kill();
          if (end === 'throw') throw new RangeError('Maximum call stack size exceeded');
          return never();
        },
      },
      { name: 'three' },
    ]);
    const ended = await bench.run();
    expect(ended).toMatchObject({ state: 'compensated', findings: [] });
    expect(bench.provider('one').undone).toEqual(['one-1']);
    expect(bench.plane.state(ended.id)?.halt).toMatchObject({
      reason: 'attempts_spent',
      step: 'two',
    });
  });
});

describe('branches side by side', () => {
  it('pf-12: one in flight when another fails is awaited, then undone once', async () => {
    const bench: FieldBench = new FieldBench([
      {
        name: 'reserve',
        after: [],
        timeoutMs: 10_000,
        behave: async () => {
          await bench.time.world.sleep(1_000);
          no();
        },
      },
      {
        name: 'charge',
        after: [],
        timeoutMs: 10_000,
        behave: async (_call, commit) => {
          await bench.time.world.sleep(3_000);
          return commit();
        },
      },
    ]);
    const ended = await bench.run();
    const types = typesOf(ended);
    expect(types.indexOf('recovery_planned')).toBeGreaterThan(types.indexOf('step_failed'));
    const { effects, undos, undone } = bench.provider('charge');
    expect([effects.length, undos.length, undone]).toEqual([1, 1, ['charge-1']]);
    expect(bench.provider('reserve').undos).toEqual([]);
    const committed = ended.events.find((event) => event.type === 'step_committed');
    const undo = ended.events.find(
      (event) => event.type === 'step_claimed' && event.action === 'compensate',
    );
    expect(committed?.seq).toBeLessThan(undo?.seq ?? 0);
    expect(ended).toMatchObject({ state: 'compensated', findings: [] });
  });
});

describe('an acknowledgement that is lost right after the commit', () => {
  it.each(['key', 'lookup'] as const)(
    'pf-14: makes no second credit, debit or count (%s)',
    async (dedupe) => {
      const step = (name: string): FieldStep => ({
        name,
        dedupe,
        behave: (_call, commit, nth) => {
          const done = commit();
          if (nth === 1) throw reset();
          return done;
        },
        undo: (_call, done, nth) => {
          done();
          if (nth === 1) throw reset();
        },
      });
      const names = ['credit', 'debit', 'count'];
      const bench = new FieldBench([...names.map(step), { name: 'last', behave: no }]);
      const ended = await bench.run();
      const made = names.map((name) => bench.provider(name));
      expect(made.map(({ effects }: Provider) => effects.length)).toEqual([1, 1, 1]);
      const keys = new Set(made.flatMap(({ calls, undos }) => [...calls, ...undos].map(keyOf)));
      // One key for each step and direction, however often it was sent.
      expect(keys.size).toBe(6);
      expect(made.map(({ undone }) => undone.length)).toEqual([1, 1, 1]);
      expect(ended).toMatchObject({ state: 'compensated', findings: [] });
    },
  );
});

function keyOf(call: { readonly idempotencyKey: string }): string {
  return call.idempotencyKey;
}

it.each([
  ['at once', (nth: number) => nth === 1],
  ['after it did not know', (nth: number) => nth === 2],
] as const)(
  'pf-09: "absent" %s, while the call may still land, is not believed',
  async (_when, early) => {
    const bench: FieldBench = new FieldBench([
      {
        name: 'one',
        dedupe: 'lookup',
        timeoutMs: 1_000,
        settleMs: 10_000,
        behave: (_call, commit, nth) => {
          if (nth > 1) return commit();
          bench.time.world.timer(5_000, () => void commit());
          return never();
        },
        answer: (_question, nth) => (early(nth) ? absent() : nth === 1 ? unknown() : undefined),
      },
    ]);
    const ended = await bench.run();
    expect(bench.provider('one')).toMatchObject({ effects: [{ id: 'one-1' }] });
    expect(bench.provider('one').calls).toHaveLength(1);
    expect(ended).toMatchObject({ state: 'completed', findings: [] });
  },
);
