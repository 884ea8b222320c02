import { DefinitionError, defineSaga, defineSagaFromSteps, defineTool } from 'counterstep';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { call, diamond, line, spec, stepOf, toolOf, tools } from '../samples.ts';

type Spec = Parameters<typeof defineSagaFromSteps>[0];
type Steps = Parameters<typeof defineSagaFromSteps>[1];

function problemsOf(steps: Steps, more: Partial<Spec> = {}): string {
  try {
    defineSagaFromSteps({ ...spec, ...more }, steps);
  } catch (error) {
    if (error instanceof DefinitionError) return error.message;
    throw error;
  }
  return 'none';
}

test('a definition holds what it was given, frozen, with its plan', () => {
  const saga = defineSaga(
    {
      name: 'refund',
      version: '2',
      input: z.object({ orderId: z.string() }),
      businessKey: (input) => input.orderId,
    },
    (chain) => chain.step('look', tools.look, { input: ({ input }) => ({ id: input.orderId }) }),
  );
  expect(saga).toMatchObject({ kind: 'saga', name: 'refund', version: '2' });
  expect(saga.businessKey?.({ orderId: 'o-1' })).toBe('o-1');
  expect(saga.steps.map((step) => [step.name, step.tool])).toEqual([['look', tools.look]]);
  expect(saga.steps[0]?.input({ input: { orderId: 'o-1' }, results: {} })).toEqual({ id: 'o-1' });
  expect(Object.isFrozen(saga) && Object.isFrozen(saga.steps) && Object.isFrozen(saga.plan)).toBe(
    true,
  );
  expect(() => Object.assign(saga.plan, { digest: '' })).toThrow(TypeError);
});

test('a step knows the steps it may read: all before it, in declared order', () => {
  expect(diamond.steps.map((step) => step.ancestors)).toEqual([
    [],
    ['open'],
    ['open'],
    ['open', 'left', 'right'],
  ]);
  expect(line.steps.at(-1)?.ancestors).toEqual(['look', 'hold', 'charge']);
});

test('a builder can be used twice: it never changes', () => {
  const saga = defineSaga({ name: 's', version: '1', input: z.object({}) }, (chain) => {
    const start = chain.step('a', tools.look, { input: () => ({ id: '' }) });
    start.step('c', tools.look, { input: () => ({ id: 'first' }) });
    return start.step('c', tools.look, { input: () => ({ id: 'second' }) });
  });
  expect(saga.steps.map((step) => step.name)).toEqual(['a', 'c']);
  expect(saga.steps[1]?.input({ input: {}, results: {} })).toEqual({ id: 'second' });
});

test('a step that is declared beside the chain is not lost', () => {
  const define = (): unknown =>
    defineSaga({ name: 's', version: '1', input: z.object({}) }, (chain) => {
      chain.step('a', tools.look, { input: () => ({ id: '' }) });
      return chain.step('b', tools.look, { input: () => ({ id: '' }) });
    });
  expect(define).toThrow(
    'saga "s", step "a": it is declared, and not among the steps that the function returns',
  );
});

test('a chain that is not returned is reported', () => {
  const build = ((): unknown => undefined) as unknown as Parameters<typeof defineSaga>[1];
  expect(() => defineSaga({ name: 's', version: '1', input: z.object({}) }, build)).toThrow(
    'Return the chain',
  );
});

describe('co-06: what is ambiguous or missing is refused, naming the step', () => {
  test('two steps of one name', () => {
    expect(problemsOf([stepOf('a', tools.hold), stepOf('a', tools.charge)])).toContain(
      'saga "sample", step "a": another step has the same name',
    );
  });
  test('a step after itself', () => {
    expect(problemsOf([stepOf('a', tools.hold, ['a'])])).toContain('wait for each other: a → a');
  });
  test('a step after one that does not exist', () => {
    expect(problemsOf([stepOf('a', tools.hold, ['b'])])).toContain(
      'step "a": `after` names the step "b", which does not exist. Use one of a.',
    );
  });
  test('a recovery after one that does not exist, or that only reads', () => {
    const steps = [stepOf('a', tools.hold), stepOf('look', tools.look), stepOf('b', tools.hold)];
    const message = problemsOf(steps, {
      recovery: { after: { a: ['x', 'look'], y: [], constructor: ['a'] } },
    });
    expect(message).toContain('`recovery.after` of "a" names the step "x"');
    expect(message).toContain('names the step "look", which only reads and has no recovery');
    expect(message).toContain('`recovery.after` names the step "y"');
    expect(message).toContain('`recovery.after` names the step "constructor"');
  });
  test('a cycle is named, forward and in recovery', () => {
    expect(
      problemsOf([
        stepOf('a', tools.hold, ['c']),
        stepOf('b', tools.hold),
        stepOf('c', tools.hold),
      ]),
    ).toContain('its steps wait for each other: a → b → c → a');
    expect(
      problemsOf([stepOf('a', tools.hold), stepOf('b', tools.hold)], {
        recovery: { after: { b: ['a'] } },
      }),
    ).toContain('its recoveries wait for each other: b → a → b');
  });
  test('nothing, no tool, no mapping', () => {
    expect(problemsOf([])).toContain('it has no step');
    const bare = { name: 'a', tool: {}, input: undefined } as unknown as Steps[number];
    expect(problemsOf([bare])).toContain('it has no tool');
    expect(problemsOf([bare])).toContain('it has no input mapping');
  });
  test('two tools of one name', () => {
    expect(
      problemsOf([stepOf('a', toolOf('reversible', 't')), stepOf('b', toolOf('read_only', 't'))]),
    ).toContain('step "b": its tool "t" is another one than an earlier step\'s tool of that name');
  });
});

describe('co-15: an irreversible step is the point of no return', () => {
  const [hold, charge, send, look] = [tools.hold, tools.charge, tools.send, tools.look];
  test('what needs compensation may not follow it', () => {
    expect(
      problemsOf([stepOf('charge', charge), stepOf('send', send), stepOf('courier', hold)]),
    ).toContain(
      'step "courier": it needs compensation, but follows the irreversible step "send". Move it before "send".',
    );
  });
  test('one in the middle means two sagas', () => {
    expect(
      problemsOf([stepOf('send', send), stepOf('courier', hold), stepOf('tell', send)]),
    ).toContain('Split this into two sagas, each ending with its own irreversible step');
  });
  test('nothing that writes runs beside it', () => {
    const beside = [stepOf('a', look), stepOf('send', send, ['a']), stepOf('hold', hold, ['a'])];
    expect(problemsOf(beside)).toContain('it writes while the irreversible step "send" runs');
    const two = [stepOf('a', look), stepOf('send', send, ['a']), stepOf('tell', send, ['a'])];
    expect(problemsOf(two).match(/it writes while/g)).toHaveLength(1);
  });
  test('reads may run beside and behind it; further effects behind it retry until they finish', () => {
    const saga = defineSagaFromSteps(spec, [
      stepOf('hold', hold),
      stepOf('send', send),
      stepOf('peek', look, ['hold']),
      stepOf('read', look, ['send']),
      stepOf('tell', send, ['read']),
      stepOf('mark', toolOf('supersede'), ['tell']),
    ]);
    expect(saga.plan.steps.filter((step) => step.afterPivot).map((step) => step.name)).toEqual([
      'read',
      'tell',
      'mark',
    ]);
  });
});

describe('limits', () => {
  const wide = (count: number): Steps =>
    Array.from({ length: count }, (_, index) => stepOf(`s${index}`, tools.hold, []));
  test('ten side by side are the most, forward and in recovery', () => {
    expect(problemsOf(wide(10))).toBe('none');
    const message = problemsOf(wide(11));
    expect(message).toContain('11 steps would run side by side: s0, s1');
    expect(message).toContain('11 recoveries would run side by side');
  });
  test('a wave that only recovery has', () => {
    const steps = wide(11).map(({ name, tool }) => stepOf(name, tool));
    const freed = Object.fromEntries(steps.map((step) => [step.name, []]));
    const message = problemsOf(steps, { recovery: { after: freed } });
    expect(message).toContain('11 recoveries would run side by side');
    expect(message).not.toContain('11 steps');
  });
  test('an Express saga has no attempt over four minutes', () => {
    const slow = defineTool({
      name: 'slow',
      description: 'Takes its time.',
      effect: 'irreversible',
      input: z.object({}),
      output: z.object({}),
      forward: call,
      contain: { ...call, timeoutMs: 240_001 },
    });
    expect(problemsOf([stepOf('slow', slow)])).toBe('none');
    expect(problemsOf([stepOf('slow', slow)], { type: 'EXPRESS' })).toContain(
      'step "slow": contain may take 240001 ms, too long for an Express execution',
    );
  });
  test('times, type, ceiling, currency', () => {
    const steps = [stepOf('a', toolOf('reversible_with_cost'))];
    const message = problemsOf(steps, {
      type: 'FAST' as 'EXPRESS',
      deadlineMs: 0,
      recovery: { reviewMs: 1.5, ceiling: { costMinor: -1, currency: 'EUR' } },
      input: {} as Spec['input'],
    });
    for (const part of [
      'type is "FAST"',
      'deadlineMs is 0',
      'reviewMs is 1.5',
      'ceiling is malformed',
      'input is not a zod 4 schema',
    ]) {
      expect(message).toContain(part);
    }
    expect(
      problemsOf(steps, { recovery: { ceiling: { costMinor: 1, currency: 'USD' } } }),
    ).toContain('its cost is in EUR, but this saga counts in USD');
  });
});
