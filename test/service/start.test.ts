import { canonicalJson, defineSaga, defineSagaFromSteps, sensitive } from 'counterstep';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { StoreUnavailable } from '../../lambdas/ports/ledger-store.ts';
import { stepRecords } from '../../lambdas/service/start.ts';
import { sha256Hex } from '../../statemachines/ledger/hash.ts';
import { DRIVE_CHECK_MS } from '../../statemachines/rules/protocol.ts';
import { faultyStores } from '../../testing/faulty-stores.ts';
import { diamond, line, stepOf, toolOf } from '../statemachines/samples.ts';
import { holdStock, order, orderInput, refund } from './sagas.ts';
import { ada, EMPTY, principal, problemIn, stranger, World } from './world.ts';

const body = JSON.stringify(orderInput);

describe('a start', () => {
  test('is event 1, a registry entry and a drive', async () => {
    const world = new World();
    const saga = await world.service.start(ada, 'order', 'k-1', body);

    const [event] = world.events('acme', saga.id);
    expect(event).toMatchObject({
      type: 'saga_started',
      tenant: 'acme',
      sagaId: saga.id,
      principal: 'ada',
      name: 'order',
      key: 'k-1',
      machine: `order@${order.plan.digest}`,
      planDigest: order.plan.digest,
      deadlineAt: world.clock.now() + 86_400_000,
      ceiling: { costMinor: 100, currency: 'EUR' },
      registeredAt: world.clock.now() + DRIVE_CHECK_MS,
      dueAt: world.clock.now() + DRIVE_CHECK_MS,
      actor: 'ada',
    });
    expect(world.stores.held.registry.size).toBe(1);
    expect(world.started).toEqual([
      { tenant: 'acme', sagaId: saga.id, epoch: 1, machine: `order@${order.plan.digest}` },
    ]);
    expect(saga).toMatchObject({
      state: 'running',
      drive: { state: 'running', epoch: 1 },
      startedAt: '2026-01-05T12:00:00.000Z',
      steps: [
        { name: 'hold', forward: { state: 'pending' }, compensation: { state: 'not_required' } },
        { name: 'charge', forward: { state: 'pending' } },
        { name: 'mail', forward: { state: 'pending' } },
      ],
      links: { self: `/v1/sagas/${saga.id}` },
    });
    expect(saga.replayed).toBeUndefined();
  });

  test('keeps event 1 near one write unit, and sensitive input out of it', async () => {
    const world = new World();
    const saga = await world.service.start(ada, 'order', 'k-1', body);
    const [record] = world.stores.held.ledgers.get(`acme/${saga.id}`) ?? [];
    expect(record?.body).not.toContain('jo@example.com');
    expect(Buffer.byteLength(record?.body ?? '')).toBeLessThan(1_400);
    // The input, and the digest of the body.
    expect(world.stores.held.payloads.get(`acme/${saga.id}`)?.size).toBe(2);
  });

  test('knows its body again without a digest that a guess could be held against', async () => {
    const world = new World();
    const saga = await world.service.start(ada, 'order', 'k-1', body);
    const [event] = world.events('acme', saga.id);
    if (event?.type !== 'saga_started') throw new Error('event 1 is no start');
    expect(event.bodyDigest).not.toBe(sha256Hex(canonicalJson(orderInput)));
    const reordered = JSON.stringify(Object.fromEntries(Object.entries(orderInput).reverse()));
    const fresh = world.serving([order]);
    expect(await fresh.start(ada, 'order', 'k-1', reordered)).toMatchObject({ replayed: true });
    for (const other of [{ email: 'al@example.com' }, { amount: 1 }, { unknown: 1 }]) {
      const changed = JSON.stringify({ ...orderInput, ...other });
      expect((await problemIn(fresh.start(ada, 'order', 'k-1', changed))).type).toBe('key-reused');
    }
  });

  test('keeps a plain digest where nothing is sensitive, and knows it once something is', async () => {
    const world = new World();
    const input = '{"orderId":"A-1","operation":"full"}';
    const saga = await world.service.start(ada, 'refund', 'k-1', input);
    expect(world.stores.held.payloads.size).toBe(0);
    const guarded = defineSaga(
      {
        name: 'refund',
        version: '2',
        input: z.object({ orderId: sensitive(z.string()), operation: z.string() }),
        businessKey: ({ orderId, operation }) => JSON.stringify([orderId, operation]),
      },
      (next) => next.step('hold', holdStock, { input: () => ({ orderId: 'x' }) }),
    );
    const later = world.serving([guarded]);
    expect(await later.start(ada, 'refund', 'k-1', input)).toMatchObject({
      id: saga.id,
      replayed: true,
    });
    const other = '{"orderId":"A-1","operation":"full","note":"x"}';
    expect((await problemIn(later.start(ada, 'refund', 'k-1', other))).type).toBe('key-reused');
  });

  test('keeps no member that the schema does not know', async () => {
    const world = new World();
    const input = { orderId: 'A-1', operation: 'refund', password: 'hunter2' };
    const saga = await world.service.start(ada, 'refund', 'k-1', JSON.stringify(input));
    expect(world.held()).not.toContain('hunter2');
    expect(world.events('acme', saga.id)[0]).toMatchObject({
      input: { kind: 'inline', value: { orderId: 'A-1', operation: 'refund' } },
    });
  });

  test('keeps an input as it came where the schema turns it into something else', async () => {
    const dated = defineSaga(
      {
        name: 'dated',
        version: '1',
        input: z.object({ on: z.string().transform((text) => new Date(text)) }),
      },
      (saga) =>
        saga.step('hold', holdStock, {
          input: ({ input }) => ({ orderId: input.on.toISOString() }),
        }),
    );
    const world = new World({ sagas: [dated] });
    const saga = await world.service.start(ada, 'dated', 'k', '{"on":"2026-01-05"}');
    expect(world.events('acme', saga.id)[0]).toMatchObject({
      input: { value: { on: '2026-01-05' } },
    });
  });

  test('leaves nothing behind where it is refused', async () => {
    const world = new World();
    const refusals = [
      ['definition-unknown', ada, 'nothing', 'k', body],
      ['key-missing', ada, 'order', undefined, body],
      ['key-missing', ada, 'order', ' \t ', body],
      ['key-invalid', ada, 'order', 'x'.repeat(257), body],
      ['key-invalid', ada, 'order', 'a\u0000b', body],
      ['key-invalid', ada, 'order', 'a\ud800', body],
      ['body-invalid', ada, 'order', 'k', ''],
      ['body-invalid', ada, 'order', 'k', '{"a":1,"a":2}'],
      ['input-invalid', ada, 'order', 'k', '{}'],
      ['input-invalid', ada, 'refund', 'k', '{"orderId":"","operation":"x"}'],
      ['input-too-large', ada, 'document', 'k', JSON.stringify({ text: 'x'.repeat(360_000) })],
      ['forbidden', principal('reader', 'auditor', 'operator', 'reviewer'), 'order', 'k', body],
    ] as const;
    for (const [type, who, name, key, raw] of refusals) {
      const problem = await problemIn(world.service.start(who, name, key, raw));
      expect([problem.type, problem.remedy === '']).toEqual([type, false]);
    }
    expect(world.held()).toBe(EMPTY);
    expect(world.started).toEqual([]);
  });

  test('names places and codes of an input that does not fit, never its values', async () => {
    const world = new World();
    const input = { orderId: 'A-1', amount: 999_999_999, email: 'secret-value' };
    const problem = await problemIn(world.service.start(ada, 'order', 'k', JSON.stringify(input)));
    expect(problem.detail).toContain('/amount: too_big');
    expect(problem.detail).toContain('/email: invalid_format');
    expect(problem.message).not.toMatch(/secret-value|999999999/);
  });

  test('checks the key before it looks at the body', async () => {
    const problem = await problemIn(new World().service.start(ada, 'order', '', '{'));
    expect(problem.type).toBe('key-missing');
  });

  test('says what is wrong with a definition whose business key fails', async () => {
    const broken = defineSaga(
      {
        name: 'broken',
        version: '1',
        input: z.object({ orderId: z.string() }),
        businessKey: (): string => {
          throw new RangeError('secret-value');
        },
      },
      (saga) => saga.step('hold', holdStock, { input: ({ input }) => input }),
    );
    const world = new World({ sagas: [broken] });
    const problem = await problemIn(world.service.start(ada, 'broken', 'k', '{"orderId":"A"}'));
    expect(problem).toMatchObject({
      type: 'internal',
      detail: expect.stringContaining('RangeError'),
    });
    expect(problem.message).not.toContain('secret-value');
    expect(world.held()).toBe(EMPTY);
  });

  test('is another saga for another tenant and, without a business key, another principal', async () => {
    const { service } = new World();
    const grace = { ...ada, id: 'grace' };
    const ids = await Promise.all(
      [ada, grace, stranger].map(async (who) => (await service.start(who, 'order', 'k', body)).id),
    );
    expect(new Set(ids).size).toBe(3);
  });

  test('of one business fact is one saga whoever starts it, but not across tenants', async () => {
    const { service } = new World();
    const input = '{"orderId":"A-1","operation":"full"}';
    const first = await service.start(ada, 'refund', 'k-1', input);
    const second = await service.start({ ...ada, id: 'grace' }, 'refund', 'k-2', input);
    expect(second).toEqual({ ...first, replayed: true });
    const elsewhere = await service.start(stranger, 'refund', 'k-1', input);
    expect(elsewhere.id).not.toBe(first.id);
  });

  test("of a business fact cannot be met by a caller's key", async () => {
    const plain = defineSaga({ name: 'refund', version: '2', input: refund.input }, (saga) =>
      saga.step('hold', holdStock, { input: () => ({ orderId: 'x' }) }),
    );
    const world = new World();
    const input = '{"orderId":"A-1","operation":"full"}';
    const first = await world.service.start(ada, 'refund', 'k-1', input);
    const businessKey = '["A-1","full"]';
    const other = await world.serving([plain]).start(ada, 'refund', businessKey, input);
    expect(other.id).not.toBe(first.id);
  });

  test('whose answer was lost stands once: the repeat finds it', async () => {
    let failing = true;
    const world = new World({
      around: (stores) =>
        faultyStores(stores, {
          onCall: ({ operation, phase }) => {
            if (failing && operation === 'append' && phase === 'after')
              throw new StoreUnavailable('lost');
          },
        }),
    });
    // The write meets its own event when it looks again.
    const saga = await world.service.start(ada, 'order', 'k', body);
    failing = false;
    expect(await world.serving([order]).start(ada, 'order', 'k', body)).toEqual({
      ...saga,
      replayed: true,
    });
    expect(world.events('acme', saga.id)).toHaveLength(1);
  });

  test('is refused twice under one name of two definitions', () => {
    expect(() => new World({ sagas: [order, order] })).toThrow(/two saga definitions/);
  });
});

describe('the steps in event 1', () => {
  test('say nothing that the fold assumes anyway', () => {
    expect(stepRecords(line).map((step) => Object.keys(step))).toEqual(
      line.steps.map(() => ['name', 'tool', 'effect']),
    );
  });

  test('name the predecessors where they are not the step before', () => {
    expect(stepRecords(diamond)).toEqual([
      { name: 'open', tool: 'hold-stock', effect: 'reversible' },
      { name: 'left', tool: 'charge-card', effect: 'compensable' },
      { name: 'right', tool: 'hold-stock', effect: 'reversible', after: ['open'] },
      { name: 'close', tool: 'charge-card', effect: 'compensable', after: ['left', 'right'] },
    ]);
  });

  test('name a declared order of recovery', () => {
    const declared = defineSagaFromSteps(
      {
        name: 'declared',
        version: '1',
        input: z.object({ id: z.string() }),
        recovery: { after: { two: ['one'], one: [] } },
      },
      [stepOf('one', toolOf('reversible')), stepOf('two', toolOf('compensable'))],
    );
    expect(stepRecords(declared).map((step) => step.recoverAfter)).toEqual([[], ['one']]);
  });
});
