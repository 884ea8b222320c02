import { defineSaga, defineTool } from 'counterstep';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { StoreUnavailable } from '../../lambdas/ports/ledger-store.ts';
import { SagaService } from '../../lambdas/service/service.ts';
import { refused } from '../../lambdas/tool/failures.ts';
import { implementTool } from '../../lambdas/tool/implementation.ts';
import type { Engine } from '../../local/engine.ts';
import type { StoreCall } from '../../testing/faulty-stores.ts';
import { VirtualTime } from '../../testing/virtual-time.ts';
import { type FaultMode, VirtualPlane } from '../support/virtual-plane.ts';

const io = z.object({ id: z.string() });
const call = { dedupe: 'key', timeoutMs: 1_000, settleMs: 0 } as const;
const book = defineTool({
  name: 'book',
  description: 'Books.',
  effect: 'reversible',
  input: io,
  output: io,
  forward: call,
  compensate: { ...call, input: io, from: ({ output }) => output },
});
const look = defineTool({
  name: 'look',
  description: 'Looks.',
  effect: 'read_only',
  input: io,
  output: io,
  forward: { timeoutMs: 1_000 },
});
const trip = defineSaga({ name: 'trip', version: '1', input: io }, (saga) =>
  saga
    .step('out', book, { input: ({ input }) => input })
    .step('look', look, { input: ({ input }) => input }),
);

type Ends = 'completed' | 'compensated';

interface Ran {
  readonly calls: number;
  readonly states: string[];
  readonly open: number;
  readonly entries: number;
}

/**
 * One start under a budget of one saga, with one fault at one store call. Patient callers ask until they
 * are answered, others give up at the first failure. Then three minutes pass.
 */
async function run(
  ends: Ends,
  patient: boolean,
  fault?: { readonly index: number; readonly phase: StoreCall['phase']; readonly mode: FaultMode },
): Promise<Ran> {
  const time = new VirtualTime();
  let calls = 0;
  let struck = false;
  const plane = new VirtualPlane({
    sagas: [trip],
    time,
    onStoreCall: ({ index, phase }) => {
      calls = Math.max(calls, index);
      if (struck || fault?.index !== index || fault.phase !== phase) return undefined;
      struck = true;
      return fault.mode;
    },
    tools: () => [
      implementTool(book, { forward: (args) => args, compensate: () => undefined }),
      implementTool(look, {
        forward: (args) => {
          if (ends === 'compensated') throw refused('no', 'no');
          return args;
        },
      }),
    ],
  });
  const serving = (engine: Engine): SagaService =>
    new SagaService({
      host: engine.host,
      ledger: engine.ledger,
      sagas: [trip],
      index: engine.projection,
      tenants: { acme: { openSagas: 1 } },
      machineOf: (saga) => engine.machines.machineOf(saga),
    });
  const ada = { tenant: 'acme', id: 'ada', roles: ['starter' as const] };
  const start = (engine: Engine): Promise<unknown> =>
    serving(engine).start(ada, 'trip', 'k-1', '{"id":"A-1"}');
  await time.use(async () => {
    await plane.up();
    const started = patient
      ? plane.insist(start)
      : start(plane.engine).catch((error: unknown) => {
          if (!(error instanceof StoreUnavailable)) throw error;
        });
    let problem: unknown;
    started.catch((error: unknown) => {
      problem = error;
    });
    await time.run(() => false, time.now() + 180_000);
    if (problem !== undefined) throw problem;
  });
  const states = [...plane.stores.held.ledgers.keys()].map((key) => {
    const [tenant = '', sagaId = ''] = key.split('/');
    return plane.state({ tenant, sagaId })?.status ?? 'none';
  });
  const { openSagas } = await plane.stores.budgets.usage('acme');
  return { calls, states, open: openSagas, entries: plane.stores.held.registry.size };
}

describe.each(['completed', 'compensated'] as const)('a budget under a saga that is %s', (ends) => {
  it('is whole again at the end', async () => {
    expect(await run(ends, true)).toMatchObject({ states: [ends], open: 0, entries: 0 });
  });

  it.each([
    ['an error', 'error', true],
    ['an error, and nobody who asks again', 'error', false],
    ['a restart', 'restart', true],
    ['a restart, and nobody who asks again', 'restart', false],
  ] as const)(
    'and so after %s at any store call, before or after its effect',
    async (_, mode, patient) => {
      const { calls } = await run(ends, true);
      expect(calls).toBeGreaterThan(10);
      const wrong: string[] = [];
      let never = 0;
      for (let index = 1; index <= calls; index += 1) {
        for (const phase of ['before', 'after'] as const) {
          const ran = await run(ends, patient, { index, phase, mode });
          if (ran.states.length === 0) never += 1;
          const fits = ran.states.length === 0 ? !patient : ran.states.join() === ends;
          if (!fits || ran.open !== 0 || ran.entries !== 0) {
            wrong.push(`${phase} ${index}: ${ran.states.join()} ${ran.open} ${ran.entries}`);
          }
        }
      }
      expect(wrong).toEqual([]);
      // Some starts of impatient callers came to nothing, so that was tried too.
      expect(never > 0).toBe(!patient);
    },
  );
});
