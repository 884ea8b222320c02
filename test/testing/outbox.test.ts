import { type SimulateOptions, simulateSeed } from 'counterstep/testing';
import { describe, expect, it } from 'vitest';
import { order } from '../../examples/order/saga.ts';
import { refund, refundOf } from '../../examples/refund/saga.ts';
import { planOf } from '../../testing/simulate.ts';
import { storyOf } from '../../testing/story.ts';

const OPTIONS = { sagas: [refund, order, refundOf('EXPRESS')], count: 4 };
const ALWAYS: SimulateOptions = { ...OPTIONS, outboxShare: 1 };
const SEEDS = 15;

describe('the outbox in a world', () => {
  it('brings what it should to those outside, whatever is lost, late, doubled or dies', async () => {
    const sum = { records: 0, lost: 0, published: 0, died: 0 };
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const { broken, outbox, events } = await simulateSeed(ALWAYS, seed);
      expect(broken).toEqual([]);
      expect(outbox?.records).toBe(events);
      sum.records += outbox?.records ?? 0;
      sum.lost += outbox?.lost ?? 0;
      sum.published += outbox?.published ?? 0;
      sum.died += outbox?.died ?? 0;
    }
    expect(sum.lost / sum.records).toBeGreaterThan(0.02);
    // A start and an end of each at least, and repeats.
    expect(sum.published).toBeGreaterThan(2 * OPTIONS.count * SEEDS);
    expect(sum.died).toBeGreaterThan(SEEDS / 2);
  }, 60_000);

  it('is in about one of eight, and the others are as they would be without', async () => {
    const seeds = Array.from({ length: 400 }, (_, index) => index + 1);
    const having = seeds.filter((seed) => planOf(OPTIONS, seed).outbox === true);
    expect(having.length).toBeGreaterThan(30);
    expect(having.length).toBeLessThan(70);
    const without = seeds.find((seed) => !having.includes(seed)) ?? 0;
    expect(planOf(OPTIONS, without)).toEqual(planOf({ ...OPTIONS, outboxShare: 0 }, without));
    const { outcomes, outbox } = await simulateSeed(OPTIONS, without);
    expect(outbox).toBeUndefined();
    expect(outcomes.every((outcome) => outcome.outbox === undefined)).toBe(true);
  });

  it('repeats by seed, and is told in a story where something breaks', async () => {
    const [first, second] = [await simulateSeed(ALWAYS, 3), await simulateSeed(ALWAYS, 3)];
    expect(first.outcomes).toEqual(second.outcomes);
    expect(first.outbox).toEqual(second.outbox);
    const outcomes = first.outcomes.map((each) => ({ ...each, findings: ['14: made up'] }));
    const plan = planOf(ALWAYS, 3);
    const story = storyOf(plan, { ...first, outcomes }, plan.strikes.length);
    expect(story).toMatch(/What the outbox made of it:\n {2}\+\d+ /);
    expect(story).toMatch(/counterstep\.saga\.started is published as \w+\/\w+\/1\n/);
    expect(story).toMatch(/its row says \w+ at \d+ once it was made anew\n/);
  });
});
