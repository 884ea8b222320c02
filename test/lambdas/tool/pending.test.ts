import { standingReport } from 'counterstep';
import { describe, expect, it } from 'vitest';
import type { LedgerId } from '../../../lambdas/ports/ledger-store.ts';
import { type Answer, absent, committed, pending } from '../../../lambdas/tool/answers.ts';
import { refused } from '../../../lambdas/tool/failures.ts';
import type { Question } from '../../../lambdas/tool/implementation.ts';
import { FieldBench, type FieldStep, typesOf } from '../../field/bench.ts';

const STARTED = Date.UTC(2026, 0, 5);
const CHARGE = { externalIds: { effect: 'charge-1' } };
const REFUND = { externalIds: { refund: 'RF-1' } };

/** A provider that takes a charge and settles it after so many milliseconds, one way or the other. */
function settling(
  bench: () => FieldBench,
  afterMs: number,
  settled: () => Answer<unknown>,
  more: Partial<FieldStep> = {},
): FieldStep {
  return {
    name: 'charge',
    effect: 'compensable',
    behave: (_call, commit) => {
      commit();
      return pending(CHARGE);
    },
    answer: ({ action }) => {
      if (action !== 'forward') return undefined;
      return bench().time.now() - STARTED < afterMs ? pending(CHARGE) : settled();
    },
    ...more,
  };
}

const settledWell = (): Answer<unknown> => committed({ id: 'charge-1' }, CHARGE);

async function cancel(bench: FieldBench, id: LedgerId): Promise<void> {
  await bench.plane.insist((engine) =>
    engine.ledger.write(id, { kind: 'cancel', reason: 'changed our mind' }, { actor: 'ada' }),
  );
}

function standingOf(bench: FieldBench, id: LedgerId, step: string): unknown {
  const state = bench.plane.state(id);
  if (state === undefined) throw new Error('no ledger');
  return standingReport(state).steps.find((each) => each.step === step)?.standing;
}

describe('a charge that has not settled', () => {
  it('is waited for and asked about, never sent again', async () => {
    const bench: FieldBench = new FieldBench([
      settling(() => bench, 60_000, settledWell),
      { name: 'ship' },
    ]);
    const seen: unknown[] = [];
    const ended = await bench.run(async (id) => {
      await bench.time.world.sleep(30_000);
      seen.push(bench.plane.state(id)?.status, standingOf(bench, id, 'charge'));
      seen.push(bench.provider('ship').calls.length);
    });
    expect(seen).toEqual(['waiting', 'awaiting', 0]);
    expect(bench.provider('charge').calls).toHaveLength(1);
    expect(bench.provider('charge').asked).toBeGreaterThan(1);
    expect(ended).toMatchObject({ state: 'completed', findings: [] });
  });

  it('is not undone while the provider has not said what became of it', async () => {
    const bench: FieldBench = new FieldBench([
      { name: 'hold' },
      settling(() => bench, 60_000, settledWell),
    ]);
    const seen: unknown[] = [];
    const ended = await bench.run(async (id) => {
      await bench.time.world.sleep(5_000);
      await cancel(bench, id);
      await bench.time.world.sleep(40_000);
      seen.push(bench.provider('charge').undos.length, bench.provider('hold').undos.length);
      seen.push(bench.plane.state(id)?.status, standingOf(bench, id, 'charge'));
    });
    expect(seen).toEqual([0, 0, 'compensating', 'awaiting']);
    expect(bench.provider('charge')).toMatchObject({ undone: ['charge-1'] });
    expect(bench.provider('charge').undos).toHaveLength(1);
    expect(bench.provider('charge').calls).toHaveLength(1);
    expect(bench.provider('hold').undone).toEqual(['hold-1']);
    expect(ended).toMatchObject({ state: 'compensated', findings: [] });
  });

  it('and is declined in the end needs no undo', async () => {
    const bench: FieldBench = new FieldBench([
      { name: 'hold' },
      settling(() => bench, 60_000, absent, { behave: () => pending(CHARGE) }),
    ]);
    const ended = await bench.run(async (id) => {
      await bench.time.world.sleep(5_000);
      await cancel(bench, id);
    });
    expect(bench.provider('charge').undos).toEqual([]);
    expect(bench.provider('hold').undone).toEqual(['hold-1']);
    expect(ended).toMatchObject({ state: 'compensated', findings: [] });
  });

  it('for longer than anybody waits is a question for a person', async () => {
    const bench: FieldBench = new FieldBench([
      settling(() => bench, Number.POSITIVE_INFINITY, settledWell, { pendingForMs: 600_000 }),
    ]);
    const ended = await bench.run(undefined, 86_400_000);
    expect(ended).toMatchObject({
      state: 'needs_review',
      review: 'pending_too_long',
      findings: [],
    });
    expect(bench.provider('charge').calls).toHaveLength(1);
  });
});

describe('an undo that has not settled', () => {
  const no = (): never => {
    throw refused('no', 'not today');
  };

  /** The refund is taken, and settles after so long; `settled` says how. */
  function refunding(
    bench: () => FieldBench,
    afterMs: number,
    settled: (question: Question<unknown>, nth: number) => Answer<unknown>,
    more: Partial<FieldStep> = {},
  ): FieldBench {
    return new FieldBench([
      { name: 'hold' },
      {
        name: 'charge',
        effect: 'compensable',
        undo: (_call, done) => {
          done();
          return pending(REFUND);
        },
        answer: (question, nth) => {
          if (question.action === 'forward') return undefined;
          const early = bench().time.now() - STARTED < afterMs;
          return early ? pending(REFUND) : settled(question, nth);
        },
        ...more,
      },
      { name: 'ship', behave: no },
    ]);
  }

  it('is waited for: nothing is called compensated before, and what follows it waits', async () => {
    const bench: FieldBench = refunding(
      () => bench,
      60_000,
      () => committed(undefined, REFUND),
    );
    const seen: unknown[] = [];
    const ended = await bench.run(async (id) => {
      await bench.time.world.sleep(30_000);
      seen.push(bench.plane.state(id)?.status, standingOf(bench, id, 'charge'));
      seen.push(bench.provider('hold').undos.length);
    });
    expect(seen).toEqual(['compensating', 'awaiting', 0]);
    expect(bench.provider('charge').undos).toHaveLength(1);
    expect(bench.provider('hold').undone).toEqual(['hold-1']);
    expect(standingOf(bench, ended.id, 'charge')).toBe('reversed');
    expect(ended).toMatchObject({ state: 'compensated', findings: [] });
    const done = ended.events.find(
      (event) => event.type === 'step_committed' && event.action === 'compensate',
    );
    expect(done).toMatchObject({ via: 'reconcile', externalIds: REFUND.externalIds });
  });

  it('and is turned down is made again, as another undo under another key', async () => {
    let down = false;
    const bench: FieldBench = refunding(
      () => bench,
      60_000,
      () => {
        if (down) return committed(undefined, REFUND);
        down = true;
        return absent();
      },
    );
    const ended = await bench.run();
    const keys = bench.provider('charge').undos.map((call) => call.idempotencyKey);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(2);
    expect(ended).toMatchObject({ state: 'compensated', findings: [] });
  });

  it('for longer than anybody waits is a question for a person: it is not made twice', async () => {
    const bench: FieldBench = refunding(
      () => bench,
      Number.POSITIVE_INFINITY,
      () => absent(),
      { pendingForMs: 600_000 },
    );
    const ended = await bench.run(undefined, 86_400_000);
    expect(ended).toMatchObject({
      state: 'needs_review',
      review: 'pending_too_long',
      findings: [],
    });
    expect(bench.provider('charge').undos).toHaveLength(1);
    expect(bench.provider('hold').undos).toEqual([]);
    expect(typesOf(ended)).not.toContain('saga_compensated');
  });
});
