import { compileSaga, skip, standingReport } from 'counterstep';
import { describe, expect, it } from 'vitest';
import { absent, unknown } from '../../lambdas/tool/answers.ts';
import { ambiguous, refused, retryable } from '../../lambdas/tool/failures.ts';
import { never } from '../../testing/virtual-time.ts';
import { type Ended, FieldBench, type FieldStep } from './bench.ts';

const no = (): never => {
  throw refused('no', 'not today');
};

/** Steps in the order in which this action of theirs was claimed. */
function claimsOf(ended: Ended, action: string): string[] {
  return ended.events.flatMap((event) =>
    event.type === 'step_claimed' && event.action === action ? [event.step] : [],
  );
}

describe('the order of undoing', () => {
  /** Undos that take their time, and a note of when each began and ended. */
  function slow(bench: () => FieldBench, notes: string[]): (name: string, ms: number) => FieldStep {
    return (name, ms) => ({
      name,
      timeoutMs: 10_000,
      undo: async (_call, done) => {
        notes.push(`${name} begins`);
        await bench().time.world.sleep(ms);
        done();
        notes.push(`${name} ends`);
      },
    });
  }

  it('co-01: an undo ends before the one ordered after it begins, however long it takes', async () => {
    const notes: string[] = [];
    const step = slow(() => bench, notes);
    const bench: FieldBench = new FieldBench([
      step('a', 0),
      step('b', 1_000),
      step('c', 5_000),
      { name: 'd', behave: no },
    ]);
    const ended = await bench.run();
    expect(notes).toEqual(['c', 'b', 'a'].flatMap((name) => [`${name} begins`, `${name} ends`]));
    expect(ended).toMatchObject({ state: 'compensated', findings: [] });
  });

  it('co-01: a declared order overrides the reverse one; what is declared independent runs beside it', async () => {
    const notes: string[] = [];
    const step = slow(() => bench, notes);
    const bench: FieldBench = new FieldBench(
      [step('courier', 2_000), step('stock', 0), step('audit', 5_000), { name: 'd', behave: no }],
      // Goods are free only once nobody comes to collect them; the audit waits for nothing.
      { recovery: { after: { courier: [], stock: ['courier'], audit: [] } } },
    );
    const ended = await bench.run();
    const at = (note: string): number => notes.indexOf(note);
    expect(at('stock begins')).toBeGreaterThan(at('courier ends'));
    expect(at('audit begins')).toBeLessThan(at('courier ends'));
    expect(ended).toMatchObject({ state: 'compensated', findings: [] });
  });
});

describe('a call whose answer was lost', () => {
  it.each([
    ['committed', true, ['two', 'one']],
    ['absent', false, ['one']],
  ] as const)(
    'co-03: is in the plan before anybody knows, and undone if it %s',
    async (_what, lands, undone) => {
      let asked = false;
      let known = false;
      const bench = new FieldBench([
        { name: 'one' },
        {
          name: 'two',
          dedupe: 'lookup',
          behave: (_call, commit) => {
            // The intent stands in the ledger before the call is made.
            asked = bench.plane
              .events(id())
              .some((event) => event.type === 'step_claimed' && event.step === 'two');
            if (lands) commit();
            throw ambiguous('lost', 'no reply');
          },
          answer: () => (known ? undefined : unknown()),
        },
      ]);
      const id = (): { tenant: string; sagaId: string } => {
        const [key = ''] = bench.plane.stores.held.ledgers.keys();
        const [tenant = '', sagaId = ''] = key.split('/');
        return { tenant, sagaId };
      };
      const ended = await bench.run(async (saga) => {
        await bench.time.world.sleep(20_000);
        await bench.plane.insist((engine) =>
          engine.ledger.write(saga, { kind: 'cancel', reason: 'given up' }, { actor: 'ada' }),
        );
        await bench.time.world.sleep(1_000);
        known = true;
      });
      expect(asked).toBe(true);
      const plan = ended.events.flatMap((event) =>
        event.type === 'recovery_planned' ? event.plan.entries : [],
      );
      expect(plan[0]).toMatchObject({ step: 'two', conditional: true });
      expect(claimsOf(ended, 'compensate')).toEqual(undone);
      expect(ended).toMatchObject({ state: 'compensated', findings: [] });
    },
  );

  it('co-04: is not undone before it can no longer land; one that lands late is undone then', async () => {
    const started = Date.UTC(2026, 0, 5);
    const bench: FieldBench = new FieldBench([
      {
        name: 'pay',
        dedupe: 'lookup',
        timeoutMs: 5_000,
        settleMs: 20_000,
        behave: (_call, commit) => {
          bench.time.world.timer(20_000, () => void commit());
          return never();
        },
      },
    ]);
    const ended = await bench.run(async (id) => {
      await bench.time.world.sleep(6_000);
      await bench.plane.insist((engine) =>
        engine.ledger.write(id, { kind: 'cancel', reason: 'too slow' }, { actor: 'ada' }),
      );
    });
    const { effects, undone, undos } = bench.provider('pay');
    expect(effects).toHaveLength(1);
    expect(undone).toEqual(['pay-1']);
    expect(undos).toHaveLength(1);
    const undo = ended.events.find(
      (event) => event.type === 'step_claimed' && event.action === 'compensate',
    );
    expect((undo?.at ?? 0) - started).toBeGreaterThanOrEqual(20_000);
    expect(ended).toMatchObject({ state: 'compensated', findings: [] });
  });
});

describe('a fan-out', () => {
  /** One step an item, generated from a list. */
  function items(count: number, failing: number): FieldStep[] {
    return Array.from({ length: count }, (_, index): FieldStep => {
      const name = `item-${index + 1}`;
      const fails: Partial<FieldStep> =
        index + 1 !== failing
          ? {}
          : {
              behave: (_call, _commit, nth) => {
                throw nth === 1 ? ambiguous('lost', 'no reply') : refused('full', 'no room');
              },
            };
      return { name, dedupe: 'lookup', ...fails };
    });
  }
  const undone = (bench: FieldBench): string[] =>
    [...bench.providers].flatMap(([name, { undos }]) => undos.map(() => name));

  it('co-07: undoes each item that committed, once, finds out the one in doubt, leaves the rest', async () => {
    const bench = new FieldBench(items(5, 4));
    const ended = await bench.run();
    expect(claimsOf(ended, 'compensate')).toEqual(['item-3', 'item-2', 'item-1']);
    expect(undone(bench)).toEqual(['item-1', 'item-2', 'item-3']);
    expect(bench.provider('item-4').asked).toBeGreaterThan(0);
    expect(bench.provider('item-5').calls).toEqual([]);
    expect(ended).toMatchObject({ state: 'compensated', findings: [] });
  });

  it('co-07: of 200 items goes on where it was, in both directions', async () => {
    const steps = items(200, 151);
    const dies = (name: string, undo: boolean): void => {
      const at = steps.findIndex((step) => step.name === name);
      const once = (nth: number): Promise<never> | undefined => {
        if (nth > 1) return undefined;
        bench.plane.kill();
        return never();
      };
      steps[at] = {
        name,
        dedupe: 'lookup',
        ...(undo
          ? { undo: (_call, done, nth) => once(nth) ?? done() }
          : { behave: (_call, commit, nth) => once(nth) ?? commit() }),
      };
    };
    dies('item-120', false);
    dies('item-60', true);
    const bench: FieldBench = new FieldBench(steps);
    const ended = await bench.run();
    expect(bench.plane.generations).toBe(3);
    for (let nth = 1; nth <= 200; nth += 1) {
      const { calls, effects, undone: back } = bench.provider(`item-${nth}`);
      const made = nth <= 150 ? 1 : 0;
      expect([nth, effects.length, back.length]).toEqual([nth, made, made]);
      if (nth !== 120 && nth <= 150) expect(calls).toHaveLength(1);
      if (nth > 151) expect(calls).toEqual([]);
    }
    expect(ended).toMatchObject({ state: 'compensated', findings: [] });
  }, 60_000);
});

describe('a condition on an undo', () => {
  it('co-09: an undo that is not needed is skipped, and the ledger says why', async () => {
    const bench = new FieldBench([
      { name: 'hold' },
      { name: 'charge', effect: 'compensable', undoFrom: () => skip('the amount is 0') },
      { name: 'ship', behave: no },
    ]);
    const ended = await bench.run();
    expect(bench.provider('charge')).toMatchObject({ effects: [{ id: 'charge-1' }], undos: [] });
    expect(bench.provider('hold').undone).toEqual(['hold-1']);
    const commit = ended.events.find(
      (event) => event.type === 'step_committed' && event.step === 'charge',
    );
    expect(commit).toMatchObject({ undo: { kind: 'skipped', why: 'the amount is 0' } });
    const planned = ended.events.find((event) => event.type === 'recovery_planned');
    expect(planned?.plan.entries).toMatchObject([
      { step: 'charge', action: 'none', why: 'the amount is 0' },
      { step: 'hold', action: 'compensate' },
    ]);
    const state = bench.plane.state(ended.id);
    if (state === undefined) throw new Error('no ledger');
    expect(standingReport(state).steps[1]).toMatchObject({
      standing: 'kept',
      words: 'stays, nothing to undo: the amount is 0',
    });
    expect(ended).toMatchObject({ state: 'compensated', findings: [] });
  });

  it('co-09: the same step is undone where the condition holds', async () => {
    const bench = new FieldBench([
      { name: 'charge', effect: 'compensable', undoFrom: () => undefined },
      { name: 'ship', behave: no },
    ]);
    const ended = await bench.run();
    expect(bench.provider('charge').undone).toEqual(['charge-1']);
    expect(ended).toMatchObject({ state: 'compensated', findings: [] });
  });
});

describe('a deadline', () => {
  it('co-10: stops going forward, finds out, undoes, and only then is anything final', async () => {
    const bench: FieldBench = new FieldBench(
      [
        { name: 'one' },
        {
          name: 'two',
          dedupe: 'lookup',
          behave: () => {
            throw ambiguous('lost', 'no reply');
          },
          answer: () => (bench.time.now() - Date.UTC(2026, 0, 5) < 20_000 ? unknown() : absent()),
        },
        { name: 'three' },
      ],
      { deadlineMs: 5_000 },
    );
    const ended = await bench.run();
    const halted = ended.events.find((event) => event.type === 'saga_halted');
    expect(halted).toMatchObject({ reason: 'deadline_passed' });
    const after = ended.events.filter(({ seq }) => seq >= (halted?.seq ?? 0));
    expect(after.flatMap((event) => (event.type === 'step_claimed' ? [event.action] : []))).toEqual(
      ['compensate'],
    );
    expect(bench.provider('one').undone).toEqual(['one-1']);
    expect(bench.provider('three').calls).toEqual([]);
    expect(after.slice(0, -1).map((event) => event.state)).not.toContain('compensated');
    expect(ended).toMatchObject({ state: 'compensated', findings: [] });
  });
});

describe('a cancel', () => {
  it('co-12: stops going forward and nothing else: a second one does not stop the undoing', async () => {
    const bench: FieldBench = new FieldBench([
      {
        name: 'one',
        timeoutMs: 10_000,
        undo: async (_call, done) => {
          await bench.time.world.sleep(5_000);
          done();
        },
      },
      {
        name: 'two',
        timeoutMs: 10_000,
        behave: async (_call, commit) => {
          await bench.time.world.sleep(3_000);
          return commit();
        },
      },
      { name: 'three' },
    ]);
    const verdicts: unknown[] = [];
    const cancel = async (
      id: { tenant: string; sagaId: string },
      reason: string,
    ): Promise<void> => {
      const { verdict } = await bench.plane.insist((engine) =>
        engine.ledger.write(id, { kind: 'cancel', reason }, { actor: 'ada' }),
      );
      verdicts.push(verdict.kind);
    };
    const ended = await bench.run(async (id) => {
      await bench.time.world.sleep(1_000);
      await cancel(id, 'a mistake');
      while (bench.provider('one').undos.length === 0) await bench.time.world.sleep(100);
      await cancel(id, 'stop everything');
    });
    expect(verdicts).toEqual(['append', 'already']);
    expect(bench.provider('two').undone).toEqual(['two-1']);
    expect(bench.provider('one').undone).toEqual(['one-1']);
    expect(bench.provider('three').calls).toEqual([]);
    expect(ended).toMatchObject({ state: 'compensated', findings: [] });
    expect(bench.plane.state(ended.id)?.halt).toMatchObject({ reason: 'cancelled' });
    expect(ended.events.filter((event) => event.type === 'cancel_requested')).toMatchObject([
      { actor: 'ada', reason: 'a mistake' },
    ]);
  });
});

describe('an execution that is stopped from outside', () => {
  it.each([
    ['with its process', 'restart'],
    ['in the middle of a call that never returns', 'hang'],
  ] as const)('co-13: %s is noticed, and its saga goes on to its end', async (_what, mode) => {
    let stopped = false;
    const bench: FieldBench = new FieldBench(
      [{ name: 'one' }, { name: 'two' }, { name: 'three' }, { name: 'four', behave: no }],
      {
        // The claim of step 3 stands, and nothing comes after it.
        onStoreCall: ({ store, operation, phase, args }) => {
          const what = JSON.stringify(args);
          const claim = what.includes('step_claimed') && what.includes('three');
          if (stopped || store !== 'ledger' || operation !== 'append' || !claim) return undefined;
          if (phase === 'before') return undefined;
          stopped = true;
          return mode;
        },
      },
    );
    const ended = await bench.run();
    expect(stopped).toBe(true);
    expect(ended).toMatchObject({ state: 'compensated', findings: [] });
    for (const name of ['one', 'two', 'three']) {
      expect(bench.provider(name).undone).toEqual([`${name}-1`]);
    }
  });

  it('co-13: cannot lose its saga to a timeout of the whole run, since there is none', () => {
    const bench = new FieldBench([{ name: 'one' }, { name: 'two' }]);
    const functions = { ledger: 'ledger', tool: (name: string) => name };
    expect(compileSaga(bench.saga, { functions })).not.toHaveProperty('TimeoutSeconds');
  });
});

describe('past the point of no return', () => {
  const steps = (behave: FieldStep['behave']): FieldStep[] => [
    { name: 'reserve' },
    { name: 'charge' },
    { name: 'mail', effect: 'irreversible' },
    { name: 'courier', effect: 'irreversible', ...(behave === undefined ? {} : { behave }) },
  ];

  it('co-15: a step that does not finish is tried on, and then a person is asked: nothing is undone', async () => {
    const bench = new FieldBench(
      steps(() => {
        throw retryable('closed', 'come back later');
      }),
    );
    const ended = await bench.run(undefined, 30 * 86_400_000);
    expect(ended).toMatchObject({ state: 'needs_review', review: 'after_pivot', findings: [] });
    expect(bench.provider('courier').calls.length).toBeGreaterThan(10);
    expect(claimsOf(ended, 'compensate')).toEqual([]);
  });

  it('co-15: a step that works again after a long while completes the saga', async () => {
    const bench = new FieldBench(
      steps((_call, commit, nth) => {
        if (nth > 30) return commit();
        throw retryable('closed', 'come back later');
      }),
    );
    const ended = await bench.run(undefined, 30 * 86_400_000);
    expect(ended).toMatchObject({ state: 'completed', findings: [] });
    expect(bench.provider('courier').calls).toHaveLength(31);
  });

  it('co-15: a step that is refused makes an incident: nothing is undone', async () => {
    const bench = new FieldBench(steps(no));
    const ended = await bench.run();
    expect(ended).toMatchObject({ state: 'incident', findings: [] });
    expect(claimsOf(ended, 'compensate')).toEqual([]);
  });

  it('co-15: a crash right after it goes on forward', async () => {
    const all = steps(undefined);
    all[2] = {
      name: 'mail',
      effect: 'irreversible',
      behave: (_call, commit, nth) => {
        const sent = commit();
        if (nth > 1) return sent;
        bench.plane.kill();
        return never();
      },
    };
    const bench: FieldBench = new FieldBench(all);
    const ended = await bench.run();
    expect(ended).toMatchObject({ state: 'completed', findings: [] });
    expect(bench.provider('mail').effects).toHaveLength(1);
    expect(claimsOf(ended, 'compensate')).toEqual([]);
  });
});
