import { afterEach, describe, expect, test } from 'vitest';
import { refused, ToolFailure } from '../../lambdas/tool/failures.ts';
import { sealEvent } from '../../statemachines/ledger/chain.ts';
import type { SagaEvent } from '../../statemachines/rules/events.ts';
import { EffectBench, type EffectStep, gate } from './bench.ts';

/** Recovery to a checkpoint, and going on from it, over the real engine. */

let bench: EffectBench | undefined;
afterEach(() => bench?.close());

interface Trip {
  readonly world: EffectBench;
  /** Names of the steps that refuse from now on. */
  readonly refusing: Set<string>;
}

async function trip(steps: readonly EffectStep[] = TRIP): Promise<Trip> {
  const refusing = new Set<string>();
  const moody = steps.map((step) => ({
    ...step,
    forward: (...given: Parameters<NonNullable<EffectStep['forward']>>) => {
      if (refusing.has(step.name)) throw refused('no', 'not today');
      return step.forward?.(...given);
    },
  }));
  bench = await EffectBench.open(moody);
  return { world: bench, refusing };
}

const TRIP: readonly EffectStep[] = [
  { name: 'look', effect: 'read_only' },
  { name: 'hold' },
  { name: 'pay', effect: 'compensable', checkpoint: true },
  { name: 'pick' },
  { name: 'pack', checkpoint: true },
  { name: 'ship' },
];

describe('a saga that fails behind a checkpoint', () => {
  test('undoes what followed it, and says everywhere what it kept', async () => {
    const { world, refusing } = await trip();
    refusing.add('pack');
    const saga = await world.run();
    expect(world.taken()).toEqual(['look', 'hold', 'pay', 'pick', 'pack', 'undo pick']);
    expect(saga).toMatchObject({
      state: 'compensated',
      checkpoint: 'pay',
      steps: [
        {},
        { name: 'hold', compensation: { state: 'not_required' } },
        { name: 'pay', checkpoint: true, compensation: { state: 'not_required' } },
        { name: 'pick', compensation: { state: 'done' } },
        { name: 'pack', checkpoint: true },
        {},
      ],
    });
    expect(await world.standing(saga.id)).toMatchObject({
      checkpoint: 'pay',
      clear: false,
      summary: 'compensated to checkpoint pay: kept: hold, pay; undone: pick',
      steps: [{ standing: 'nothing' }, { externalIds: { hold: 'hold-1' } }, {}, {}, {}, {}],
    });
    expect(world.events(saga.id).at(-1)).toMatchObject({
      type: 'saga_compensated',
      checkpoint: 'pay',
    });
    expect(world.findings(saga.id)).toEqual([]);
  });

  test('undoes everything where a person asked for that', async () => {
    const { world } = await trip();
    const picking = gate();
    const holding = TRIP.map((step) =>
      step.name === 'pick' ? { ...step, forward: () => picking.through } : step,
    );
    await world.deploy(holding);
    const started = await world.service.start(ADA, 'trip', 'k-2', JSON.stringify(INPUT));
    while (!world.asked.some(({ what }) => what === 'pick')) await pause();
    const everything = JSON.stringify({ reason: 'called off', everything: true });
    await world.service.cancel(ADA, started.id, everything);
    picking.open();
    const ended = await world.rested(started.id);
    expect(ended).toMatchObject({
      state: 'compensated',
      halt: { reason: 'cancelled', everything: true },
    });
    expect(ended).not.toHaveProperty('checkpoint');
    expect(world.taken().slice(-3)).toEqual(['undo pick', 'undo pay', 'undo hold']);
    expect((await world.standing(started.id)).clear).toBe(true);
    expect(world.findings(started.id)).toEqual([]);
  });
});

describe('a failure beyond repair before any pivot', () => {
  const torn = (): never => {
    throw new ToolFailure('irreversible_incident', 'parcel_torn', 'nothing is left of it');
  };

  test('lets the rest be undone, and ends as an incident, never as compensated', async () => {
    const { world } = await trip([{ name: 'hold' }, { name: 'ship', forward: torn }]);
    const saga = await world.run();
    expect(world.taken()).toEqual(['hold', 'ship', 'undo hold']);
    expect(saga).toMatchObject({
      state: 'incident',
      incident: { reason: 'irreversible_failure', steps: ['ship'] },
    });
    expect(await world.standing(saga.id)).toMatchObject({
      clear: false,
      steps: [{ standing: 'reversed' }, { standing: 'irreversible' }],
    });
    expect(world.findings(saga.id)).toEqual([]);
  });

  test('goes back to the last checkpoint and no further, and is not run again', async () => {
    const { world } = await trip([
      { name: 'pay', checkpoint: true },
      { name: 'pick' },
      { name: 'ship', forward: torn },
    ]);
    const saga = await world.run();
    expect(world.taken()).toEqual(['pay', 'pick', 'ship', 'undo pick']);
    expect(await world.standing(saga.id)).toMatchObject({
      state: 'incident',
      checkpoint: 'pay',
      summary: 'incident: cannot be undone: ship; kept: pay; undone: pick',
    });
    expect(world.findings(saga.id)).toEqual([]);
    await expect(world.service.rerun(ADA, saga.id, 'again-1', '')).rejects.toMatchObject({
      detail: 'the saga is incident: only a compensated one is run again',
    });
  });
});

describe('a saga run again', () => {
  test('goes on behind the checkpoint with the recorded results, and ends well', async () => {
    const { world, refusing } = await trip();
    refusing.add('pack');
    const old = await world.run();
    refusing.clear();
    world.taken();
    const saga = await world.rerun(old.id, 'again-1');
    expect(saga).toMatchObject({
      state: 'completed',
      previous: old.id,
      links: { previous: `/v1/sagas/${old.id}` },
      steps: [
        { forward: { state: 'done', attempts: 0, adopted: true } },
        { forward: { adopted: true, externalIds: { hold: 'hold-1' } } },
        { forward: { adopted: true } },
        { name: 'pick', forward: { state: 'done', attempts: 1 } },
        {},
        {},
      ],
    });
    expect(world.asked.map(({ what }) => what)).toEqual(['pick', 'pack', 'ship']);
    expect(world.asked[0]?.args).toEqual({
      id: 'A-1',
      seen: { look: { id: 'look-1' }, hold: { id: 'hold-1' }, pay: { id: 'pay-1' } },
    });
    expect(await world.service.get(ADA, old.id)).toMatchObject({
      state: 'compensated',
      rerun: saga.id,
      links: { rerun: `/v1/sagas/${saga.id}` },
    });
    for (const id of [old.id, saga.id]) expect(world.findings(id)).toEqual([]);
  });

  test('adopts by number and hash of the events that stand in the ledger before', async () => {
    const { world, refusing } = await trip();
    refusing.add('pack');
    const old = await world.run();
    const saga = await world.rerun(old.id, 'again-1');
    const [first] = world.events(saga.id);
    if (first?.type !== 'saga_started') throw new Error('no start');
    expect(first.adopted?.map((each) => each.step)).toEqual(['look', 'hold', 'pay']);
    for (const { step, seq, hash } of first.adopted ?? []) {
      expect(world.records(old.id)[seq - 1]?.hash).toBe(hash);
      expect(world.events(old.id)[seq - 1]).toMatchObject({ type: 'step_committed', step });
    }
    expect(Buffer.byteLength(world.records(saga.id)[0]?.body ?? '')).toBeLessThan(2_500);
  });

  test('and the one before hold each other: either written anew is found out', async () => {
    const { world, refusing } = await trip();
    refusing.add('pack');
    const old = await world.run();
    const saga = await world.rerun(old.id, 'again-1');
    const verdict = (id: string) => world.service.verification(AUDITOR, id);
    expect(await verdict(old.id)).toMatchObject({
      verdict: 'valid',
      checkedAgainst: expect.arrayContaining([`saga ${saga.id}`]),
    });
    expect(await verdict(saga.id)).toMatchObject({
      verdict: 'valid',
      checkedAgainst: expect.arrayContaining([`saga ${old.id}`]),
    });
    // Another run of the same story, with a chain that agrees with itself, in the place of the old one.
    const { ledgers } = world.stores.held;
    const genuine = world.records(old.id);
    let prev = genuine[0]?.prev ?? '';
    const rewritten = world.events(old.id).map((event) => {
      const later: SagaEvent = { ...event, at: event.at + 1 };
      const sealed = sealEvent(prev, later);
      prev = sealed.hash;
      return { ...sealed, nonce: 'x' };
    });
    ledgers.set(`acme/${old.id}`, rewritten);
    expect(await verdict(old.id)).toMatchObject({ verdict: 'invalid', problem: 'rewritten' });
    expect(await verdict(saga.id)).toMatchObject({
      verdict: 'invalid',
      problem: 'rewritten',
      seq: 1,
      explanation: expect.stringContaining(`"look" was adopted from record 3 of saga ${old.id}`),
    });
    ledgers.set(`acme/${old.id}`, genuine);
    expect(await verdict(saga.id)).toMatchObject({ verdict: 'valid' });
  });

  test('that fails again does not undo what was kept, and is run again in its turn', async () => {
    const { world, refusing } = await trip();
    refusing.add('pack');
    const old = await world.run();
    world.taken();
    const second = await world.rerun(old.id, 'again-1');
    expect(second).toMatchObject({ state: 'compensated', checkpoint: 'pay', previous: old.id });
    expect(world.taken()).toEqual(['pick', 'pack', 'undo pick']);
    refusing.clear();
    refusing.add('ship');
    const third = await world.rerun(second.id, 'again-2');
    expect(third).toMatchObject({ state: 'compensated', checkpoint: 'pack', previous: second.id });
    expect(world.taken()).toEqual(['pick', 'pack', 'ship']);
    expect(await world.standing(third.id)).toMatchObject({
      summary: 'compensated to checkpoint pack: kept: hold, pay, pick, pack',
    });
    refusing.clear();
    const fourth = await world.rerun(third.id, 'again-3');
    expect(fourth.state).toBe('completed');
    expect(world.taken()).toEqual(['ship']);
    for (const { id } of [old, second, third, fourth]) expect(world.findings(id)).toEqual([]);
  });

  test('on a version that mends what follows the checkpoint goes on; on one that moved it, it does not', async () => {
    const { world, refusing } = await trip();
    refusing.add('pack');
    const old = await world.run();
    const refusal = async (...steps: readonly EffectStep[]): Promise<string> => {
      await world.deploy(steps, { version: '2' });
      return world.service.rerun(ADA, old.id, 'again-1', '').then(
        () => 'taken',
        (problem: Error) => problem.message,
      );
    };
    const [look, hold, pay, pick, pack] = TRIP as [EffectStep, ...EffectStep[]];
    const cases: readonly (readonly [readonly (EffectStep | undefined)[], RegExp])[] = [
      [[look, hold, { name: 'pay', effect: 'compensable' }, pick], /it has no checkpoint "pay"/],
      [[look, hold, pick, pay], /step "pick" is new before it/],
      [[hold, pay, pick], /step "look" is no longer before it/],
      [[look, { name: 'hold', effect: 'compensable' }, pay, pick], /"hold" has another tool/],
    ];
    for (const [steps, problem] of cases) {
      expect(await refusal(...steps.flatMap((step) => step ?? []))).toMatch(problem);
    }
    expect(world.events(old.id).at(-1)?.type).toBe('saga_compensated');
    await world.deploy([look, hold, pay, pack, { name: 'call' }] as EffectStep[], { version: '3' });
    world.taken();
    const saga = await world.rerun(old.id, 'again-1');
    expect(saga).toMatchObject({ state: 'completed', version: '3' });
    expect(world.taken()).toEqual(['pack', 'call']);
    expect(world.findings(saga.id)).toEqual([]);
  });

  test('of one that kept nothing begins at the first step', async () => {
    const { world, refusing } = await trip();
    refusing.add('pay');
    const old = await world.run();
    expect(old).not.toHaveProperty('checkpoint');
    refusing.clear();
    world.taken();
    const saga = await world.rerun(old.id, 'again-1');
    expect(saga).toMatchObject({ state: 'completed', previous: old.id });
    expect(world.taken()).toEqual(['look', 'hold', 'pay', 'pick', 'pack', 'ship']);
    expect(world.events(saga.id)[0]).not.toHaveProperty('adopted');
  });

  test('has payloads of its own: the one before may be erased, and then is not run again itself', async () => {
    const big = { id: 'hold-1', text: 'x'.repeat(10_000) };
    const { world, refusing } = await trip(
      TRIP.map((step) => (step.name === 'hold' ? { ...step, forward: () => big } : step)),
    );
    refusing.add('pack');
    const old = await world.run();
    const second = await world.rerun(old.id, 'again-1');
    const erase = JSON.stringify({ reason: 'asked for' });
    await world.service.erase(ADA, old.id, erase);
    await expect(world.service.rerun(ADA, old.id, 'again-9', '')).rejects.toMatchObject({
      type: 'conflict',
      detail: expect.stringContaining('erased'),
    });
    refusing.clear();
    world.asked.length = 0;
    const third = await world.rerun(second.id, 'again-2');
    expect(third.state).toBe('completed');
    expect(world.asked[0]?.args).toMatchObject({ seen: { hold: big } });
    await world.service.erase(ADA, second.id, erase);
    await expect(world.service.rerun(ADA, second.id, 'again-3', '')).rejects.toMatchObject({
      type: 'conflict',
    });
  });
});

const AUDITOR = { tenant: 'acme', id: 'ada', roles: ['auditor'] } as const;
const ADA = { tenant: 'acme', id: 'ada', roles: ['starter', 'operator'] } as const;
const INPUT = { id: 'A-1', email: 'jo@example.com' };
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));
