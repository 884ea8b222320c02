import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openRecord } from '../../statemachines/ledger/chain.ts';
import { everyone, Live } from './live.ts';
import { principal, problemIn, stranger } from './world.ts';

let live: Live;
beforeEach(async () => {
  live = await Live.open();
});
afterEach(() => live.close());

const json = (value: unknown): string => JSON.stringify(value);

describe('a decision', () => {
  test('with a result that the tool could not have given is refused, and nothing is kept', async () => {
    const { saga, review } = await live.heldOnCharge('k-1');
    const before = JSON.stringify([...live.stores.held.ledgers]);
    const payloads = live.stores.held.payloads.get(`acme/${saga.id}`)?.size;
    const problem = await problemIn(
      live.service.decide(
        everyone,
        review,
        json({
          decision: 'answer',
          step: 'charge',
          action: 'forward',
          answer: 'committed',
          result: { chargeId: 77 },
          evidence: 'seen',
        }),
      ),
    );
    expect(problem).toMatchObject({
      type: 'decision-invalid',
      detail: expect.stringContaining('/chargeId'),
    });
    expect(JSON.stringify([...live.stores.held.ledgers])).toBe(before);
    expect(live.stores.held.payloads.get(`acme/${saga.id}`)?.size).toBe(payloads);
  });

  test('has the members it needs and no others', async () => {
    const { review } = await live.heldOnCharge('k-1');
    const refusals: [unknown, string][] = [
      [{}, 'decision'],
      [{ decision: 'explode' }, 'decision'],
      [{ decision: 'retry', surprise: 1 }, '/surprise: unrecognized_keys'],
      [{ decision: 'approve' }, 'planHash'],
      [{ decision: 'approve', planHash: 'x' }, 'maxCost'],
      [
        { decision: 'approve', planHash: 'x', maxCost: { costMinor: -1, currency: 'EUR' } },
        'costMinor',
      ],
      [{ decision: 'resolve', step: 'charge' }, 'evidence'],
      [{ decision: 'resolve', step: 'charge', evidence: '  ' }, 'evidence'],
      [
        { decision: 'answer', step: 'charge', action: 'forward', answer: 'perhaps', evidence: 'x' },
        'answer',
      ],
      [
        {
          decision: 'answer',
          step: 'charge',
          action: 'forward',
          answer: 'absent',
          evidence: 'x',
          result: {},
        },
        'result',
      ],
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
    const { saga, review } = await live.heldOnCharge('k-1');
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
    const { saga, review } = await live.heldOnCharge('k-1');
    const body = json({ decision: 'retry' });
    const others = principal('starter', 'reader', 'operator', 'auditor');
    expect((await problemIn(live.service.decide(others, review, body))).type).toBe('forbidden');
    for (const id of [
      'x',
      'x.1',
      `${saga.id}.1`,
      `${saga.id}.999`,
      `${saga.id}.0`,
      `${review}0`,
      '../x.1',
    ]) {
      expect((await problemIn(live.service.decide(everyone, id, body))).type).toBe(
        'review-unknown',
      );
      expect((await problemIn(live.service.getReview(everyone, id))).type).toBe('review-unknown');
    }
    const elsewhere = await problemIn(live.service.getReview(stranger, review));
    const nowhere = await problemIn(live.service.getReview(stranger, `${'0'.repeat(32)}.9`));
    expect(elsewhere).toEqual(nowhere);
    expect((await problemIn(live.service.decide(stranger, review, body))).type).toBe(
      'review-unknown',
    );
    expect((await live.service.listReviews(stranger, { limit: 10 })).reviews).toEqual([]);
  });

  test("shows a model's advice to those who decide, and to nobody else", async () => {
    const { saga, review } = await live.heldOnCharge('k-1');
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
