import { describe, expect, it } from 'vitest';
import { ambiguous } from '../../lambdas/tool/failures.ts';
import { never } from '../../testing/virtual-time.ts';
import { FieldBench, typesOf } from './bench.ts';

describe('a killed attempt', () => {
  it.each([
    ['before its effect', false],
    ['after its effect', true],
  ])(
    'ri-01: killed %s, its key is free again when its deadline has passed',
    async (_when, lands) => {
      const bench: FieldBench = new FieldBench([
        { name: 'one' },
        {
          name: 'two',
          dedupe: 'lookup',
          timeoutMs: 10_000,
          behave: (_call, commit, nth) => {
            if (nth > 1) return commit();
            if (lands) commit();
            bench.plane.kill();
            return never();
          },
        },
        { name: 'three' },
      ]);
      let early: unknown;
      const ended = await bench.run(async (id) => {
        await bench.time.world.sleep(5_000);
        const { verdict } = await bench.plane.insist((engine) =>
          engine.ledger.write(id, { kind: 'resume' }, { actor: 'ada' }),
        );
        early = verdict;
      });
      const claim = ended.events.find(
        (event) => event.type === 'step_claimed' && event.step === 'two',
      );
      expect(early).toMatchObject({
        kind: 'rejected',
        rejection: { reason: 'conflict', until: (claim?.at ?? 0) + 13_000 },
      });
      expect(ended).toMatchObject({ state: 'completed', findings: [] });
      expect(bench.provider('two')).toMatchObject({ asked: 1, effects: [{ id: 'two-1' }] });
      expect(bench.provider('two').calls).toHaveLength(lands ? 1 : 2);
      // Minutes, where a key's life would be a day.
      expect((ended.events.at(-1)?.at ?? 0) - (claim?.at ?? 0)).toBeLessThan(60_000);
    },
  );

  it.each([
    ['key', 'completed'],
    ['lookup', 'completed'],
    ['none', 'needs_review'],
  ] as const)(
    'ri-02: an effect that landed before the kill is not made again (%s)',
    async (dedupe, state) => {
      const bench: FieldBench = new FieldBench([
        {
          name: 'withdraw',
          dedupe,
          timeoutMs: 10_000,
          behave: async (_call, commit, nth) => {
            if (nth > 1) return commit();
            await bench.time.world.sleep(2_000);
            commit();
            await bench.time.world.sleep(8_000);
            bench.plane.kill();
            return never();
          },
        },
      ]);
      const ended = await bench.run();
      expect(ended).toMatchObject({ state, findings: [] });
      expect(bench.provider('withdraw').effects).toHaveLength(1);
      if (dedupe === 'none') expect(ended.review).toBe('unknown_outcome');
    },
  );

  it('ri-16: an attempt that always overruns is made as often as allowed, then ends', async () => {
    const bench = new FieldBench([
      { name: 'one' },
      { name: 'slow', dedupe: 'lookup', maxAttempts: 3, behave: () => never() },
    ]);
    const ended = await bench.run();
    await bench.time.use(() => bench.time.run(() => false, bench.time.now() + 3_600_000));
    expect(bench.provider('slow').calls).toHaveLength(3);
    expect(bench.ended(ended.id)).toMatchObject({ state: 'compensated', findings: [] });
    const claims = ended.events.flatMap((event) =>
      event.type === 'step_claimed' && event.step === 'slow' ? [event.attempt] : [],
    );
    expect(claims).toEqual([1, 2, 3]);
    expect(ended.events.find((event) => event.type === 'saga_halted')).toMatchObject({
      reason: 'attempts_spent',
      step: 'slow',
    });
  });

  it('ri-16: one that dies with its process every time is counted as well', async () => {
    const bench: FieldBench = new FieldBench([
      {
        name: 'fatal',
        dedupe: 'lookup',
        maxAttempts: 3,
        behave: () => {
          bench.plane.kill();
          return never();
        },
      },
    ]);
    const ended = await bench.run();
    expect(bench.provider('fatal').calls).toHaveLength(3);
    expect(ended).toMatchObject({ state: 'compensated', findings: [] });
  });
});

describe('a store that answers with an error', () => {
  for (const [what, phase] of [
    ['although the row stands', 'after'],
    ['and the row does not stand', 'before'],
  ] as const) {
    it(`ri-04: ${what}: one row for each number, and the saga goes on once`, async () => {
      const undisturbed = new FieldBench([{ name: 'one' }, { name: 'two' }]);
      const expected = typesOf(await undisturbed.run());
      for (let append = 1; append <= expected.length; append += 1) {
        let seen = 0;
        const bench = new FieldBench([{ name: 'one' }, { name: 'two' }], {
          onStoreCall: (call) => {
            if (call.operation !== 'append' || call.phase !== phase) return undefined;
            seen += 1;
            return seen === append ? 'error' : undefined;
          },
        });
        const ended = await bench.run();
        expect(typesOf(ended)).toEqual(expected);
        expect(ended.events.map((event) => event.seq)).toEqual(expected.map((_type, at) => at + 1));
        expect(ended).toMatchObject({ state: 'completed', findings: [] });
        expect(bench.provider('two').calls).toHaveLength(1);
      }
    });
  }
});

describe('a retry', () => {
  it('ri-13: sent while the first invocation still runs finds a live claim, and nothing is undone', async () => {
    const bench: FieldBench = new FieldBench([
      {
        name: 'slow',
        timeoutMs: 10_000,
        behave: async (_call, commit) => {
          await bench.time.world.sleep(5_000);
          return commit();
        },
      },
      { name: 'next' },
    ]);
    let twin: unknown;
    const ended = await bench.run(async (id) => {
      await bench.time.world.sleep(3_000);
      const { machines, ledger } = bench.plane.engine;
      const machine = machines.machineOf(bench.saga);
      // The platform thinks the first one is over, and runs the same drive again.
      await machines.run({ ...id, epoch: 1, machine }).catch(() => {});
      twin = bench.plane.events(id).at(-1);
      await ledger.write(id, { kind: 'cancel', reason: 'changed my mind' }, { actor: 'ada' });
      await bench.time.world.sleep(1_000);
      expect(bench.provider('slow').undone).toEqual([]);
    });
    expect(twin).toMatchObject({ type: 'drive_parked', reason: 'lease' });
    expect(bench.provider('slow').calls).toHaveLength(1);
    expect(bench.provider('slow')).toMatchObject({
      effects: [{ id: 'slow-1' }],
      undone: ['slow-1'],
    });
    expect(ended).toMatchObject({ state: 'compensated', findings: [] });
  });

  it('ri-23: of a parallel block repeats no branch that had committed', async () => {
    const bench = new FieldBench([
      { name: 'charge', after: [] },
      {
        name: 'reserve',
        after: [],
        behave: (_call, commit, nth) => {
          if (nth === 1) throw ambiguous('connection_lost', 'lost');
          return commit();
        },
      },
      { name: 'ship', after: ['charge', 'reserve'] },
    ]);
    const ended = await bench.run(async (id) => {
      // The whole block again, as a retry of the block would.
      await bench.time.world.sleep(10_000);
      const { machines } = bench.plane.engine;
      const machine = machines.machineOf(bench.saga);
      await machines.run({ ...id, epoch: 1, machine }).catch(() => {});
    });
    expect(bench.provider('charge').calls).toHaveLength(1);
    expect(bench.provider('reserve').effects).toHaveLength(1);
    expect(ended).toMatchObject({ state: 'completed', findings: [] });
  });

  it('ri-23: a drive that comes again replays the branch that had committed', async () => {
    let deny = true;
    const bench: FieldBench = new FieldBench([
      { name: 'charge', after: [] },
      {
        name: 'reserve',
        after: [],
        behave: (_call, commit) => {
          if (!deny) return commit();
          deny = false;
          bench.plane.kill();
          return never();
        },
      },
    ]);
    const ended = await bench.run();
    expect(bench.provider('charge').calls).toHaveLength(1);
    expect(bench.provider('charge').effects).toHaveLength(1);
    expect(bench.provider('reserve').effects).toHaveLength(1);
    expect(ended).toMatchObject({ state: 'completed', findings: [] });
  });
});

describe('keys', () => {
  it('ri-26: of two uses of one tool with equal input differ, as do those of three in a row', async () => {
    const bench = new FieldBench([
      { name: 'item1' },
      { name: 'item2', toolOf: 'item1' },
      { name: 'item3', toolOf: 'item1' },
    ]);
    const ended = await bench.run();
    expect(ended.state).toBe('completed');
    const { calls, effects } = bench.provider('item1');
    expect(effects).toHaveLength(3);
    expect(new Set(calls.map((call) => call.idempotencyKey)).size).toBe(3);
    expect(new Set(calls.map((call) => call.correlationId)).size).toBe(3);
  });

  it('ri-26: of two sagas started in the same millisecond differ', async () => {
    const bench = new FieldBench([{ name: 'charge' }]);
    const ended = await bench.run(async () => {
      await bench.plane.start(bench.saga, 'key-2', {});
    });
    await bench.time.use(() => bench.time.run(() => false, bench.time.now() + 1_000));
    const { calls, effects } = bench.provider('charge');
    expect(effects).toHaveLength(2);
    expect(new Set(calls.map((call) => call.sagaId)).size).toBe(2);
    expect(ended.events[0]?.at).toBe(
      bench.plane.events({ tenant: 'acme', sagaId: calls[1]?.sagaId ?? '' })[0]?.at,
    );
  });
});

describe('a large result', () => {
  it.each([
    ['300 KB', 300 * 1024, 'completed'],
    ['500 KB', 500 * 1024, 'compensated'],
    ['6.1 MB', 6_100 * 1024, 'compensated'],
  ] as const)('ri-10: of %s never loses the commit', async (_size, bytes, state) => {
    let failures = 0;
    const bench = new FieldBench(
      [
        { name: 'one' },
        {
          name: 'big',
          behave: (_call, commit) => ({ ...commit(), note: 'x'.repeat(bytes) }),
        },
      ],
      {
        // The first attempt to keep it fails as well.
        onStoreCall: (call) => {
          if (call.operation !== 'put' || call.phase !== 'before' || failures > 0) return undefined;
          failures += 1;
          return 'error';
        },
      },
    );
    const ended = await bench.run();
    const { effects, undone } = bench.provider('big');
    expect(effects).toHaveLength(1);
    expect(ended).toMatchObject({ state, findings: [] });
    expect(undone).toEqual(state === 'completed' ? [] : ['big-1']);
    const commit = ended.events.find(
      (event) => event.type === 'step_committed' && event.step === 'big',
    );
    expect(commit).toMatchObject(
      state === 'completed'
        ? { result: { kind: 'ref' } }
        : {
            result: { kind: 'dropped', bytes: expect.any(Number) },
            defect: {
              code: 'result_too_large',
              message: expect.stringContaining('return a reference'),
            },
          },
    );
    for (const body of ended.bodies) expect(body.length).toBeLessThan(4 * 1024);
  });

  it("ri-10: with an id as large as the answer itself is known by the id's hash", async () => {
    const bench = new FieldBench([
      {
        name: 'big',
        behave: (_call, commit) => {
          const { id } = commit();
          return { id: id + 'x'.repeat(500 * 1024) };
        },
      },
    ]);
    const ended = await bench.run();
    expect(bench.provider('big').calls).toHaveLength(1);
    expect(ended.events.find((event) => event.type === 'step_committed')).toMatchObject({
      externalIds: { effect: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) },
      undo: { kind: 'unavailable' },
    });
    expect(ended).toMatchObject({
      state: 'needs_review',
      review: 'undo_unavailable',
      findings: [],
    });
  });
});
