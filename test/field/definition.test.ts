import { type AnySaga, defineSaga, defineSagaFromSteps, defineTool } from 'counterstep';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { implementTool } from '../../lambdas/tool/implementation.ts';
import { never, VirtualTime } from '../../testing/virtual-time.ts';
import { VirtualPlane } from '../support/virtual-plane.ts';

describe('a definition', () => {
  const io = z.object({ id: z.string() });
  const call = { dedupe: 'key', timeoutMs: 1_000, settleMs: 0 } as const;
  const undo = { ...call, input: io, from: () => ({ id: '1' }) };
  const common = { name: 'book', description: 'Books.', input: io, output: io, forward: call };
  const book = defineTool({ ...common, effect: 'reversible', compensate: undo });
  const mail = defineTool({ ...common, name: 'mail', effect: 'irreversible' });
  const input = (): { id: string } => ({ id: '1' });
  const saga = (steps: Parameters<typeof defineSagaFromSteps>[1], more = {}): AnySaga =>
    defineSagaFromSteps({ name: 's', version: '1', input: io, ...more }, steps);
  const step = (name: string, tool = book as never, after?: readonly string[]) => ({
    name,
    tool,
    after,
    input,
  });

  it.each<[string, () => unknown, string]>([
    [
      'two ways of undoing',
      () =>
        defineTool({ ...common, effect: 'reversible', compensate: undo, contain: call } as never),
      'tool "book": its effect is reversible, and it has a contain that would never run',
    ],
    [
      'an undo that would never run',
      () => defineTool({ ...common, effect: 'irreversible', compensate: undo } as never),
      'tool "book": its effect is irreversible, and it has a compensate that would never run',
    ],
    [
      'two steps of one name',
      () => saga([step('a'), step('a')]),
      'step "a": another step has the same name',
    ],
    [
      'an undo for no step',
      () => saga([step('a')], { recovery: { after: { b: [] } } }),
      'names the step "b", which does not exist',
    ],
    [
      'an undo after no step',
      () => saga([step('a')], { recovery: { after: { a: ['b'] } } }),
      'names the step "b", which does not exist',
    ],
    [
      'a step after itself',
      () => saga([step('a', undefined, ['a'])]),
      'its steps wait for each other: a',
    ],
    [
      'an undo after itself',
      () => saga([step('a')], { recovery: { after: { a: ['a'] } } }),
      'its recoveries wait for each other: a',
    ],
  ])('co-06: with %s is refused, naming the place', (_what, build, message) => {
    expect(build).toThrow(message);
  });

  it('co-15: that puts what needs an undo behind the point of no return is refused', () => {
    expect(() => saga([step('mail', mail as never), step('courier')])).toThrow(
      'step "courier": it needs compensation, but follows the irreversible step "mail"',
    );
  });
});

describe('a definition that changes under a saga', () => {
  const call = { dedupe: 'key', timeoutMs: 60_000, settleMs: 0 } as const;
  const wait = defineTool({
    name: 'wait',
    description: 'Waits, then refuses.',
    effect: 'read_only',
    input: z.object({}),
    output: z.object({}),
    forward: { timeoutMs: 60_000 },
  });

  function version(number: '1' | '2', undone: string[]) {
    const member = number === '1' ? 'bookingRef' : 'reservationId';
    const book = defineTool({
      name: 'book',
      version: number,
      description: 'Books.',
      effect: 'reversible',
      input: z.object({}),
      output: z.looseObject({ [member]: z.string() }),
      forward: call,
      compensate: {
        ...call,
        input: z.object({ id: z.string() }),
        from: ({ output }) => ({ id: `v${number}:${String(output[member])}` }),
      },
    });
    const saga = defineSaga({ name: 'trip', version: number, input: z.object({}) }, (steps) =>
      steps.step('book', book, { input: () => ({}) }).step('wait', wait, { input: () => ({}) }),
    );
    const tool = implementTool(
      book as never,
      {
        forward: () => ({ [member]: 'B-1' }),
        compensate: ({ id }: { id: string }) => void undone.push(id),
      } as never,
    );
    return { saga, tool };
  }

  it('co-16: holds the saga, with its version in the ledger, rather than undo it by new code', async () => {
    const undone: string[] = [];
    const old = version('1', undone);
    const renewed = version('2', undone);
    const sagas: AnySaga[] = [old.saga];
    const time = new VirtualTime();
    let running = old.tool;
    const waits = implementTool(wait, { forward: () => never() });
    const plane = new VirtualPlane({ sagas, tools: () => [running, waits], time });
    const id = await time.use(async () => {
      await plane.up();
      const started = plane.start(old.saga, 'key', {});
      await time.run(() => false, time.now() + 5_000);
      sagas[0] = renewed.saga;
      running = renewed.tool;
      plane.kill();
      await time.run(() => false, time.now() + 5_000);
      const at = await started;
      const cancelled = plane.insist((engine) =>
        engine.ledger.write(at, { kind: 'cancel', reason: 'fails' }, { actor: 'ada' }),
      );
      await time.run(() => false, time.now() + 600_000);
      await cancelled;
      return at;
    });
    expect(undone).toEqual([]);
    const state = plane.state(id);
    expect(state?.review).toMatchObject({ reason: 'code_drift' });
    expect(state?.status).toBe('needs_review');
    expect(plane.events(id)[0]).toMatchObject({ version: '1', planDigest: old.saga.plan.digest });
  });
});
