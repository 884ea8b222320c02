import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { SagaView } from '../../lambdas/service/wire.ts';
import { openRecord } from '../../statemachines/ledger/chain.ts';
import { everyone, Live } from './live.ts';
import { orderInput } from './sagas.ts';
import { principal, problemIn, stranger } from './world.ts';

let live: Live;
beforeEach(async () => {
  live = await Live.open();
});
afterEach(() => live.close());

const json = (value: unknown): string => JSON.stringify(value);

async function started(): Promise<SagaView> {
  return live.service.start(everyone, 'order', 'k-1', json(orderInput));
}

async function heldOnCharge(): Promise<{ saga: SagaView; review: string }> {
  live.outside.charge = 'unknown';
  const saga = await live.until(everyone, (await started()).id, 'needs_review');
  const review = saga.review?.id;
  if (review === undefined) throw new Error('no review is open');
  return { saga, review };
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
    const { saga, review } = await heldOnCharge();
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
    const { saga, review } = await heldOnCharge();
    live.outside.charge = 'works';
    const evidence = 'seen in the dashboard, charge C-77';
    await live.service.decide(
      everyone,
      review,
      json({ decision: 'answer', step: 'charge', action: 'forward', answer: 'committed', result: { chargeId: 'C-77' }, evidence }),
    );
    const done = await live.until(everyone, saga.id, 'completed');
    expect(done.steps[1]?.forward).toMatchObject({ state: 'done', externalIds: { charge: 'C-77' } });
    expect(live.outside.effects).toEqual(['hold A-1', 'charge A-1 4000', 'mail jo@example.com']);
    expect(await live.service.getReview(everyone, review)).toMatchObject({
      status: 'decided',
      decisions: [],
      decided: { decision: 'answer', by: 'ada', evidence },
    });
  });

  test('that committed by a person\'s word is undone with arguments made from that word', async () => {
    const { saga, review } = await heldOnCharge();
    live.outside.mail = 'refused';
    await live.service.decide(
      everyone,
      review,
      json({ decision: 'answer', step: 'charge', action: 'forward', answer: 'committed', result: { chargeId: 'C-77' }, evidence: 'seen' }),
    );
    const again = await live.until(everyone, saga.id, 'needs_review');
    const next = await live.service.getReview(everyone, again.review?.id ?? '');
    expect(next).toMatchObject({ reason: 'cost_ceiling', maxCost: { costMinor: 300, currency: 'EUR' } });
    await live.service.decide(
      everyone,
      next.id,
      json({ decision: 'approve', planHash: next.planHash, maxCost: { costMinor: 300, currency: 'EUR' } }),
    );
    await live.until(everyone, saga.id, 'compensated');
    expect(live.outside.effects.slice(2)).toEqual(['refund C-77 4000', 'release H-A-1']);
  });

  test('is answered "absent" once it cannot land any more, and tried again under a key of its own', async () => {
    const { saga, review } = await heldOnCharge();
    live.outside.charge = 'works';
    const absent = json({
      decision: 'answer',
      step: 'charge',
      action: 'forward',
      answer: 'absent',
      evidence: 'no such charge',
    });
    const early = await problemIn(live.service.decide(everyone, review, absent));
    expect(early).toMatchObject({ type: 'conflict', detail: expect.stringContaining('may still take effect') });
    await live.after(early.until);
    await live.service.decide(everyone, review, absent);
    await live.until(everyone, saga.id, 'completed');
    const claims = live.stores.held.ledgers.get(`acme/${saga.id}`)?.map((record) => openRecord(record)) ?? [];
    const keys = claims.flatMap((event) =>
      event.type === 'step_claimed' && event.step === 'charge' ? [event.key] : [],
    );
    expect(new Set(keys).size).toBe(2);
  });
});

describe('a decision', () => {
  test('with a result that the tool could not have given is refused, and nothing is kept', async () => {
    const { saga, review } = await heldOnCharge();
    const before = JSON.stringify([...live.stores.held.ledgers]);
    const payloads = live.stores.held.payloads.get(`acme/${saga.id}`)?.size;
    const problem = await problemIn(
      live.service.decide(
        everyone,
        review,
        json({ decision: 'answer', step: 'charge', action: 'forward', answer: 'committed', result: { chargeId: 77 }, evidence: 'seen' }),
      ),
    );
    expect(problem).toMatchObject({ type: 'decision-invalid', detail: expect.stringContaining('/chargeId') });
    expect(JSON.stringify([...live.stores.held.ledgers])).toBe(before);
    expect(live.stores.held.payloads.get(`acme/${saga.id}`)?.size).toBe(payloads);
  });

  test('has the members it needs and no others', async () => {
    const { review } = await heldOnCharge();
    const refusals: [unknown, string][] = [
      [{}, 'decision'],
      [{ decision: 'explode' }, 'decision'],
      [{ decision: 'retry', surprise: 1 }, 'unrecognized_keys'],
      [{ decision: 'approve' }, 'planHash'],
      [{ decision: 'approve', planHash: 'x' }, 'maxCost'],
      [{ decision: 'approve', planHash: 'x', maxCost: { costMinor: -1, currency: 'EUR' } }, 'costMinor'],
      [{ decision: 'resolve', step: 'charge' }, 'evidence'],
      [{ decision: 'resolve', step: 'charge', evidence: '  ' }, 'evidence'],
      [{ decision: 'answer', step: 'charge', action: 'forward', answer: 'perhaps', evidence: 'x' }, 'answer'],
      [{ decision: 'answer', step: 'charge', action: 'forward', answer: 'absent', evidence: 'x', result: {} }, 'result'],
      [{ decision: 'retry', planHash: 'x' }, 'planHash'],
      [{ decision: 'close' }, 'evidence'],
    ];
    for (const [body, place] of refusals) {
      const problem = await problemIn(live.service.decide(everyone, review, json(body)));
      expect([problem.type, problem.detail + problem.at]).toEqual([
        'decision-invalid',
        expect.stringContaining(place),
      ]);
    }
  });

  test('is the same once and twice, if the same person sends the same', async () => {
    const { saga, review } = await heldOnCharge();
    const body = json({ decision: 'recover', evidence: 'not worth it' });
    await live.service.decide(everyone, review, body);
    const again = await live.service.decide(everyone, review, body);
    expect(again.id).toBe(saga.id);
    const grace = { ...everyone, id: 'grace' };
    expect((await problemIn(live.service.decide(grace, review, body))).type).toBe('conflict');
    const events = live.stores.held.ledgers.get(`acme/${saga.id}`) ?? [];
    const decided = events.filter((record) => openRecord(record).type === 'review_decided');
    expect(decided).toHaveLength(1);
  });

  test('is for reviewers, on reviews that exist, in their own tenant', async () => {
    const { saga, review } = await heldOnCharge();
    const body = json({ decision: 'retry' });
    const others = principal('starter', 'reader', 'operator', 'auditor');
    expect((await problemIn(live.service.decide(others, review, body))).type).toBe('forbidden');
    for (const id of ['x', 'x.1', `${saga.id}.1`, `${saga.id}.999`, `${saga.id}.0`, `${review}0`, '../x.1']) {
      expect((await problemIn(live.service.decide(everyone, id, body))).type).toBe('review-unknown');
      expect((await problemIn(live.service.getReview(everyone, id))).type).toBe('review-unknown');
    }
    const elsewhere = await problemIn(live.service.getReview(stranger, review));
    const nowhere = await problemIn(live.service.getReview(stranger, `${'0'.repeat(32)}.9`));
    expect(elsewhere).toEqual(nowhere);
    expect((await problemIn(live.service.decide(stranger, review, body))).type).toBe('review-unknown');
    expect((await live.service.listReviews(stranger, { limit: 10 })).reviews).toEqual([]);
  });

  test('shows a model\'s advice to those who decide, and to nobody else', async () => {
    const { saga, review } = await heldOnCharge();
    await live.service.suggest(everyone, saga.id, json({ advice: 'answer committed' }));
    const shown = await live.service.getReview(principal('reviewer'), review);
    expect(shown.suggestions).toEqual([
      { by: 'ada', at: expect.any(String), value: { advice: 'answer committed' } },
    ]);
    expect((await live.service.getReview(principal('reader'), review)).suggestions).toEqual([]);
    // It moved nothing.
    expect(shown.saga.state).toBe('needs_review');
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
      decisions: ['retry', 'approve', 'resolve', 'reject'],
    });
    expect(saga.steps.map((step) => step.compensation.state)).toEqual(['pending', 'pending', 'not_required']);
    expect(saga.halt).toMatchObject({ reason: 'step_failed', step: 'mail', code: 'no_such_address' });
    expect(live.outside.effects).toEqual(['hold A-1', 'charge A-1 4000']);
  });

  test('is approved for that plan only', async () => {
    const { review } = await overCeiling();
    const stale = json({ decision: 'approve', planHash: '0'.repeat(64), maxCost: { costMinor: 300, currency: 'EUR' } });
    const problem = await problemIn(live.service.decide(everyone, review, stale));
    expect(problem).toMatchObject({ type: 'conflict', detail: expect.stringContaining('the plan has changed') });
  });

  test('runs once approved, and then nothing stands', async () => {
    const { saga, review, planHash } = await overCeiling();
    await live.service.decide(everyone, review, json({ decision: 'approve', planHash, maxCost: { costMinor: 300, currency: 'EUR' } }));
    const end = await live.until(everyone, saga.id, 'compensated');
    expect(end.steps.map((step) => step.compensation.state)).toEqual(['done', 'done', 'not_required']);
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
    await live.service.decide(everyone, review, json({ decision: 'approve', planHash, maxCost: { costMinor: 300, currency: 'EUR' } }));
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
    const saga = await live.until(everyone, (await started()).id, 'completed');
    expect((await live.service.listReviews(everyone, { limit: 10 })).reviews).toEqual([]);

    // A second charge becomes known after the end.
    const events = live.stores.held.ledgers.get(`acme/${saga.id}`)?.map((record) => openRecord(record)) ?? [];
    const claim = events.find((event) => event.type === 'step_claimed' && event.step === 'charge');
    if (claim?.type !== 'step_claimed') throw new Error('charge was never claimed');
    await live.late(saga.id, claim);
    const broken = await live.until(everyone, saga.id, 'incident');
    const id = broken.incident?.id ?? '';
    expect(broken.links.review).toBe(`/v1/reviews/${id}`);
    const { reviews } = await live.service.listReviews(everyone, { limit: 10 });
    expect(reviews).toMatchObject([{ id, kind: 'incident', status: 'open', reason: 'late_evidence' }]);
    expect(await live.service.getReview(everyone, id)).toMatchObject({ kind: 'incident', decisions: ['close'] });

    const close = json({ decision: 'close', evidence: 'charge C-2 paid back, ticket 12' });
    expect((await problemIn(live.service.decide(everyone, `${saga.id}.1`, close))).type).toBe('conflict');
    const closed = await live.service.decide(everyone, id, close);
    expect(closed.state).toBe('incident');
    expect(closed.incident?.closed).toMatchObject({ by: 'ada', evidence: 'charge C-2 paid back, ticket 12' });
    expect((await live.service.listReviews(everyone, { limit: 10 })).reviews).toEqual([]);
    expect(await live.service.getReview(everyone, id)).toMatchObject({ status: 'closed', decisions: [] });
    await live.service.decide(everyone, id, close);
  });
});
