import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { defineSaga, defineTool, sensitive, verifyChain } from 'counterstep';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { post } from '../../examples/http.ts';
import { pending } from '../../lambdas/tool/answers.ts';
import { refused } from '../../lambdas/tool/failures.ts';
import { type Call, implementTool } from '../../lambdas/tool/implementation.ts';
import { never, VirtualTime } from '../../testing/virtual-time.ts';
import { VirtualPlane } from '../support/virtual-plane.ts';
import { FieldBench, typesOf } from './bench.ts';

afterEach(() => vi.unstubAllGlobals());

/** Step 2 of 3 at a partner over HTTP whose first answers are these; then it says 201. */
function behindHttp(answers: readonly (readonly [status: number, body: object])[]): FieldBench {
  const left = [...answers];
  const bench = new FieldBench([
    { name: 'one' },
    {
      name: 'two',
      behave: async (call, commit) => {
        vi.stubGlobal('fetch', async () => {
          const next = left.shift();
          const [status, body] = next ?? [201, commit()];
          return new Response(JSON.stringify(body), { status });
        });
        const { body } = await post<{ id: string }>(
          { partnersUrl: 'http://partner.example' },
          '/two',
          {},
          call,
        );
        return body;
      },
    },
    { name: 'three' },
  ]);
  return bench;
}

describe('an answer of the provider', () => {
  it.each([
    ['400', 400, { code: 'bad_request' }],
    ['404', 404, { code: 'unknown' }],
    ['409', 409, { code: 'out_of_stock' }],
    ['422', 422, { code: 'too_much' }],
    ['200 that says no', 200, { success: false, code: 'declined' }],
  ])('ri-17: %s is a refusal: one call, then the undo', async (_what, status, body) => {
    const bench = behindHttp([[status, body]]);
    const ended = await bench.run();
    expect(bench.provider('two').calls).toHaveLength(1);
    expect(bench.provider('one').undone).toEqual(['one-1']);
    expect(ended).toMatchObject({ state: 'compensated', findings: [] });
    expect(ended.events.find((event) => event.type === 'step_failed')).toMatchObject({
      failure: 'terminal_compensate',
      code: body.code,
    });
  });

  it.each([
    ['429', 429],
    ['503', 503],
    ['500', 500],
    ['502', 502],
  ])('ri-17: %s is tried again', async (_what, status) => {
    const bench = behindHttp([[status, { code: 'later' }]]);
    const ended = await bench.run();
    expect(bench.provider('two').calls).toHaveLength(2);
    expect(bench.provider('one').undone).toEqual([]);
    expect(ended).toMatchObject({ state: 'completed', findings: [] });
  });
});

describe('an end nobody expected', () => {
  const ends: readonly (readonly [string, (bench: FieldBench) => unknown])[] = [
    ['a thrown string', () => Promise.reject('no')],
    ['a thrown undefined', () => Promise.reject(undefined)],
    ['a rejection with a plain object', () => Promise.reject({ status: 500 })],
    ['a timeout', () => never()],
    [
      'a process that exits',
      (bench) => {
        bench.plane.kill();
        return never();
      },
    ],
  ];
  it.each(
    ends.flatMap(([what, end]) => [
      [what, 'after its effect', end, true] as const,
      [what, 'before its effect', end, false] as const,
    ]),
  )(
    'ac-06: %s %s is an unknown outcome: it is asked about, never taken as "did nothing"',
    async (_what, _when, end, lands) => {
      const bench: FieldBench = new FieldBench([
        { name: 'one' },
        {
          name: 'two',
          dedupe: 'lookup',
          behave: (_call, commit, nth) => {
            if (nth > 1) return commit();
            if (lands) commit();
            return end(bench);
          },
        },
        { name: 'three' },
      ]);
      const ended = await bench.run();
      expect(ended).toMatchObject({ state: 'completed', findings: [] });
      expect(bench.provider('two').asked).toBeGreaterThan(0);
      expect(bench.provider('two').effects).toHaveLength(1);
      expect(bench.provider('two').calls).toHaveLength(lands ? 1 : 2);
      expect(typesOf(ended)).not.toContain('step_failed');
    },
  );

  it.each([
    ['process.exit(1)', 'process.exit(1)'],
    ['memory without end', 'const all = []; for (;;) all.push(new Array(1e6).fill(0));'],
  ])(
    'ac-06: the worker that really dies of %s leaves no answer, which is what the others stand for',
    async (_what, script) => {
      const worker = spawn(process.execPath, ['--max-old-space-size=32', '-e', script], {
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      let answer = '';
      worker.stdout.on('data', (chunk) => {
        answer += chunk;
      });
      const [code, signal] = await once(worker, 'exit');
      expect(code === 0 && signal === null).toBe(false);
      expect(answer).toBe('');
    },
  );
});

describe('the undo', () => {
  it('ac-02: gets the ids of what it undoes, also after another undo failed', async () => {
    const bench = new FieldBench([
      { name: 'one' },
      { name: 'two', toolOf: 'one' },
      {
        name: 'three',
        behave: () => {
          throw refused('no', 'no');
        },
      },
    ]);
    const ended = await bench.run();
    expect(bench.provider('one').undone).toEqual(['one-2', 'one-1']);
    expect(ended).toMatchObject({ state: 'compensated', findings: [] });
  });
});

describe('waiting', () => {
  it('li-04: for half a day at a provider is many short executions, none of which polls', async () => {
    const bench = new FieldBench([
      {
        name: 'slow',
        pendingForMs: 2 * 86_400_000,
        behave: () => pending({ askAgainInMs: 10_000 }),
      },
    ]);
    const ended = await bench.run(undefined, 12 * 3_600_000);
    const drives = new Set(ended.events.map((event) => event.epoch)).size;
    const tasks = bench.plane.engine.machines.tasksEntered();
    // Every ten seconds would be 4320 questions; the pauses have grown to an hour instead.
    expect(bench.provider('slow').calls.length).toBeLessThan(40);
    // begin, the step, assess: nobody waits inside an execution.
    expect(tasks / drives).toBeLessThanOrEqual(3);
    expect(ended).toMatchObject({ state: 'waiting', findings: [] });
  });
});

describe('secrets', () => {
  const SECRETS = {
    card: '4111111111111111',
    token: 'Bearer sk_live_51H8xQ2eZvKYlo2C',
    email: 'ada.lovelace@example.com',
    session: 'ses-9f8e7d6c5b4a',
  };

  const pay = defineTool({
    name: 'pay',
    description: 'Takes a payment.',
    effect: 'reversible',
    input: z.object({ card: sensitive(z.string()), token: sensitive(z.string()) }),
    output: z.object({ id: z.string(), session: sensitive(z.string()) }),
    externalIds: ({ output }) => ({ payment: output.id }),
    forward: { dedupe: 'key', timeoutMs: 1_000, settleMs: 0 },
    compensate: {
      input: z.object({ id: z.string(), session: sensitive(z.string()) }),
      from: ({ output }) => output,
      dedupe: 'key',
      timeoutMs: 1_000,
      settleMs: 0,
    },
  });
  const mail = defineTool({
    name: 'mail',
    description: 'Sends a mail.',
    effect: 'irreversible',
    input: z.object({ email: sensitive(z.string()), token: sensitive(z.string()) }),
    output: z.object({}),
    forward: { dedupe: 'none', timeoutMs: 1_000, settleMs: 0 },
  });
  const saga = defineSaga(
    {
      name: 'secret',
      version: '1',
      input: z.object({
        card: sensitive(z.string()),
        token: sensitive(z.string()),
        email: sensitive(z.string()),
      }),
    },
    (steps) =>
      steps
        .step('pay', pay, { input: ({ input }) => ({ card: input.card, token: input.token }) })
        .step('mail', mail, { input: ({ input }) => ({ email: input.email, token: input.token }) }),
  );

  it('lg-12: stand nowhere in the chain: not in inputs, results, undo arguments or error texts', async () => {
    const undone: unknown[] = [];
    const leak = (args: { token: string }): never => {
      // The code of a failure is text from outside as well.
      throw refused(`denied ${args.token}`, `${args.token} may not write to ${SECRETS.email}`);
    };
    let failures = 0;
    const tools = [
      implementTool(pay, {
        forward: () => ({ id: 'PAY-1', session: SECRETS.session }),
        compensate: (args) => {
          failures += 1;
          if (failures === 1)
            throw refused('x', `session ${args.session} of ${SECRETS.session} is over`);
          undone.push(args);
        },
      }),
      implementTool(mail, { forward: (args: { token: string }, _call: Call) => leak(args) }),
    ];
    const time = new VirtualTime();
    const plane = new VirtualPlane({ sagas: [saga], tools: () => tools, time });
    const { card, token, email } = SECRETS;
    const id = await time.use(async () => {
      await plane.up();
      const started = plane.start(saga, 'key', { card, token, email });
      await time.run(() => false, time.now() + 10_000);
      const at = await started;
      const resumed = plane.insist((engine) =>
        engine.ledger.write(at, { kind: 'resume' }, { actor: 'ada' }),
      );
      await time.run(() => false, time.now() + 10_000);
      await resumed;
      return at;
    });
    const records = plane.stores.held.ledgers.get(`${id.tenant}/${id.sagaId}`) ?? [];
    expect(plane.state(id)?.status).toBe('compensated');
    // The tools themselves got the real values.
    expect(undone).toEqual([{ id: 'PAY-1', session: SECRETS.session }]);
    for (const { body } of records) {
      for (const secret of [...Object.values(SECRETS), 'sk_live_51H8xQ2eZvKYlo2C']) {
        expect(body).not.toContain(secret);
      }
    }
    expect(verifyChain(id, records).kind).toBe('valid');
    const failed = plane
      .events(id)
      .flatMap((event) => (event.type === 'step_failed' ? [event] : []));
    expect(failed.map((event) => event.message)).toEqual([
      '*** may not write to ***',
      expect.stringContaining('session ***'),
    ]);
  });
});
