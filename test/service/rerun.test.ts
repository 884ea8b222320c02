import { defineSagaFromSteps, type RulesVerdict } from 'counterstep';
import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { StoreUnavailable } from '../../lambdas/ports/ledger-store.ts';
import { fetchStored } from '../../lambdas/runtime/values.ts';
import { Problem } from '../../lambdas/service/problems.ts';
import type { SagaView } from '../../lambdas/service/wire.ts';
import { RERUN_LEASE_MS, SKEW_MS } from '../../statemachines/rules/protocol.ts';
import { faultyStores, type StoreCall } from '../../testing/faulty-stores.ts';
import { holdStock, order, orderInput, refund } from './sagas.ts';
import { ada, principal, problemIn, stranger, World } from './world.ts';

/** What is refused, repeated and raced for; what a saga run again does is told in test/effects. */

/** What happens at a moment of a store call. */
let strikes: (call: StoreCall) => void | Promise<void> = () => {};
let world: World;
beforeEach(anew);

function anew(): void {
  strikes = () => {};
  world = new World({
    around: (stores) => faultyStores(stores, { onCall: (call) => strikes(call) }),
  });
}

/** The first event of the new saga never stands. */
function loseStarts(): void {
  strikes = ({ store, phase }) => {
    if (store === 'registry' && phase === 'before') throw new StoreUnavailable('injected');
  };
}

/** A saga that was cancelled before it did anything. */
async function compensated(key = 'k-1', name = 'order', body: object = orderInput) {
  const saga = await world.service.start(ada, name, key, JSON.stringify(body));
  const id = { tenant: 'acme', sagaId: saga.id };
  const plan = { order, refund }[name]?.plan;
  if (plan === undefined) throw new Error('no such definition here');
  await world.ledger.write(id, { kind: 'cancel', reason: 'no' }, { actor: 'ada' });
  const drive = { plan, epoch: 1 };
  const verdicts: RulesVerdict[] = [];
  for (const kind of ['assess', 'settle'] as const) {
    verdicts.push((await world.ledger.write(id, { kind, ...drive }, { actor: 'drive' })).verdict);
  }
  expect(verdicts).toMatchObject([
    { event: { type: 'recovery_planned' } },
    { event: { type: 'saga_compensated' } },
  ]);
  return saga;
}

const again = (id: string, key = 'again-1', body = '', who = ada): Promise<SagaView> =>
  world.service.rerun(who, id, key, body);

describe('a saga run again', () => {
  test('is a new saga with the same input, linked both ways, driven at once', async () => {
    const old = await compensated();
    world.started.length = 0;
    const saga = await again(old.id);
    expect(saga).toMatchObject({
      state: 'running',
      previous: old.id,
      steps: [{ forward: { state: 'pending' } }, {}, {}],
      links: { previous: `/v1/sagas/${old.id}` },
    });
    expect(saga.id).not.toBe(old.id);
    expect(world.started).toMatchObject([{ sagaId: saga.id, epoch: 1 }]);
    expect(await world.service.get(ada, old.id)).toMatchObject({
      state: 'compensated',
      rerun: saga.id,
      links: { rerun: `/v1/sagas/${saga.id}` },
    });
    expect(world.events('acme', saga.id)[0]).toMatchObject({
      key: 'again-1',
      principal: 'ada',
      previous: old.id,
      deadlineAt: world.clock.now() + 86_400_000,
    });
    // The input holds an address: it is copied, sealed anew, and named by another digest.
    const inputs = [old, saga].map(({ id }) => {
      const [first] = world.events('acme', id);
      return first?.type === 'saga_started' && first.input.kind === 'ref' ? first.input.digest : '';
    });
    expect(new Set([...inputs, '']).size).toBe(3);
  });

  test('under the same key is the same saga; that is not run again twice under another', async () => {
    const old = await compensated();
    const saga = await again(old.id);
    const held = world.held();
    expect(await again(old.id)).toMatchObject({ id: saga.id, replayed: true });
    expect(await again(old.id, 'again-1', '{}')).toMatchObject({ id: saga.id, replayed: true });
    const problem = await problemIn(again(old.id, 'again-2'));
    expect(problem).toMatchObject({ type: 'conflict', detail: expect.stringContaining(saga.id) });
    expect(world.held()).toBe(held);
  });

  test('for a business fact is one saga, whoever asks and under whatever key', async () => {
    const old = await compensated('k-1', 'refund', { orderId: 'A-1', operation: 'r-1' });
    const saga = await again(old.id);
    const other = { ...principal(), id: 'shop' };
    expect(await again(old.id, 'another', '', other)).toMatchObject({
      id: saga.id,
      replayed: true,
    });
    // The fact itself still leads to the saga it was first started as.
    const body = JSON.stringify({ orderId: 'A-1', operation: 'r-1' });
    expect(await world.service.start(ada, 'refund', 'k-9', body)).toMatchObject({ id: old.id });
  });
});

describe('running again is refused', () => {
  test.each([
    ['without a key', undefined, '', 'key-missing'],
    ['with a key of 300 characters', 'k'.repeat(300), '', 'key-invalid'],
    ['with members nobody knows', 'again-1', '{"from":"pay"}', 'body-invalid'],
    ['with a body that is no JSON', 'again-1', 'again', 'body-invalid'],
  ])('%s', async (_what, key, body, type) => {
    const old = await compensated();
    const held = world.held();
    expect((await problemIn(world.service.rerun(ada, old.id, key, body))).type).toBe(type);
    expect(world.held()).toBe(held);
  });

  test('to those who may not start, to strangers, and of what does not exist', async () => {
    const old = await compensated();
    for (const role of ['reader', 'reviewer', 'auditor'] as const) {
      const problem = await problemIn(again(old.id, 'again-1', '', principal(role)));
      expect(problem.type).toBe('forbidden');
    }
    expect((await problemIn(again(old.id, 'again-1', '', stranger))).type).toBe('saga-unknown');
    expect((await problemIn(again('nothing'))).type).toBe('saga-unknown');
    for (const role of ['starter', 'operator'] as const) {
      expect((await again(old.id, 'again-1', '', principal(role))).previous).toBe(old.id);
    }
  });

  test('of a saga that is not compensated, or erased', async () => {
    const running = await world.service.start(ada, 'order', 'k-2', JSON.stringify(orderInput));
    const held = world.held();
    expect(await problemIn(again(running.id))).toMatchObject({
      type: 'conflict',
      detail: 'the saga is running: only a compensated one is run again',
    });
    expect(world.held()).toBe(held);
    const old = await compensated();
    await world.service.erase(ada, old.id, JSON.stringify({ reason: 'asked for' }));
    const erased = world.held();
    expect(await problemIn(again(old.id))).toMatchObject({
      type: 'conflict',
      detail: expect.stringContaining('erased'),
    });
    expect(world.held()).toBe(erased);
  });

  test('under a key that stands for something else, and that key starts nothing else either', async () => {
    const old = await compensated('k-1');
    expect((await problemIn(again(old.id, 'k-1'))).type).toBe('key-reused');
    const saga = await again(old.id, 'again-1');
    const body = JSON.stringify(orderInput);
    for (const given of [body, JSON.stringify({ previous: old.id })]) {
      const start = world.service.start(ada, 'order', 'again-1', given);
      expect(['key-reused', 'input-invalid']).toContain((await problemIn(start)).type);
    }
    const other = await compensated('k-3');
    expect((await problemIn(again(other.id, 'again-1'))).type).toBe('key-reused');
    expect(world.events('acme', saga.id)).toHaveLength(1);
  });

  test('where the definition deployed now takes another input, or is gone', async () => {
    const old = await compensated();
    const changed = defineSagaFromSteps(
      { name: 'order', version: '2', input: z.object({ customer: z.string() }) },
      [{ name: 'hold', tool: holdStock, input: () => ({ orderId: 'x' }) }],
    );
    const held = world.held();
    expect(await problemIn(world.serving([changed]).rerun(ada, old.id, 'a', ''))).toMatchObject({
      type: 'conflict',
      detail: expect.stringContaining('/customer'),
    });
    expect(await problemIn(world.serving([]).rerun(ada, old.id, 'a', ''))).toMatchObject({
      type: 'conflict',
      detail: 'the definition of this saga is not loaded here',
    });
    expect(world.held()).toBe(held);
  });
});

describe('whatever strikes while a saga is run again', () => {
  /** Runs it with something happening at the nth moment; false once there is no such moment. */
  async function at(
    nth: number,
    what: (old: SagaView) => void | Promise<void>,
  ): Promise<{ old: SagaView; answer: SagaView | Problem | undefined; struck: boolean }> {
    anew();
    const old = await compensated();
    let moments = 0;
    strikes = async () => {
      moments += 1;
      if (moments !== nth) return;
      strikes = () => {};
      await what(old);
    };
    const answer = await again(old.id).catch((error: unknown) => {
      if (error instanceof StoreUnavailable) return undefined;
      if (error instanceof Problem) return error;
      throw error;
    });
    strikes = () => {};
    return { old, answer, struck: moments >= nth };
  }

  const reruns = (old: SagaView): string[] =>
    [...world.stores.held.ledgers.keys()]
      .map((key) => key.slice('acme/'.length))
      .filter((sagaId) => {
        const [first] = world.events('acme', sagaId);
        return first?.type === 'saga_started' && first.previous === old.id;
      });

  test('a store that does not answer, at any moment: the same key makes one saga of it', async () => {
    let tries = 0;
    for (let struck = true; struck; ) {
      tries += 1;
      const run = await at(tries, () => {
        throw new StoreUnavailable('injected');
      });
      struck = run.struck;
      const saga = await again(run.old.id);
      expect(reruns(run.old), `moment ${tries}`).toEqual([saga.id]);
      const claims = world
        .events('acme', run.old.id)
        .filter(({ type }) => type === 'rerun_claimed');
      expect(claims, `moment ${tries}`).toMatchObject([{ saga: saga.id }]);
    }
    expect(tries).toBeGreaterThan(20);
  });

  test('an erasure, at any moment: it is refused, or has payloads of its own', async () => {
    const ends = new Set<string>();
    for (let nth = 1, struck = true; struck; nth += 1) {
      const reason = JSON.stringify({ reason: 'asked for' });
      const run = await at(
        nth,
        async (old) => void (await world.service.erase(ada, old.id, reason)),
      );
      struck = run.struck;
      if (run.answer instanceof Problem) {
        ends.add(run.answer.type);
        expect(reruns(run.old), `moment ${nth}`).toEqual([]);
        continue;
      }
      const id = { tenant: 'acme', sagaId: run.answer?.id ?? '' };
      const [first] = world.events('acme', id.sagaId);
      if (first?.type !== 'saga_started') throw new Error('it did not begin');
      expect(await fetchStored(world.stores, id, first.input)).toEqual(orderInput);
      ends.add('begun');
    }
    expect(ends).toEqual(new Set(['conflict', 'begun']));
  });

  test('another one under another key, at any moment: one of them goes on, never both', async () => {
    const ends = new Set<string>();
    for (let nth = 1, struck = true; struck; nth += 1) {
      let other: unknown;
      const run = await at(nth, async (old) => {
        other = await again(old.id, 'other').catch((error: unknown) => error);
      });
      struck = run.struck;
      if (!struck) break;
      expect(reruns(run.old), `moment ${nth}`).toHaveLength(1);
      const lost = [run.answer, other].filter((answer) => answer instanceof Problem);
      expect(lost, `moment ${nth}`).toMatchObject([{ type: 'conflict' }]);
      ends.add(run.answer instanceof Problem ? 'second' : 'first');
    }
    expect(ends).toEqual(new Set(['first', 'second']));
  });
});

describe('a rerun that was lost half way', () => {
  test('goes on under its key, and makes way for another once its lease is over', async () => {
    const old = await compensated();
    loseStarts();
    await expect(again(old.id, 'lost')).rejects.toBeInstanceOf(StoreUnavailable);
    strikes = () => {};
    const claim = world.events('acme', old.id).at(-1);
    expect(claim).toMatchObject({ type: 'rerun_claimed' });
    const problem = await problemIn(again(old.id, 'other'));
    const until = (claim?.at ?? 0) + RERUN_LEASE_MS + SKEW_MS;
    expect(problem).toMatchObject({ type: 'conflict', until });
    world.clock.time = until;
    const saga = await again(old.id, 'other');
    expect(saga.previous).toBe(old.id);
    expect(await problemIn(again(old.id, 'lost'))).toMatchObject({
      type: 'conflict',
      detail: expect.stringContaining(saga.id),
    });
  });

  test('is repeated under its key, however late', async () => {
    const old = await compensated();
    loseStarts();
    await expect(again(old.id, 'lost')).rejects.toBeInstanceOf(StoreUnavailable);
    strikes = () => {};
    world.clock.pass(10 * RERUN_LEASE_MS);
    expect(await again(old.id, 'lost')).toMatchObject({ previous: old.id, state: 'running' });
  });
});
