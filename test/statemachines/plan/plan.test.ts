import { createHash } from 'node:crypto';
import { canonicalJson, defineSagaFromSteps, type JsonValue } from 'counterstep';
import { describe, expect, test } from 'vitest';
import { diamond, line, reading, spec, stepOf, toolOf, tools } from '../samples.ts';

type Recovery = NonNullable<Parameters<typeof defineSagaFromSteps>[0]['recovery']>;

function recoveryOf(steps: Parameters<typeof defineSagaFromSteps>[1], recovery: Recovery = {}) {
  const { plan } = defineSagaFromSteps({ ...spec, recovery }, steps);
  return {
    waves: plan.recoveryWaves,
    after: Object.fromEntries(plan.steps.map((step) => [step.name, step.recoverAfter])),
  };
}
const three = [stepOf('a', tools.hold), stepOf('b', tools.hold), stepOf('c', tools.hold)];

describe('co-01: the order of recovery', () => {
  test('a line is recovered in strict reverse, the pivot first, reads left out', () => {
    expect(line.plan.forwardWaves).toEqual([['look'], ['hold'], ['charge'], ['send']]);
    expect(line.plan.recoveryWaves).toEqual([['send'], ['charge'], ['hold']]);
    expect(line.plan.steps.map((step) => step.recoverAfter)).toEqual([
      [],
      ['charge'],
      ['send'],
      [],
    ]);
  });
  test('a graph is turned round', () => {
    expect(diamond.plan.forwardWaves).toEqual([['open'], ['left', 'right'], ['close']]);
    expect(diamond.plan.recoveryWaves).toEqual([['close'], ['right', 'left'], ['open']]);
    expect(diamond.plan.steps.map((step) => step.recoverAfter)).toEqual([
      ['left', 'right'],
      ['close'],
      ['close'],
      [],
    ]);
  });
  test('a read between two writing steps does not free them from their order', () => {
    const { waves, after } = recoveryOf([
      stepOf('a', tools.hold),
      stepOf('look', tools.look),
      stepOf('look-again', tools.look),
      stepOf('b', tools.hold),
    ]);
    expect(waves).toEqual([['b'], ['a']]);
    expect(after.a).toEqual(['b']);
  });
  test('declared dependencies override; steps not named keep their place', () => {
    expect(recoveryOf(three, { after: { a: ['c'] } })).toEqual({
      waves: [['c'], ['b', 'a']],
      after: { a: ['c'], b: ['c'], c: [] },
    });
    expect(recoveryOf(three, { after: { a: [], b: ['a'] } })).toEqual({
      waves: [['c', 'a'], ['b']],
      after: { a: [], b: ['a'], c: [] },
    });
  });
  test('priority moves a step first where the graph allows, and claims can check it', () => {
    const freed = { a: [], b: [], c: ['b'] };
    expect(recoveryOf(three, { after: freed, priority: { a: 5 } })).toEqual({
      waves: [['a'], ['b'], ['c']],
      after: { a: [], b: ['a'], c: ['b'] },
    });
    // `c` has the highest priority, but waits for `b`.
    expect(recoveryOf(three, { after: freed, priority: { c: 9, a: 5 } }).waves).toEqual([
      ['a'],
      ['b'],
      ['c'],
    ]);
  });
});

describe('what recovery does is decided by the effect class', () => {
  test.each([
    ['read_only', undefined],
    ['reversible', 'compensate'],
    ['reversible_with_cost', 'compensate'],
    ['compensable', 'compensate'],
    ['supersede', 'supersede'],
    ['irreversible', 'contain'],
    ['human_decision', undefined],
  ] as const)('%s', (effect, action) => {
    const { plan } = defineSagaFromSteps(spec, [stepOf('s', toolOf(effect))]);
    expect(plan.steps[0]?.recovery?.action).toBe(action);
    expect(plan.recoveryWaves).toEqual(effect === 'read_only' ? [] : [['s']]);
    expect(plan.steps[0]?.estimate).toEqual(
      effect === 'reversible_with_cost' ? { costMinor: 100, currency: 'EUR' } : undefined,
    );
  });
});

describe('the plan is data', () => {
  test('it survives JSON unchanged', () => {
    for (const { plan } of [line, diamond, reading]) {
      expect(JSON.parse(JSON.stringify(plan))).toEqual(plan);
    }
  });
  test('its digest is the SHA-256 of the canonical JSON of the rest', () => {
    const { digest, ...body } = line.plan;
    const text = canonicalJson(body as unknown as JsonValue);
    expect(digest).toBe(createHash('sha256').update(text).digest('hex'));
  });
  test('whatever the rules read changes the digest; an equal definition does not', () => {
    const digest = (more: object = {}, tool = tools.hold) =>
      defineSagaFromSteps({ ...spec, ...more }, [stepOf('a', tool)]).plan.digest;
    const variants = [
      digest(),
      digest({ version: '2' }),
      digest({ type: 'EXPRESS' }),
      digest({ deadlineMs: 60_000 }),
      digest({ budget: { attempts: 10 } }),
      digest({ budget: { cost: { costMinor: 10, currency: 'EUR' } } }),
      digest({ recovery: { reviewMs: 5 } }),
      digest({ recovery: { ceiling: { costMinor: 0, currency: 'EUR' } } }),
      digest({}, toolOf('reversible', 'hold-stock', 6_000)),
    ];
    expect(new Set(variants).size).toBe(variants.length);
    expect(digest({}, toolOf('reversible', 'hold-stock'))).toBe(digest());
  });
  test('defaults are written out', () => {
    expect(reading.plan).toMatchObject({ sagaType: 'STANDARD', reviewMs: 86_400_000, protocol: 1 });
    expect(reading.plan).not.toHaveProperty('deadlineMs');
  });
});
