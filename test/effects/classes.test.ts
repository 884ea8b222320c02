import { afterEach, describe, expect, test } from 'vitest';
import { committed } from '../../lambdas/tool/answers.ts';
import { refused, ToolFailure } from '../../lambdas/tool/failures.ts';
import { EFFECT_CLASSES } from '../../statemachines/language/effects.ts';
import { EffectBench, type EffectStep } from './bench.ts';

/** Each effect class of the design's section 3, over the real engine. */

let bench: EffectBench | undefined;
afterEach(() => bench?.close());

async function open(...args: Parameters<typeof EffectBench.open>): Promise<EffectBench> {
  bench = await EffectBench.open(...args);
  return bench;
}

const no = (): never => {
  throw refused('no', 'not today');
};
const refusing: EffectStep = { name: 'last', forward: no };

describe('read_only', () => {
  test('has nothing to undo, by construction', async () => {
    const world = await open([{ name: 'look', effect: 'read_only' }, refusing]);
    const saga = await world.run();
    expect(saga).toMatchObject({
      state: 'compensated',
      steps: [{ compensation: { state: 'not_required', attempts: 0 } }, {}],
    });
    expect(world.taken()).toEqual(['look', 'last']);
    expect(await world.standing(saga.id)).toMatchObject({
      clear: true,
      steps: [{ standing: 'nothing', words: 'only read' }, {}],
    });
    expect(world.findings(saga.id)).toEqual([]);
  });
});

describe('reversible and compensable', () => {
  test('are undone with the arguments that stand beside the commit; a counter-entry erases nothing', async () => {
    const steps: readonly EffectStep[] = [
      { name: 'hold' },
      { name: 'pay', effect: 'compensable' },
      refusing,
    ];
    const world = await open(steps);
    const saga = await world.run();
    expect(world.asked.map(({ what }) => what)).toEqual([
      'hold',
      'pay',
      'last',
      'undo pay',
      'undo hold',
    ]);
    expect(world.asked[3]?.args).toEqual({ undo: 'pay-1' });
    expect(await world.standing(saga.id)).toMatchObject({
      clear: true,
      summary: 'compensated: undone: hold; countered: pay',
      steps: [{ words: 'undone' }, { words: 'countered by a new business event' }, {}],
    });
    expect(world.findings(saga.id)).toEqual([]);
  });
});

describe('reversible_with_cost', () => {
  const COSTLY: readonly EffectStep[] = [
    { name: 'a', effect: 'reversible_with_cost', costMinor: 300 },
    { name: 'b', effect: 'reversible_with_cost', costMinor: 200 },
    refusing,
  ];
  const paying = (costs: Readonly<Record<string, number>>): readonly EffectStep[] =>
    COSTLY.map((step) => {
      const costMinor = costs[step.name];
      if (costMinor === undefined) return step;
      const cost = { costMinor, currency: 'EUR' };
      return { ...step, recover: () => committed(undefined, { cost }) };
    });

  test('is undone within the ceiling, is told what is left of it, and its real cost is on record', async () => {
    const world = await open(paying({ a: 280, b: 150 }), { ceilingMinor: 600 });
    const saga = await world.run();
    const limits = world.asked.flatMap(({ what, call }) =>
      what.startsWith('undo') ? [[what, call.costLimit]] : [],
    );
    expect(limits).toEqual([
      ['undo b', { costMinor: 300, currency: 'EUR' }],
      ['undo a', { costMinor: 450, currency: 'EUR' }],
    ]);
    expect(saga).toMatchObject({
      state: 'compensated',
      recoveryCost: { spentMinor: 430, reservedMinor: 0, limitMinor: 600, currency: 'EUR' },
    });
    expect(saga.recoveryCost).not.toHaveProperty('overLimitMinor');
    const report = await world.standing(saga.id);
    expect(report.steps.map((step) => step.cost?.costMinor)).toEqual([280, 150, undefined]);
    expect(report.steps.map((step) => step.overshoot)).toEqual([undefined, undefined, undefined]);
    expect(world.findings(saga.id)).toEqual([]);
  });

  test('is told of no limit where there is none, and forward calls never are', async () => {
    const world = await open(paying({}));
    await world.run();
    expect(world.asked.map(({ call }) => call.costLimit)).toEqual(world.asked.map(() => undefined));
  });

  test('that costs more than its share stops the rest, which is planned again and reviewed', async () => {
    const world = await open(paying({ b: 350 }), { ceilingMinor: 600 });
    const saga = await world.run();
    expect(saga).toMatchObject({
      state: 'needs_review',
      review: { reason: 'cost_ceiling', steps: ['a'] },
      recoveryCost: { spentMinor: 350, reservedMinor: 300, limitMinor: 600 },
    });
    const review = await world.service.getReview(
      { tenant: 'acme', id: 'ada', roles: ['reviewer'] },
      saga.review?.id ?? '',
    );
    expect(review).toMatchObject({
      maxCost: { costMinor: 650, currency: 'EUR' },
      plan: { entries: [{ step: 'a' }], estimateMinor: 300 },
      standing: { steps: [{}, { step: 'b', overshoot: { costMinor: 150 } }, {}] },
    });
    expect(world.taken()).toEqual(['a', 'b', 'last', 'undo b']);
    await world.decide(saga, {
      decision: 'approve',
      planHash: review.plan?.hash,
      maxCost: { costMinor: 650, currency: 'EUR' },
    });
    const ended = await world.rested(saga.id);
    expect(ended).toMatchObject({ state: 'compensated', recoveryCost: { limitMinor: 650 } });
    expect(world.taken()).toEqual(['undo a']);
    expect(world.findings(saga.id)).toEqual([]);
  });

  test('spent beyond the ceiling by the last of them is said in view and report', async () => {
    const world = await open(paying({ b: 200, a: 700 }), { ceilingMinor: 600 });
    const saga = await world.run();
    expect(saga).toMatchObject({
      state: 'compensated',
      recoveryCost: { spentMinor: 900, limitMinor: 600, overLimitMinor: 300 },
    });
    expect((await world.standing(saga.id)).summary).toContain(
      'undone at a higher cost than planned: a',
    );
  });
});

describe('supersede', () => {
  test('is a mark in the ledger, for which nobody is called', async () => {
    const world = await open([{ name: 'publish', effect: 'supersede' }, refusing]);
    const saga = await world.run();
    expect(world.taken()).toEqual(['publish', 'last']);
    expect(saga.steps[0]?.compensation.state).toBe('superseded');
    expect(await world.standing(saga.id)).toMatchObject({
      clear: true,
      steps: [{ standing: 'superseded', words: 'superseded by the earlier valid version' }, {}],
    });
    expect(world.findings(saga.id)).toEqual([]);
  });

  test('with a hook writes the earlier valid version', async () => {
    const world = await open([{ name: 'publish', effect: 'supersede', hook: true }, refusing]);
    const saga = await world.run();
    expect(world.asked.at(-1)).toMatchObject({
      what: 'undo publish',
      args: { undo: 'publish-1' },
      call: { action: 'supersede' },
    });
    expect(saga.steps[0]?.compensation.state).toBe('superseded');
    expect(world.findings(saga.id)).toEqual([]);
  });

  test('whose hook fails for good stands, and a person is asked', async () => {
    const world = await open([
      { name: 'publish', effect: 'supersede', hook: true, recover: no },
      refusing,
    ]);
    const saga = await world.run();
    expect(saga).toMatchObject({ state: 'needs_review', review: { reason: 'recovery_failed' } });
  });
});

describe('irreversible', () => {
  const failingAfter = (recover: EffectStep['recover']): readonly EffectStep[] => [
    { name: 'hold' },
    { name: 'mail', effect: 'irreversible', hook: true, ...(recover ? { recover } : {}) },
    { name: 'note', effect: 'read_only', forward: no },
  ];

  test('is contained before the incident opens: what the containment made is on record', async () => {
    const ids = { correction: 'M-2', freeze: 'F-1', notice: 'N-1' };
    const world = await open(failingAfter(() => committed(undefined, { externalIds: ids })));
    const saga = await world.run();
    expect(world.asked.at(-1)).toMatchObject({
      what: 'contain mail',
      // Both sides of the call that cannot be taken back.
      args: { input: { id: 'A-1' }, output: { id: 'mail-1' } },
      call: { action: 'contain', idempotencyKey: expect.any(String) },
    });
    expect(world.taken()).toEqual(['hold', 'mail', 'note', 'contain mail']);
    expect(saga).toMatchObject({
      state: 'incident',
      incident: { reason: 'pivot_committed', steps: ['mail'] },
      steps: [{}, { compensation: { state: 'done', externalIds: ids } }, {}],
    });
    const report = await world.standing(saga.id);
    expect(report).toMatchObject({
      clear: false,
      steps: [
        { standing: 'stands', words: 'stays, since the irreversible step has committed' },
        { standing: 'irreversible', words: 'cannot be undone; contained' },
        {},
      ],
    });
    expect(report.steps[1]?.externalIds).toEqual({ mail: 'mail-1', ...ids });
    expect(report.steps[1]?.recoveryIds).toEqual(ids);
    const types = world.events(saga.id).map((event) => event.type);
    expect(types.slice(-3)).toEqual(['step_claimed', 'step_committed', 'incident_opened']);
    expect(world.findings(saga.id)).toEqual([]);
  });

  test('keeps its own id in the report where the correction has one of the same name', async () => {
    const ids = { mail: 'mail-2' };
    const world = await open(failingAfter(() => committed(undefined, { externalIds: ids })));
    const report = await world.standing((await world.run()).id);
    expect(report.steps[1]).toMatchObject({ externalIds: { mail: 'mail-1' }, recoveryIds: ids });
  });

  test('whose containment fails goes to a person, and to an incident only then', async () => {
    const world = await open(failingAfter(no));
    const saga = await world.run();
    expect(saga).toMatchObject({ state: 'needs_review', review: { reason: 'recovery_failed' } });
    await world.decide(saga, { decision: 'resolve', step: 'mail', evidence: 'called them' });
    expect((await world.rested(saga.id)).state).toBe('incident');
  });
});

describe('human_decision', () => {
  test('is undone by a person alone, whose word stands with its evidence', async () => {
    const world = await open([{ name: 'approve', effect: 'human_decision' }, refusing]);
    const saga = await world.run();
    expect(saga).toMatchObject({
      state: 'needs_review',
      review: { reason: 'human_decision', steps: ['approve'] },
    });
    await world.decide(saga, { decision: 'resolve', step: 'approve', evidence: 'letter of May 2' });
    const ended = await world.rested(saga.id);
    expect(ended.state).toBe('compensated');
    expect(await world.standing(saga.id)).toMatchObject({
      steps: [{ standing: 'resolved', by: 'ada', evidence: 'letter of May 2' }, {}],
    });
    expect(world.findings(saga.id)).toEqual([]);
  });
});

test('the class of an effect stands in every event of its step', async () => {
  const before = EFFECT_CLASSES.filter((effect) => effect !== 'irreversible');
  let tries = 0;
  const steps: EffectStep[] = before.map((effect) => ({ name: effect, effect }));
  const world = await open([
    ...steps,
    {
      name: 'unsure',
      forward: () => {
        tries += 1;
        if (tries === 1) throw new ToolFailure('ambiguous', 'lost', 'no answer');
        return { id: 'U-1' };
      },
    },
    { name: 'pivot', effect: 'irreversible', forward: no },
  ]);
  const saga = await world.run();
  const classes = new Map<string, string>(
    world.saga.plan.steps.map((step) => [step.name, step.effect]),
  );
  const seen = new Set<string>();
  for (const event of world.events(saga.id)) {
    if (!('step' in event) || !event.type.startsWith('step_')) continue;
    seen.add(event.type);
    expect(event, `event ${event.seq}`).toMatchObject({ effect: classes.get(event.step ?? '') });
  }
  expect([...seen].sort()).toEqual([
    'step_claimed',
    'step_committed',
    'step_failed',
    'step_in_doubt',
  ]);
});
