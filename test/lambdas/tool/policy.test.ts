import {
  defineSaga,
  defineTool,
  type SagaEvent,
  sensitive,
  skip,
  standingReport,
} from 'counterstep';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { viewOf } from '../../../lambdas/service/view.ts';
import { ambiguous, denied } from '../../../lambdas/tool/failures.ts';
import { implementTool } from '../../../lambdas/tool/implementation.ts';
import { allow, deny, type Leave, type PolicyCall } from '../../../lambdas/tool/policy.ts';
import { never, VirtualTime } from '../../../testing/virtual-time.ts';
import { FieldBench, type FieldStep } from '../../field/bench.ts';
import { VirtualPlane } from '../../support/virtual-plane.ts';

const VERSION = 'limits-2026-01';

function guarded(policy: (args: unknown, call: PolicyCall) => Leave | Promise<Leave>): FieldStep {
  return { name: 'two', policy: { policy, policyVersion: VERSION } };
}

function failedOf(events: readonly SagaEvent[]): SagaEvent | undefined {
  return events.find((event) => event.type === 'step_failed');
}

describe('a policy', () => {
  it('that forbids a call is met before the claim, by a reason and a version of its own', async () => {
    const asked: unknown[] = [];
    const step = guarded((args, { tenant, step: name }) => {
      asked.push([args, tenant, name]);
      return deny('over_limit', 'more than one booking a day');
    });
    const bench = new FieldBench([{ name: 'one' }, step, { name: 'three' }]);
    const ended = await bench.run();
    expect(asked).toEqual([[{ id: 'same' }, 'acme', 'two']]);
    expect(bench.provider('two').calls).toEqual([]);
    expect(bench.provider('one').undone).toEqual(['one-1']);
    expect(ended).toMatchObject({ state: 'compensated', findings: [] });
    expect(failedOf(ended.events)).toMatchObject({
      step: 'two',
      attempt: 0,
      failure: 'terminal_compensate',
      reason: 'policy_denied',
      code: 'over_limit',
      policyVersion: VERSION,
    });
    const state = bench.plane.state(ended.id);
    if (state === undefined) throw new Error('no ledger');
    const view = viewOf(state, bench.time.now());
    expect(view.halt).toMatchObject({ reason: 'policy_denied', step: 'two', code: 'over_limit' });
    expect(view.steps[1]?.forward.failure).toMatchObject({ reason: 'policy_denied' });
    expect(standingReport(state).steps[1]).toMatchObject({ words: 'refused: over_limit' });
  });

  it('that allows a call leaves its version with the claim', async () => {
    const bench = new FieldBench([guarded(async () => allow()), { name: 'three' }]);
    const ended = await bench.run();
    expect(ended).toMatchObject({ state: 'completed', findings: [] });
    const versions = ended.events.flatMap((event) =>
      event.type === 'step_claimed' ? [[event.step, event.policyVersion]] : [],
    );
    expect(versions).toEqual([
      ['two', VERSION],
      ['three', undefined],
    ]);
  });

  it.each([
    ['fails', () => Promise.reject(new RangeError('no rules are loaded'))],
    ['does not answer', () => never<Leave>()],
    ['answers nonsense', () => true as unknown as Leave],
  ])('that %s is neither leave nor refusal: a person looks', async (_what, policy) => {
    const bench = new FieldBench([{ name: 'one' }, guarded(policy)]);
    const ended = await bench.run();
    expect(ended).toMatchObject({ state: 'needs_review', review: 'held_by_tool', findings: [] });
    expect(failedOf(ended.events)).toMatchObject({ code: 'policy_failed', policyVersion: VERSION });
    expect(bench.provider('two').calls).toEqual([]);
    expect(bench.provider('one').undos).toEqual([]);
  });

  it('is not asked about a call in doubt: that is found out, whatever the rules say by now', async () => {
    let asked = 0;
    const step: FieldStep = {
      ...guarded(() => {
        asked += 1;
        return asked === 1 ? allow() : deny('changed', 'the rules have changed');
      }),
      behave: (_call, commit, nth) => {
        const done = commit();
        if (nth === 1) throw ambiguous('lost', 'the line was cut');
        return done;
      },
    };
    const bench = new FieldBench([step]);
    const ended = await bench.run();
    expect(asked).toBe(1);
    expect(bench.provider('two').effects).toHaveLength(1);
    expect(ended).toMatchObject({ state: 'completed', findings: [] });
  });

  it('has no say in a recovery', async () => {
    let asked = 0;
    const step = guarded(() => {
      asked += 1;
      return allow();
    });
    const no = (): never => {
      throw denied('not_today', 'the provider’s own rules say no');
    };
    const bench = new FieldBench([step, { name: 'three', behave: no }]);
    const ended = await bench.run();
    expect(asked).toBe(1);
    expect(bench.provider('two').undone).toEqual(['two-1']);
    expect(ended).toMatchObject({ state: 'compensated', findings: [] });
    // A provider's own policy is told by the same reason, without a version of ours.
    const failed = failedOf(ended.events);
    expect(failed).toMatchObject({ reason: 'policy_denied', code: 'not_today', attempt: 1 });
    expect(failed).not.toHaveProperty('policyVersion');
  });

  it('comes with its version, or not at all', () => {
    const contract = defineTool({
      name: 'read',
      description: 'Reads.',
      effect: 'read_only',
      input: z.object({}),
      output: z.object({}),
      forward: { timeoutMs: 1_000 },
    });
    const forward = () => ({});
    for (const half of [
      { policy: allow },
      { policyVersion: '1' },
      { policy: allow, policyVersion: 'a b' },
    ]) {
      expect(() => implementTool(contract, { forward, ...half } as never)).toThrow(
        'tool "read" has a policy without a version',
      );
    }
    const whole = implementTool(contract, { forward, policy: allow, policyVersion: '1' });
    expect(whole.policy?.policyVersion).toBe('1');
  });
});

describe('an output that is refused', () => {
  it('is a reason of its own, and the effect is undone', async () => {
    const bench = new FieldBench([
      { name: 'one' },
      { name: 'two', behave: (_call, commit) => ({ ...commit(), id: 7 }) },
    ]);
    const ended = await bench.run();
    const state = bench.plane.state(ended.id);
    expect(state?.halt).toMatchObject({
      reason: 'output_refused',
      step: 'two',
      code: 'output_deviates',
    });
  });
});

describe('what is said of a call', () => {
  const call = { dedupe: 'key', timeoutMs: 1_000, settleMs: 0 } as const;
  const input = z.object({ card: sensitive(z.string()) });
  const pay = defineTool({
    name: 'pay',
    description: 'Takes a payment.',
    effect: 'compensable',
    input,
    output: z.object({}),
    forward: call,
    compensate: { ...call, input, from: ({ input: sent }) => skip(`nothing on ${sent.card}`) },
  });
  const saga = defineSaga({ name: 'pay', version: '1', input }, (steps) =>
    steps
      .step('first', pay, { input: ({ input: given }) => given })
      .step('second', pay, { input: ({ input: given }) => given }),
  );

  it('keeps no secret, by a policy or by an undo that is skipped', async () => {
    const card = '4111-secret-1111';
    const tool = implementTool(pay, {
      forward: () => ({}),
      compensate: () => {},
      policy: ({ card: number }, { step }) =>
        step === 'first' ? allow() : deny(`blocked ${number}`, `${number} is blocked`),
      policyVersion: VERSION,
    });
    const time = new VirtualTime();
    const plane = new VirtualPlane({ sagas: [saga], tools: () => [tool], time });
    const id = await time.use(async () => {
      await plane.up();
      const started = plane.start(saga, 'key', { card });
      await time.run(() => false, time.now() + 10_000);
      return started;
    });
    const events = plane.events(id);
    expect(plane.state(id)?.status).toBe('compensated');
    expect(failedOf(events)).toMatchObject({ code: 'blocked ***', message: '*** is blocked' });
    expect(events.find((event) => event.type === 'step_committed')).toMatchObject({
      undo: { kind: 'skipped', why: 'nothing on ***' },
    });
    expect(JSON.stringify(events)).not.toContain(card);
  });
});
