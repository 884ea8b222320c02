import { canonicalJson, defineSaga, defineSagaFromSteps } from 'counterstep';
import { describe, expect, test } from 'vitest';
import { StoreUnavailable } from '../../lambdas/ports/ledger-store.ts';
import type { StepDeclaration } from '../../statemachines/language/saga.ts';
import { sha256Hex } from '../../statemachines/ledger/hash.ts';
import { faultyStores } from '../../testing/faulty-stores.ts';
import { toolOf } from '../statemachines/samples.ts';
import { chargeCard, holdStock, order, orderInput, sendMail } from './sagas.ts';
import { ada, principal, problemIn, stranger, World } from './world.ts';

const body = JSON.stringify(orderInput);
const reason = '{"reason":"the customer asked for it"}';

async function started(world: World): Promise<string> {
  return (await world.service.start(ada, 'order', 'k-1', body)).id;
}

/** Nothing was done yet, so the recovery of a cancelled saga ends at once. */
async function compensated(world: World): Promise<string> {
  const sagaId = await started(world);
  await world.service.cancel(ada, sagaId, reason);
  const id = { tenant: 'acme', sagaId };
  const command = { plan: order.plan, epoch: 1 } as const;
  await world.ledger.write(id, { kind: 'assess', ...command }, { actor: 'drive' });
  await world.ledger.write(id, { kind: 'settle', ...command }, { actor: 'drive' });
  return sagaId;
}

describe('cancel', () => {
  test('is a terminal fact with its reason and who asked, once however often it is asked', async () => {
    const world = new World();
    const sagaId = await started(world);
    const first = await world.service.cancel(ada, sagaId, reason);
    expect(first).toMatchObject({ state: 'compensating', halt: { reason: 'cancelled' } });
    expect(await world.service.cancel(principal('operator'), sagaId, reason)).toEqual(first);
    expect(world.events('acme', sagaId).slice(1)).toMatchObject([
      { type: 'cancel_requested', reason: 'the customer asked for it', actor: 'ada' },
    ]);
  });

  test('needs a reason in words', async () => {
    const world = new World();
    const sagaId = await started(world);
    for (const wrong of [
      '',
      '{}',
      '{"reason":" "}',
      '{"reason":7}',
      '{"reason":"x","force":true}',
      `{"reason":"${'x'.repeat(1_001)}"}`,
    ]) {
      expect((await problemIn(world.service.cancel(ada, sagaId, wrong))).type).toBe('body-invalid');
    }
    expect(world.events('acme', sagaId)).toHaveLength(1);
  });
});

describe('resume', () => {
  test('grants the next drive on a parked saga', async () => {
    const world = new World();
    const sagaId = await started(world);
    const plan = order.plan;
    const drift = {
      kind: 'drift',
      epoch: 1,
      explanation: 'other code',
      reviewMs: plan.reviewMs,
    } as const;
    await world.ledger.write({ tenant: 'acme', sagaId }, drift, { actor: 'drive' });
    const view = await world.service.resume(ada, sagaId, '{"note":"mended"}');
    expect(view).toMatchObject({ state: 'running', drive: { state: 'running', epoch: 2 } });
    expect(world.events('acme', sagaId).at(-1)).toMatchObject({
      type: 'drive_granted',
      reason: 'resume',
      note: 'mended',
    });
    expect(world.started.map((drive) => drive.epoch)).toEqual([1, 2]);
  });

  test('takes no body for an empty one, and says until when a running drive is waited for', async () => {
    const world = new World();
    const sagaId = await started(world);
    const problem = await problemIn(world.service.resume(ada, sagaId, ''));
    expect(problem).toMatchObject({ type: 'conflict', until: world.clock.now() + 60_000 });
  });

  test('on the latest machine names it, from then on', async () => {
    const world = new World();
    const sagaId = await started(world);
    world.clock.pass(61_000);
    const newer = defineSaga({ name: 'order', version: '2', input: order.input }, (saga) =>
      saga
        .step('hold', holdStock, { input: () => ({ orderId: 'x' }) })
        .step('charge', chargeCard, { input: () => ({ orderId: 'x', amount: 1 }) })
        .step('mail', sendMail, { input: () => ({ email: 'x' }) }),
    );
    await world.serving([newer]).resume(ada, sagaId, '{"machine":"latest"}');
    expect(world.events('acme', sagaId).at(-1)).toMatchObject({
      machine: `order@${newer.plan.digest}`,
      planDigest: newer.plan.digest,
    });
    expect(world.started.at(-1)?.machine).toBe(`order@${newer.plan.digest}`);
  });

  test('on the latest machine is refused where a writing step is not what it was', async () => {
    const world = new World();
    const sagaId = await started(world);
    world.clock.pass(61_000);
    const step = (name: string, tool: StepDeclaration['tool']): StepDeclaration => ({
      name,
      tool,
      input: () => ({}),
    });
    const steps = [
      step('hold', holdStock),
      step('charge', chargeCard),
      step('mail', sendMail),
    ] as const;
    const [hold, charge, mail] = steps;
    const versions: [readonly StepDeclaration[], RegExp][] = [
      [[hold, mail], /step "charge" is gone/],
      [[step('keep', holdStock), charge, mail], /step "hold" is gone/],
      [
        [step('hold', toolOf('reversible', 'other')), charge, mail],
        /step "hold" used tool "hold-stock" and uses "other"/,
      ],
      [
        [hold, step('charge', toolOf('compensable', 'charge-card')), mail],
        /step "charge" was reversible_with_cost and is compensable/,
      ],
      [[step('extra', toolOf('read_only')), hold, charge, mail], /step "extra" is new/],
      [[charge, hold, mail], /step "charge" no longer comes after "hold"/],
    ];
    const before = world.held();
    for (const [declared, words] of versions) {
      const newer = defineSagaFromSteps(
        { name: 'order', version: '2', input: order.input },
        declared,
      );
      const problem = await problemIn(
        world.serving([newer]).resume(ada, sagaId, '{"machine":"latest"}'),
      );
      expect([problem.type, problem.detail]).toEqual(['conflict', expect.stringMatching(words)]);
    }
    const gone = await problemIn(world.serving([]).resume(ada, sagaId, '{"machine":"latest"}'));
    expect(gone.detail).toMatch(/not loaded/);
    expect(world.held()).toBe(before);
  });
});

describe('suggest', () => {
  test('keeps the advice where it can be erased, and moves nothing', async () => {
    const world = new World();
    const sagaId = await started(world);
    const before = await world.service.get(ada, sagaId);
    const after = await world.service.suggest(
      principal('starter'),
      sagaId,
      '{"call":"jo@example.com"}',
    );
    expect(after).toMatchObject({ state: before.state, drive: before.drive });
    expect(JSON.stringify(world.events('acme', sagaId))).not.toContain('jo@example.com');
    expect(world.events('acme', sagaId).at(-1)).toMatchObject({ suggestion: { kind: 'ref' } });
  });

  test('keeps nothing for a saga that does not exist', async () => {
    const world = new World();
    await started(world);
    const before = world.held();
    expect((await problemIn(world.service.suggest(ada, 'f'.repeat(32), '{}'))).type).toBe(
      'saga-unknown',
    );
    expect(
      (await problemIn(world.service.suggest(ada, await started(world), '{"a":1e400}'))).type,
    ).toBe('body-invalid');
    expect(world.held()).toBe(before);
  });
});

describe('erase', () => {
  test('is refused before a final state, and nothing is erased then', async () => {
    const world = new World();
    const sagaId = await started(world);
    const before = world.held();
    expect(await problemIn(world.service.erase(ada, sagaId, reason))).toMatchObject({
      type: 'conflict',
      detail: expect.stringContaining('until it is final'),
    });
    expect(world.held()).toBe(before);
  });

  test('takes the payloads and leaves a chain that verifies', async () => {
    const world = new World();
    const sagaId = await compensated(world);
    const view = await world.service.erase(ada, sagaId, reason);
    expect(view).toMatchObject({ state: 'compensated', erased: true });
    expect(world.held()).not.toContain('jo@example.com');
    expect(await world.service.verification(ada, sagaId)).toMatchObject({ verdict: 'valid' });
    expect((await problemIn(world.service.suggest(ada, sagaId, '{}'))).type).toBe('conflict');
  });

  test("leaves the start's key working: the saga is returned, marked erased", async () => {
    const world = new World();
    const sagaId = await compensated(world);
    await world.service.erase(ada, sagaId, reason);
    expect(await world.service.start(ada, 'order', 'k-1', body)).toMatchObject({
      id: sagaId,
      erased: true,
      replayed: true,
    });
    expect(world.held()).not.toContain('jo@example.com');
    // Nothing is left that another body could be told by, and so neither could a guess.
    const other = JSON.stringify({ orderId: 'B-2', amount: 1, email: 'al@example.com' });
    expect(await world.service.start(ada, 'order', 'k-1', other)).toMatchObject({
      id: sagaId,
      erased: true,
    });
    expect(world.held()).not.toContain('@example.com');
    expect(world.held()).not.toContain(sha256Hex(canonicalJson(JSON.parse(body))));
  });

  test('may be repeated, also where its event was lost on the first try', async () => {
    let failing = false;
    const world = new World({
      around: (stores) =>
        faultyStores(stores, {
          onCall: ({ operation, phase }) => {
            if (failing && operation === 'append' && phase === 'before')
              throw new StoreUnavailable('away');
          },
        }),
    });
    const sagaId = await compensated(world);
    failing = true;
    await expect(world.service.erase(ada, sagaId, reason)).rejects.toThrow(StoreUnavailable);
    // The payloads are gone; the ledger does not say so yet, which a repeat mends.
    expect(world.held()).not.toContain('jo@example.com');
    expect((await world.service.get(ada, sagaId)).erased).toBeUndefined();
    failing = false;
    const first = await world.service.erase(ada, sagaId, reason);
    expect(first.erased).toBe(true);
    expect(await world.service.erase(ada, sagaId, reason)).toEqual(first);
    expect(
      world.events('acme', sagaId).filter((event) => event.type === 'payloads_erased'),
    ).toHaveLength(1);
  });
});

test('every operation asks for its role before it looks at anything', async () => {
  const world = new World();
  const sagaId = await started(world);
  const { service } = world;
  const none = { ...ada, roles: [] };
  const reader = principal('reader');
  const page = { limit: 10 };
  const calls: (() => unknown)[] = [
    () => service.get(none, sagaId),
    () => service.list(none, page),
    () => service.standing(none, sagaId),
    () => service.tools(none),
    () => service.definitions(none),
    () => service.graph(none, 'order'),
    () => service.listReviews(none, page),
    () => service.getReview(none, `${sagaId}.1`),
    () => service.start(reader, 'order', 'k', body),
    () => service.cancel(reader, sagaId, '{'),
    () => service.resume(principal('starter', 'reviewer', 'auditor'), sagaId, '{'),
    () => service.suggest(reader, sagaId, '{'),
    () => service.erase(principal('starter', 'reviewer', 'auditor'), sagaId, '{'),
    () => service.decide(reader, `${sagaId}.1`, '{'),
    () => service.ledgerPage(principal('starter', 'reader', 'reviewer'), sagaId, page),
    () => service.ledgerNdjson(principal('starter', 'reader', 'reviewer'), sagaId),
    () => service.verification(principal('starter', 'reader', 'reviewer'), sagaId),
  ];
  const before = world.held();
  for (const call of calls) {
    const problem = await problemIn(async () => call());
    expect([problem.type, String(call)]).toEqual(['forbidden', String(call)]);
    expect(problem.remedy).toMatch(/ask for the role/);
  }
  expect(world.held()).toBe(before);
});

test("another tenant's id looks exactly like one that never was (invariant 8)", async () => {
  const world = new World();
  const sagaId = await started(world);
  const { service } = world;
  const page = { limit: 10 };
  const calls = [
    (id: string) => service.get(stranger, id),
    (id: string) => service.standing(stranger, id),
    (id: string) => service.ledgerPage(stranger, id, page),
    (id: string) => service.ledgerNdjson(stranger, id),
    (id: string) => service.verification(stranger, id),
    (id: string) => service.cancel(stranger, id, reason),
    (id: string) => service.resume(stranger, id, '{}'),
    (id: string) => service.suggest(stranger, id, '{}'),
    (id: string) => service.erase(stranger, id, reason),
  ];
  const before = world.held();
  for (const call of calls) {
    const theirs = await problemIn(call(sagaId));
    expect(theirs.type).toBe('saga-unknown');
    for (const none of ['0'.repeat(32), '', '..', 'a/b', 'a\u0000', 'x'.repeat(2_000)]) {
      expect(await problemIn(call(none))).toEqual(theirs);
    }
  }
  expect(world.held()).toBe(before);
  expect((await service.list(stranger, page)).sagas).toEqual([]);
});
