import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { SagaView } from '../../lambdas/service/wire.ts';
import { openRecord } from '../../statemachines/ledger/chain.ts';
import { everyone, Live } from './live.ts';
import { orderInput } from './sagas.ts';
import { problemIn } from './world.ts';

let live: Live;
beforeEach(async () => {
  live = await Live.open();
});
afterEach(() => live.close());

const json = (value: unknown): string => JSON.stringify(value);

async function started(): Promise<SagaView> {
  return live.service.start(everyone, 'order', 'k-1', json(orderInput));
}

/** A refused mail makes the saga undo a charge that costs more than the ceiling. */
async function overCeiling(): Promise<{ saga: SagaView; review: string; planHash: string }> {
  live.outside.mail = 'refused';
  const saga = await live.until(everyone, (await started()).id, 'needs_review');
  const review = saga.review?.id ?? '';
  const { planHash = '' } = await live.service.getReview(everyone, review);
  return { saga, review, planHash };
}

describe('a call that nobody can say anything about', () => {
  test('is a review with the call, its words and what may be decided', async () => {
    const { saga, review } = await live.heldOnCharge('k-1');
    expect(saga).toMatchObject({
      state: 'needs_review',
      drive: { state: 'parked' },
      review: { reason: 'unknown_outcome', steps: ['charge'] },
      steps: [
        { name: 'hold', forward: { state: 'done', externalIds: { hold: 'H-A-1' } } },
        { name: 'charge', forward: { state: 'in_doubt', failure: { code: 'lost' } } },
        { name: 'mail', forward: { state: 'pending' } },
      ],
    });
    expect(await live.service.getReview(everyone, review)).toMatchObject({
      id: review,
      kind: 'review',
      status: 'open',
      reason: 'unknown_outcome',
      decisions: ['retry', 'recover', 'answer', 'reject'],
      answerable: [{ step: 'charge', action: 'forward' }],
      standing: { state: 'needs_review', clear: false },
      saga: { id: saga.id, name: 'order' },
    });
    const { reviews } = await live.service.listReviews(everyone, { limit: 10 });
    expect(reviews.map((each) => each.id)).toEqual([review]);
  });

  test('is answered "committed" with the result, and goes on with it', async () => {
    const { saga, review } = await live.heldOnCharge('k-1');
    live.outside.charge = 'works';
    const evidence = 'seen in the dashboard, charge C-77';
    await live.service.decide(
      everyone,
      review,
      json({
        decision: 'answer',
        step: 'charge',
        action: 'forward',
        answer: 'committed',
        result: { chargeId: 'C-77' },
        evidence,
      }),
    );
    const done = await live.until(everyone, saga.id, 'completed');
    expect(done.steps[1]?.forward).toMatchObject({
      state: 'done',
      externalIds: { charge: 'C-77' },
    });
    expect(live.outside.effects).toEqual(['hold A-1', 'charge A-1 4000', 'mail jo@example.com']);
    expect(await live.service.getReview(everyone, review)).toMatchObject({
      status: 'decided',
      decisions: [],
      decided: { decision: 'answer', by: 'ada', evidence },
    });
  });

  test("that committed by a person's word is undone with arguments made from that word", async () => {
    const { saga, review } = await live.heldOnCharge('k-1');
    live.outside.mail = 'refused';
    await live.service.decide(
      everyone,
      review,
      json({
        decision: 'answer',
        step: 'charge',
        action: 'forward',
        answer: 'committed',
        result: { chargeId: 'C-77' },
        evidence: 'seen',
      }),
    );
    const again = await live.until(everyone, saga.id, 'needs_review');
    const next = await live.service.getReview(everyone, again.review?.id ?? '');
    expect(next).toMatchObject({
      reason: 'cost_ceiling',
      maxCost: { costMinor: 300, currency: 'EUR' },
    });
    await live.service.decide(
      everyone,
      next.id,
      json({
        decision: 'approve',
        planHash: next.planHash,
        maxCost: { costMinor: 300, currency: 'EUR' },
      }),
    );
    await live.until(everyone, saga.id, 'compensated');
    expect(live.outside.effects.slice(2)).toEqual(['refund C-77 4000', 'release H-A-1']);
  });

  test('is answered "absent" once it cannot land any more, and tried again under a key of its own', async () => {
    const { saga, review } = await live.heldOnCharge('k-1');
    live.outside.charge = 'works';
    const absent = json({
      decision: 'answer',
      step: 'charge',
      action: 'forward',
      answer: 'absent',
      evidence: 'no such charge',
    });
    const early = await problemIn(live.service.decide(everyone, review, absent));
    expect(early).toMatchObject({
      type: 'conflict',
      detail: expect.stringContaining('may still take effect'),
    });
    // It counts for the moment it was given, however long the ledger takes to be read.
    const { ledger } = live.stores;
    const read = ledger.read.bind(ledger);
    const reads = vi.spyOn(ledger, 'read').mockImplementationOnce(async (...given) => {
      await live.after(early.until);
      return read(...given);
    });
    const slow = await problemIn(live.service.decide(everyone, review, absent));
    expect(slow).toMatchObject({ type: 'conflict', until: early.until });
    expect(reads).toHaveBeenCalled();
    await live.service.decide(everyone, review, absent);
    await live.until(everyone, saga.id, 'completed');
    const claims =
      live.stores.held.ledgers.get(`acme/${saga.id}`)?.map((record) => openRecord(record)) ?? [];
    const keys = claims.flatMap((event) =>
      event.type === 'step_claimed' && event.step === 'charge' ? [event.key] : [],
    );
    expect(new Set(keys).size).toBe(2);
  });
});

describe('a recovery over its ceiling', () => {
  test('shows its plan, cost and consequences, and nothing is undone yet', async () => {
    const { saga, review, planHash } = await overCeiling();
    const shown = await live.service.getReview(everyone, review);
    expect(shown).toMatchObject({
      reason: 'cost_ceiling',
      planHash,
      maxCost: { costMinor: 300, currency: 'EUR' },
      plan: {
        hash: planHash,
        estimateMinor: 300,
        entries: [
          { step: 'charge', action: 'compensate' },
          { step: 'hold', action: 'compensate', after: ['charge'] },
        ],
      },
      decisions: ['approve', 'resolve', 'reject'],
    });
    expect(saga.steps.map((step) => step.compensation.state)).toEqual([
      'pending',
      'pending',
      'not_required',
    ]);
    expect(saga.halt).toMatchObject({
      reason: 'step_failed',
      step: 'mail',
      code: 'no_such_address',
    });
    expect(live.outside.effects).toEqual(['hold A-1', 'charge A-1 4000']);
  });

  test('is approved for that plan only', async () => {
    const { review } = await overCeiling();
    const stale = json({
      decision: 'approve',
      planHash: '0'.repeat(64),
      maxCost: { costMinor: 300, currency: 'EUR' },
    });
    const problem = await problemIn(live.service.decide(everyone, review, stale));
    expect(problem).toMatchObject({
      type: 'conflict',
      detail: expect.stringContaining('the plan has changed'),
    });
  });

  test('runs once approved, and then nothing stands', async () => {
    const { saga, review, planHash } = await overCeiling();
    await live.service.decide(
      everyone,
      review,
      json({ decision: 'approve', planHash, maxCost: { costMinor: 300, currency: 'EUR' } }),
    );
    const end = await live.until(everyone, saga.id, 'compensated');
    expect(end.steps.map((step) => step.compensation.state)).toEqual([
      'done',
      'done',
      'not_required',
    ]);
    expect(end.dueAt).toBeUndefined();
    expect(live.outside.effects.slice(2)).toEqual(['refund C-A-1 4000', 'release H-A-1']);
    expect(await live.service.standing(everyone, saga.id)).toMatchObject({
      clear: true,
      steps: [{ standing: 'reversed' }, { standing: 'reversed' }, { standing: 'nothing' }],
    });
  });

  test('that fails is resolved by a named person, and blocks what comes after it until then', async () => {
    live.outside.refund = 'refused';
    const { saga, review, planHash } = await overCeiling();
    await live.service.decide(
      everyone,
      review,
      json({ decision: 'approve', planHash, maxCost: { costMinor: 300, currency: 'EUR' } }),
    );
    const failed = async (): Promise<SagaView> => {
      for (;;) {
        const view = await live.until(everyone, saga.id, 'needs_review');
        if (view.review?.id !== review) return view;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    };
    const held = await failed();
    expect(held).toMatchObject({
      review: { reason: 'recovery_failed', steps: ['charge'] },
      steps: [
        { compensation: { state: 'blocked' } },
        { compensation: { state: 'failed', failure: { code: 'refund_refused' } } },
        {},
      ],
    });
    await live.service.decide(
      everyone,
      held.review?.id ?? '',
      json({ decision: 'resolve', step: 'charge', evidence: 'paid back by bank transfer 4711' }),
    );
    const end = await live.until(everyone, saga.id, 'compensated');
    expect(end.steps.map((step) => step.compensation)).toMatchObject([
      { state: 'done' },
      { state: 'resolved', by: 'ada' },
      { state: 'not_required' },
    ]);
  });
});

describe('an incident', () => {
  test('is in the queue until a person closes it with evidence', async () => {
    const broken = await live.incident('k-2');
    const saga = broken;
    const id = broken.incident?.id ?? '';
    expect(broken.links.review).toBe(`/v1/reviews/${id}`);
    const { reviews } = await live.service.listReviews(everyone, { limit: 10 });
    expect(reviews).toMatchObject([
      { id, kind: 'incident', status: 'open', reason: 'late_evidence' },
    ]);
    expect(await live.service.getReview(everyone, id)).toMatchObject({
      kind: 'incident',
      decisions: ['close'],
    });

    const close = json({ decision: 'close', evidence: 'charge C-2 paid back, ticket 12' });
    expect((await problemIn(live.service.decide(everyone, `${saga.id}.1`, close))).type).toBe(
      'conflict',
    );
    const closed = await live.service.decide(everyone, id, close);
    expect(closed.state).toBe('incident');
    expect(closed.incident?.closed).toMatchObject({
      by: 'ada',
      evidence: 'charge C-2 paid back, ticket 12',
    });
    expect((await live.service.listReviews(everyone, { limit: 10 })).reviews).toEqual([]);
    expect(await live.service.getReview(everyone, id)).toMatchObject({
      status: 'closed',
      decisions: [],
    });
    await live.service.decide(everyone, id, close);
  });
});
