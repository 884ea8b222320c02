import { type AnySaga, defineSagaFromSteps, defineTool } from 'counterstep';
import type { Strike } from 'counterstep/testing';
import { describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { order } from '../../examples/order/saga.ts';
import { guarded } from '../../scripts/simulate/guarded.ts';
import type { SagaEvent } from '../../statemachines/rules/events.ts';
import { exampleOf } from '../../testing/example.ts';
import { RERUN, type Started } from '../../testing/strikes.ts';
import { playWorld, type WorldResult } from '../../testing/world.ts';

/** Worlds in which one thing is done that a seed may draw: it must really come about. */
function started(saga: AnySaga, tenant = 'acme', key = 'key-0'): Started {
  const input = exampleOf(saga.input, 'the input', { number: 1 });
  return { saga, tenant, key, atMs: 0, input };
}

async function world(starts: readonly Started[], strikes: readonly Strike[]): Promise<WorldResult> {
  const result = await playWorld({ seed: 1, started: starts, strikes }, { later: [] });
  expect(result.broken).toEqual([]);
  return result;
}

function eventsOf(result: WorldResult, index: number): readonly SagaEvent[] {
  return result.outcomes.find((each) => each.index === index)?.events ?? [];
}

function endOf(result: WorldResult, index: number): string | undefined {
  return result.outcomes.find((each) => each.index === index)?.end;
}

function found(
  events: readonly SagaEvent[],
  type: SagaEvent['type'],
  like: object = {},
): readonly SagaEvent[] {
  return events.filter(
    (event) =>
      event.type === type &&
      Object.entries(like).every(
        ([name, value]) => (event as unknown as Record<string, unknown>)[name] === value,
      ),
  );
}

const refusal: Strike = {
  kind: 'provider',
  saga: 0,
  step: 'notice',
  action: 'forward',
  nth: 1,
  times: 1,
  mishap: 'refused',
};

describe('a policy', () => {
  const policy = { kind: 'policy', saga: 0, step: 'payment', nth: 1, times: 1 } as const;

  it('that denies ends the way forward before any claim', async () => {
    const result = await world([started(order)], [{ ...policy, mishap: 'denies' }]);
    const events = eventsOf(result, 0);
    expect(endOf(result, 0)).toBe('compensated');
    expect(found(events, 'step_failed', { reason: 'policy_denied' })).toHaveLength(1);
    expect(found(events, 'step_claimed', { step: 'payment' })).toEqual([]);
    expect(found(events, 'step_claimed', { step: 'inventory', action: 'compensate' })).toHaveLength(
      1,
    );
  });

  it.each(['throws', 'is_silent', 'answers_nonsense'] as const)(
    'that %s is a matter for a person',
    async (mishap) => {
      const result = await world([started(order)], [{ ...policy, mishap }]);
      const events = eventsOf(result, 0);
      expect(found(events, 'step_failed', { code: 'policy_failed' })).toHaveLength(1);
      expect(found(events, 'review_decided', { decision: 'retry' })).toHaveLength(1);
      expect(endOf(result, 0)).toBe('completed');
    },
  );
});

describe('a saga that is run again', () => {
  it('goes on from its checkpoint, however often that is asked for', async () => {
    const again = { kind: 'rerun', saga: 0, key: 'again' } as const;
    const result = await world(
      [started(guarded)],
      [
        refusal,
        { ...again, afterMs: 0, crash: { call: 3, phase: 'after' } },
        { ...again, afterMs: 0 },
        { ...again, key: 'again too', afterMs: 10 },
        { ...again, key: 'and again', afterMs: 60_000 },
      ],
    );
    expect(result.outcomes.map(({ index, end }) => [index, end])).toEqual([
      [0, 'compensated'],
      [RERUN, 'completed'],
    ]);
    const [start] = eventsOf(result, RERUN);
    expect(start).toMatchObject({ previous: result.outcomes[0]?.id.sagaId });
    expect(start).toHaveProperty('adopted.0.step', 'paper');
    expect(found(eventsOf(result, RERUN), 'step_claimed', { step: 'paper' })).toEqual([]);
  });

  it('may fail again, and be run again', async () => {
    const fails = (saga: number): Strike => ({ ...refusal, saga });
    const again = { kind: 'rerun', key: 'again', afterMs: 1_000 } as const;
    const result = await world(
      [started(guarded)],
      [fails(0), { ...again, saga: 0 }, fails(RERUN), { ...again, saga: RERUN }],
    );
    expect(result.outcomes.map(({ index, end }) => [index, end])).toEqual([
      [0, 'compensated'],
      [RERUN, 'compensated'],
      [2 * RERUN, 'completed'],
    ]);
  });
});

describe('a start', () => {
  it('with the same key and body is the same saga, and another one for another tenant', async () => {
    const at = { saga: 0, atMs: 0 } as const;
    const result = await world(
      [started(order), started(order, 'globex')],
      [
        { kind: 'repeat_start', ...at },
        { kind: 'repeat_start', saga: 1, atMs: 5 },
        { kind: 'start_other_body', ...at, atMs: 900 },
        { kind: 'stranger', ...at, atMs: 800 },
      ],
    );
    const ids = result.outcomes.map(({ id }) => id);
    expect(ids.map(({ tenant }) => tenant).sort()).toEqual(['acme', 'globex']);
    expect(ids[0]?.sagaId).not.toBe(ids[1]?.sagaId);
  });
});

describe('a deploy in the middle', () => {
  const silent: Strike = { ...refusal, step: 'courier', mishap: 'silent' };
  const deploy = { kind: 'deploy', atMs: 2_000, of: order.name, place: 3 } as const;

  it.each(['renamed', 'removed', 'added', 'retooled', 'reclassed'] as const)(
    'that takes the code away, and cannot take the saga over (%s), leaves it to a person',
    async (change) => {
      const result = await world(
        [started(order)],
        [silent, { ...deploy, place: change === 'reclassed' ? 1 : 3, retained: false, change }],
      );
      const events = eventsOf(result, 0);
      const [review] = found(events, 'review_opened', { reason: 'code_drift' });
      expect(review).toHaveProperty('explanation', expect.stringContaining('is pinned to'));
      const decided = found(events, 'review_decided', {
        review: (review as { review?: string }).review,
      });
      // It was refused until the saga's own version had come back.
      expect(decided).toHaveLength(1);
      expect(endOf(result, 0)).toBe('completed');
    },
  );

  it.each(['type', 'patience'] as const)(
    'that fits (%s) is taken over by a person',
    async (change) => {
      const result = await world(
        [started(order)],
        [silent, { ...deploy, retained: false, change }],
      );
      const [decided] = found(eventsOf(result, 0), 'review_decided', { decision: 'retry' });
      expect(decided).toHaveProperty('planDigest', expect.not.stringContaining(order.plan.digest));
      expect(endOf(result, 0)).toBe('completed');
    },
  );

  it('beside which older code is retained changes nothing for what has begun', async () => {
    const result = await world(
      [started(order)],
      [silent, { ...deploy, retained: true, change: 'renamed' }],
    );
    expect(found(eventsOf(result, 0), 'review_opened', { reason: 'code_drift' })).toEqual([]);
    expect(endOf(result, 0)).toBe('completed');
  });
});

describe('a call in doubt whose undo must wait', () => {
  it('does not keep a person from undoing what comes before it', async () => {
    const call = { dedupe: 'lookup', timeoutMs: 1_000, settleMs: 0 } as const;
    const schema = z.object({ id: z.string() });
    const common = {
      description: 'Is simulated.',
      reconcile: true,
      input: schema,
      output: schema,
      forward: call,
    };
    const input = (facts: { readonly input: unknown }): unknown => facts.input;
    const decided = defineTool({ ...common, name: 'decide', effect: 'human_decision' });
    const from = ({ output }: { readonly output: { readonly id: string } }): { id: string } =>
      output;
    const compensate = { ...call, input: schema, from };
    const booked = defineTool({
      ...common,
      name: 'book',
      effect: 'reversible',
      compensate,
    });
    const saga = defineSagaFromSteps(
      {
        name: 'doubt',
        version: '1',
        input: schema,
        deadlineMs: 20_000,
        recovery: { after: { decided: [], booked: ['decided'] } },
      },
      [
        { name: 'decided', tool: decided, input },
        { name: 'booked', tool: booked, input },
      ],
    );
    const unclear: Strike = { ...refusal, step: 'booked', mishap: 'pending_then_dropped' };
    const result = await world([started(saga)], [unclear]);
    const events = eventsOf(result, 0);
    expect(found(events, 'review_opened', { reason: 'no_progress' })).toEqual([]);
    expect(found(events, 'review_opened', { reason: 'human_decision' })).toHaveLength(1);
    expect(endOf(result, 0)).toBe('compensated');
  });
});

describe('a person', () => {
  const held: Strike = { ...refusal, mishap: 'held' };
  const review = { kind: 'review', saga: 0, nth: 1, afterMs: 1_500 } as const;

  it('may recover what could have gone on, and only tell of what is undone', async () => {
    const result = await world([started(guarded)], [held, { ...review, way: 'recover' }]);
    expect(found(eventsOf(result, 0), 'review_decided', { decision: 'recover' })).toHaveLength(1);
    expect(endOf(result, 0)).toBe('compensated');
  });

  it('may reject a plan, and is asked again', async () => {
    const result = await world([started(guarded)], [held, { ...review, way: 'reject' }]);
    const decisions = found(eventsOf(result, 0), 'review_decided');
    expect(decisions.map((event) => (event as { decision?: string }).decision)).toEqual([
      'reject',
      'retry',
    ]);
  });

  it('cannot approve less than a plan costs', async () => {
    const costly = (way: 'approve_too_little' | 'resolve'): Promise<WorldResult> =>
      world([started(guarded)], [refusal, { ...review, way }]);
    const approved = found(eventsOf(await costly('approve_too_little'), 0), 'review_decided');
    expect(approved).toHaveLength(1);
    expect(approved[0]).toMatchObject({ decision: 'approve', maxCost: { costMinor: 400 } });
    const resolved = found(eventsOf(await costly('resolve'), 0), 'review_decided');
    expect(resolved[0]).toMatchObject({ decision: 'resolve' });
  });

  it('looks again before an answer is repeated that was not heard', async () => {
    const forward = { dedupe: 'none', timeoutMs: 1_000, settleMs: 20_000 } as const;
    const input = z.object({ id: z.string() });
    const post = { name: 'post', description: 'Is simulated.', effect: 'irreversible' } as const;
    const tool = defineTool({ ...post, input, output: input, forward });
    const saga = defineSagaFromSteps({ name: 'posted', version: '1', input }, [
      { name: 'notice', tool, input: (facts) => facts.input },
    ]);
    const late: Strike = { ...refusal, mishap: 'lands_late' };
    const deaf: Strike = { kind: 'outage', of: 'stores', fromMs: 10_000, toMs: 30_000 };
    const asked = { ...review, way: 'answer' } as const;
    const result = await world([started(saga)], [late, deaf, { ...asked, afterMs: 12_000 }]);
    const decided = found(eventsOf(result, 0), 'review_decided');
    expect(decided).toMatchObject([{ decision: 'answer', answer: 'committed' }]);
    expect(endOf(result, 0)).toBe('completed');
  });

  it('may answer in the moment another does', async () => {
    const result = await world([started(guarded)], [held, { ...review, way: 'both' }]);
    expect(found(eventsOf(result, 0), 'review_decided')).toHaveLength(1);
  });
});

describe('a Task that comes once more', () => {
  const again = { kind: 'lease', saga: 0, step: 'desk', action: 'forward', attempt: 1 } as const;
  const repeated: Strike = { ...again, afterMs: 4_000 };

  /** How long after the lease of the first claim the second one came. */
  const claimedAfter = async (strikes: readonly Strike[]): Promise<number> => {
    const result = await world([started(guarded)], strikes);
    const [first, second] = found(eventsOf(result, 0), 'step_claimed', { step: 'desk' });
    expect(endOf(result, 0)).toBe('completed');
    if (first?.type !== 'step_claimed') throw new Error('the step was never claimed');
    return (second?.at ?? Infinity) - first.leaseUntil;
  };

  it('when a lease is over takes up the call that its holder left', async () => {
    let sooner = 0;
    for (let index = 8; index <= 12; index += 1) {
      const hangs: Strike = { kind: 'store', index, phase: 'after', fault: 'hang', delayMs: 0 };
      const alone = await claimedAfter([hangs]);
      const taken = await claimedAfter([hangs, repeated]);
      expect(taken).toBeGreaterThan(0);
      if (taken < alone) sooner += 1;
    }
    expect(sooner).toBeGreaterThan(0);
  });
});
