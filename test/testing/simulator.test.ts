import { SimulationBroken, simulateSeed, tell } from 'counterstep/testing';
import { describe, expect, it } from 'vitest';
import { order } from '../../examples/order/saga.ts';
import { refund, refundOf } from '../../examples/refund/saga.ts';
import { Chance } from '../../testing/chance.ts';
import { WAYS } from '../../testing/person.ts';
import { POLICY_MISHAPS } from '../../testing/policies.ts';
import { shrink } from '../../testing/shrink.ts';
import { planOf } from '../../testing/simulate.ts';
import { describeStrike, REQUESTS } from '../../testing/strikes.ts';
import { CHANGES } from '../../testing/versions.ts';

const OPTIONS = { sagas: [refund, order, refundOf('EXPRESS')], count: 5 };

describe('a seed', () => {
  it('always plays the same world', async () => {
    const [first, second, other] = [
      await simulateSeed(OPTIONS, 11),
      await simulateSeed(OPTIONS, 11),
      await simulateSeed(OPTIONS, 12),
    ];
    expect(first.outcomes).toEqual(second.outcomes);
    expect(first.outcomes).not.toEqual(other.outcomes);
  });

  it('draws every kind of strike, over many seeds', () => {
    const kinds = new Set<string>();
    for (let seed = 1; seed <= 120; seed += 1) {
      for (const strike of planOf({ ...OPTIONS, outboxShare: 1 }, seed).strikes) {
        kinds.add(strike.kind);
        expect(describeStrike(strike)).toMatch(/\w{4}/);
      }
    }
    expect([...kinds].sort()).toEqual(
      [
        ...REQUESTS,
        'call',
        'deploy',
        'invocation',
        'lease',
        'outage',
        'outbox',
        'policy',
        'projection_lost',
        'provider',
        'question',
        'rebuild',
        'rerun',
        'restart',
        'review',
        'start',
        'store',
        'stream',
      ].sort(),
    );
  });

  it('draws every way of a person, every change of a version, and starts that meet', () => {
    const drawn = new Set<string>();
    for (let seed = 1; seed <= 120; seed += 1) {
      const { started, strikes } = planOf(OPTIONS, seed);
      for (const strike of strikes) {
        if (strike.kind === 'review') drawn.add(strike.way);
        if (strike.kind === 'deploy') drawn.add(strike.change);
        if (strike.kind === 'policy') drawn.add(strike.mishap);
      }
      const keys = new Set(started.map((each) => each?.key));
      if (keys.size < started.length) drawn.add('twins');
    }
    expect([...drawn].sort()).toEqual(
      [...WAYS, ...CHANGES, ...POLICY_MISHAPS, 'given', 'back', 'twins'].sort(),
    );
  });

  it('has a story', async () => {
    const story = await tell(OPTIONS, 11);
    expect(story).toMatch(/^Started:\n {2}saga 0: "\w+" for \w+ at \+\d+ ms/);
    expect(story).not.toContain('Broken');
    const error = new SimulationBroken(11, ['4: it took effect 2 times'], story);
    expect(error.message).toContain('seed 11 breaks an invariant: 4: it took effect 2 times');
    expect(error.message).toContain('Started:');
  });
});

describe('a story', () => {
  it('is shrunk to the strikes and sagas without which nothing breaks', async () => {
    const plan = planOf(OPTIONS, 11);
    const needed = plan.strikes
      .filter((strike) => 'saga' in strike && strike.saga === 3)
      .slice(0, 2);
    expect(needed).toHaveLength(2);
    const shrunk = await shrink(plan, async ({ started, strikes }) => {
      const breaks = started[3] !== undefined && needed.every((each) => strikes.includes(each));
      return breaks
        ? ['4: twice (saga 3)']
        : strikes.length % 2 === 1
          ? ['12: something else']
          : [];
    });
    expect(shrunk.findings).toEqual(['4: twice (saga 3)']);
    expect(shrunk.plan.strikes).toEqual(needed);
    expect(shrunk.plan.started.map((each) => each !== undefined)).toEqual([
      false,
      false,
      false,
      true,
      false,
    ]);
  });
});

describe('chance', () => {
  it('repeats by seed, and by purpose', () => {
    const drawn = (chance: Chance): number[] =>
      Array.from({ length: 5 }, () => chance.between(0, 99));
    expect(drawn(new Chance(7))).toEqual(drawn(new Chance(7)));
    expect(drawn(new Chance(7))).not.toEqual(drawn(new Chance(8)));
    const [one, same, other] = [new Chance(7), new Chance(7), new Chance(7)];
    expect(drawn(one.apart('clocks'))).toEqual(drawn(same.apart('clocks')));
    expect(drawn(one.apart('clocks'))).not.toEqual(drawn(other.apart('stores')));
    expect(() => new Chance(7).pick([])).toThrow(RangeError);
  });
});
