import {
  type AnySaga,
  defineSagaFromSteps,
  defineTool,
  type SagaEvent,
  type SagaState,
} from 'counterstep';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type LedgerId, StoreUnavailable } from '../../../lambdas/ports/ledger-store.ts';
import { silentLog } from '../../../lambdas/ports/log.ts';
import type { Stores } from '../../../lambdas/ports/stores.ts';
import { DriveSignal } from '../../../lambdas/runtime/drive-signal.ts';
import type { Host } from '../../../lambdas/runtime/host.ts';
import { SagaLedger } from '../../../lambdas/runtime/saga-ledger.ts';
import { stepRecords } from '../../../lambdas/service/start.ts';
import { memoryStores } from '../../../lambdas/stores/memory/open.ts';
import { refused, retryable } from '../../../lambdas/tool/failures.ts';
import { implementTool } from '../../../lambdas/tool/implementation.ts';
import { ToolRuntime } from '../../../lambdas/tool/runtime.ts';
import type { BreakerPolicy } from '../../../statemachines/language/breaker-policy.ts';
import { faultyStores } from '../../../testing/faulty-stores.ts';
import { VirtualTime } from '../../../testing/virtual-time.ts';
import { VirtualPlane } from '../../support/virtual-plane.ts';

const io = z.object({ id: z.string() });
const POLICY: BreakerPolicy = { failures: 3, withinMs: 60_000, openMs: 30_000 };

interface Retry {
  readonly maxAttempts?: number;
  readonly forMs?: number;
}

/** A tool whose provider does what the test says, and a saga over it. */
function provider(
  answer: (call: { readonly saga: string; readonly action: string }) => unknown,
  retry: Retry = {},
  breaker: BreakerPolicy | null = POLICY,
) {
  const call = {
    dedupe: 'key',
    timeoutMs: 2_000,
    settleMs: 0,
    retry: { maxAttempts: 1, backoffMs: 100, maxBackoffMs: 1_000, ...retry },
  } as const;
  const book = defineTool({
    name: 'book',
    description: 'Books.',
    effect: 'reversible',
    input: io,
    output: io,
    forward: call,
    compensate: { ...call, input: io, from: ({ output }) => output },
    ...(breaker === null ? {} : { breaker }),
  });
  const check = defineTool({
    name: 'check',
    description: 'Checks.',
    effect: 'read_only',
    input: io,
    output: io,
    forward: { timeoutMs: 2_000 },
  });
  const calls: { readonly at: number; readonly saga: string; readonly action: string }[] = [];
  const time = new VirtualTime();
  const act = async (action: string, saga: string): Promise<{ id: string }> => {
    calls.push({ at: time.now(), saga, action });
    await answer({ saga, action });
    return { id: saga };
  };
  let checks: () => void = () => {};
  const step = (name: string, tool: AnySaga['steps'][number]['tool']) => ({
    name,
    tool,
    input: () => ({ id: name }),
  });
  return {
    time,
    calls,
    tools: [
      implementTool(book, {
        forward: (_args, { sagaId }) => act('forward', sagaId),
        compensate: async (_args, { sagaId }) => {
          await act('compensate', sagaId);
        },
      }),
      implementTool(check, {
        forward: (args) => {
          checks();
          return args;
        },
      }),
    ],
    saga: defineSagaFromSteps({ name: 'trip', version: '1', input: z.object({}) }, [
      step('out', book),
      step('check', check),
    ]),
    refuseChecks: () => {
      checks = () => {
        throw refused('no', 'no');
      };
    },
  };
}

/** Workers in processes of their own over the same stores: none remembers what another saw. */
class Workers {
  readonly world: ReturnType<typeof provider>;
  readonly memory = memoryStores();
  readonly stores: Stores;
  #sagas = 0;

  constructor(world: ReturnType<typeof provider>, stores?: (stores: Stores) => Stores) {
    this.world = world;
    this.stores = stores?.(this.memory) ?? this.memory;
  }

  host(): Host {
    const { time } = this.world;
    return {
      stores: this.stores,
      clock: time.world,
      entropy: { nonce: () => time.nonce(), fraction: () => time.fraction() },
      log: silentLog,
    };
  }

  async started(): Promise<LedgerId> {
    this.#sagas += 1;
    const { saga, time } = this.world;
    const id = { tenant: 'acme', sagaId: `saga-${this.#sagas}` };
    const host = { ...this.host(), stores: this.memory };
    const start = {
      ...id,
      protocol: 1,
      principal: 'shop',
      name: saga.name,
      version: saga.version,
      sagaType: saga.plan.sagaType,
      planDigest: saga.plan.digest,
      machine: 'm:1',
      key: id.sagaId,
      bodyDigest: 'digest',
      input: { kind: 'inline', value: {} },
      steps: stepRecords(saga),
      registeredAt: time.now() + 60_000,
    } as const;
    await new SagaLedger(host).write(id, { kind: 'start', event: start }, { actor: 'api' });
    return id;
  }

  /** One invocation for the step `out` of a saga, in a new process. */
  async works(id: LedgerId): Promise<'moved' | 'left' | string> {
    const host = this.host();
    const [tool] = this.world.tools;
    if (tool === undefined) throw new Error('no tool');
    const runtime = new ToolRuntime({ tool, sagas: [this.world.saga], host });
    const request = { ...id, epoch: 1, saga: 'trip', step: 'out', softDeadlineAt: 0 };
    const endsAt = host.clock.now() + 40_000;
    try {
      return (await runtime.handle({ ...request, action: 'forward' }, { endsAt })).kind;
    } catch (error) {
      if (error instanceof DriveSignal) return error.name;
      throw error;
    }
  }

  /** Many at once, to their end. */
  async race(count: number): Promise<string[]> {
    const ids = await Promise.all(Array.from({ length: count }, () => this.started()));
    return this.during(Promise.all(ids.map((id) => this.works(id))));
  }

  async during<T>(work: Promise<T>): Promise<T> {
    let through = false;
    const watched = work.finally(() => {
      through = true;
    });
    await this.world.time.run(() => through, this.world.time.now() + 3_600_000);
    return watched;
  }

  /** Enough failures for the breaker to open, each in another process. */
  async opened(): Promise<void> {
    for (let failure = 0; failure < POLICY.failures; failure += 1) await this.race(1);
  }

  async pass(ms: number): Promise<void> {
    const { time } = this.world;
    await time.run(() => false, time.now() + ms);
  }

  async breaker(): Promise<unknown> {
    const head = await this.memory.breakers.head('book');
    return head === undefined ? undefined : (JSON.parse(head.body) as { after: unknown }).after;
  }

  records(): number {
    return this.memory.held.breakers.get('book')?.length ?? 0;
  }

  events({ tenant, sagaId }: LedgerId): SagaEvent[] {
    const records = this.memory.held.ledgers.get(`${tenant}/${sagaId}`) ?? [];
    return records.map(({ body }) => JSON.parse(body) as SagaEvent);
  }
}

const busy = (): never => {
  throw retryable('busy', 'try later');
};

describe('the breaker of a tool', () => {
  it('costs nothing while calls work: no record, and one read a second', async () => {
    let heads = 0;
    const world = provider(() => {});
    const workers = new Workers(world, (stores) =>
      faultyStores(stores, {
        onCall: ({ store, operation, phase }) => {
          if (phase === 'before' && store === 'breakers') heads += operation === 'head' ? 1 : 1_000;
        },
      }),
    );
    const host = workers.host();
    const [tool] = world.tools;
    if (tool === undefined) throw new Error('no tool');
    const runtime = new ToolRuntime({ tool, sagas: [world.saga], host });
    for (let saga = 0; saga < 5; saga += 1) {
      const id = await workers.started();
      const request = { ...id, epoch: 1, saga: 'trip', step: 'out', softDeadlineAt: 0 };
      const endsAt = host.clock.now() + 40_000;
      await workers.during(runtime.handle({ ...request, action: 'forward' }, { endsAt }));
    }
    expect(world.calls).toHaveLength(5);
    expect([heads, workers.records()]).toEqual([1, 0]);
  });

  it('is none where the contract declares none', async () => {
    const world = provider(busy, {}, null);
    const workers = new Workers(world);
    await workers.race(10);
    expect(world.calls).toHaveLength(10);
    expect(workers.records()).toBe(0);
  });

  it('opens over all workers, and then nobody calls', async () => {
    const world = provider(busy);
    const workers = new Workers(world);
    await workers.opened();
    expect(await workers.breaker()).toMatchObject({ kind: 'open' });
    const ends = await workers.race(5);
    expect(new Set(ends)).toEqual(new Set(['Counterstep.Waiting']));
    expect(world.calls).toHaveLength(POLICY.failures);
    const events = workers.events({ tenant: 'acme', sagaId: 'saga-4' });
    expect(events.at(-1)).toMatchObject({ type: 'step_deferred', reason: 'breaker_open' });
    expect(events.some(({ type }) => type === 'step_claimed')).toBe(false);
  });

  it('stays closed for failures that are answers: refusals, and requests for a person', async () => {
    const world = provider(() => {
      throw refused('sold_out', 'no seat is left');
    });
    const workers = new Workers(world);
    await workers.race(6);
    expect(world.calls).toHaveLength(6);
    expect(workers.records()).toBe(0);
  });

  it('lets exactly one of many workers probe, and closes when that works', async () => {
    let down = true;
    const world = provider(async ({ saga }) => {
      if (down) busy();
      await world.time.world.sleep(saga === '' ? 0 : 1_000);
    });
    const workers = new Workers(world);
    await workers.opened();
    await workers.pass(POLICY.openMs);
    down = false;
    world.calls.length = 0;
    const begun = world.time.now();
    const ends = await workers.race(20);
    // The others wait a little, and go on once the probe has closed the breaker.
    const first = world.calls.filter(({ at }) => at < begun + 1_000);
    expect(first).toHaveLength(1);
    expect(ends.filter((end) => end === 'moved').length).toBeGreaterThan(0);
    expect(await workers.breaker()).toEqual({ kind: 'closed', failures: [] });
    expect(await workers.race(3)).toEqual(['moved', 'moved', 'moved']);
  });

  it('opens again for as long when the probe fails', async () => {
    const world = provider(busy);
    const workers = new Workers(world);
    await workers.opened();
    for (let probes = 1; probes <= 3; probes += 1) {
      await workers.pass(POLICY.openMs);
      await workers.race(8);
      expect(world.calls).toHaveLength(POLICY.failures + probes);
      expect(await workers.breaker()).toMatchObject({ kind: 'open' });
    }
  });

  it('is not held by a worker that died while it probed', async () => {
    let dies = false;
    const world = provider(() => (dies ? new Promise(() => {}) : busy()));
    const workers = new Workers(world);
    await workers.opened();
    await workers.pass(POLICY.openMs);
    dies = true;
    // A worker that dies in the middle of its call neither answers nor gives up its place.
    const id = await workers.started();
    const host = { ...workers.host(), clock: { ...world.time.world, timer: () => () => {} } };
    const [tool] = world.tools;
    if (tool === undefined) throw new Error('no tool');
    const request = { ...id, epoch: 1, saga: 'trip', step: 'out', softDeadlineAt: 0 };
    void new ToolRuntime({ tool, sagas: [world.saga], host }).handle(
      { ...request, action: 'forward' },
      { endsAt: world.time.now() + 40_000 },
    );
    await workers.pass(1_000);
    expect(await workers.breaker()).toMatchObject({ kind: 'half_open' });
    dies = false;
    const made = world.calls.length;
    await workers.race(4);
    expect(world.calls).toHaveLength(made);
    await workers.pass(20_000);
    await workers.race(4);
    expect(world.calls).toHaveLength(made + 1);
  });

  it('gives the probe back where its claim did not stand', async () => {
    const world = provider(busy);
    const workers = new Workers(world, (stores) => {
      const { ledger } = stores;
      let fails = false;
      return {
        ...stores,
        ledger: {
          ...ledger,
          append: (id, record) => {
            fails = record.body.includes('step_claimed') && id.sagaId === 'saga-4';
            return fails
              ? Promise.reject(new StoreUnavailable('no answer'))
              : ledger.append(id, record);
          },
        },
      };
    });
    await workers.opened();
    await workers.pass(POLICY.openMs);
    expect(await workers.race(1)).toEqual(['Counterstep.SoftDeadline']);
    expect(await workers.breaker()).toMatchObject({ kind: 'open', until: world.time.now() });
    const made = world.calls.length;
    await workers.race(1);
    expect(world.calls).toHaveLength(made + 1);
  });

  it('lets calls pass where its store does not answer', async () => {
    const world = provider(() => {});
    const workers = new Workers(world, (stores) =>
      faultyStores(stores, {
        onCall: ({ store }) => {
          if (store === 'breakers') throw new StoreUnavailable('no answer');
        },
      }),
    );
    expect(await workers.race(2)).toEqual(['moved', 'moved']);
  });
});

describe('a saga whose tool has a breaker', () => {
  const HOUR_MS = 3_600_000;

  /** Many sagas on the local engine, until all of them rest. */
  async function play(
    world: ReturnType<typeof provider>,
    sagas: number,
    withinMs = 6 * HOUR_MS,
  ): Promise<{ readonly ends: SagaState[]; readonly events: SagaEvent[][] }> {
    const { time } = world;
    return time.use(async () => {
      const plane = new VirtualPlane({ sagas: [world.saga], tools: () => world.tools, time });
      await plane.up();
      const ids: LedgerId[] = [];
      for (let saga = 0; saga < sagas; saga += 1) {
        plane.start(world.saga, `key-${saga}`, {}).then((id) => ids.push(id));
      }
      const rest = (): boolean => ids.length === sagas && ids.every((id) => plane.rests(id));
      await time.run(rest, time.now() + withinMs);
      const ends = ids.flatMap((id) => plane.state(id) ?? []);
      return { ends, events: ids.map((id) => plane.events(id)) };
    });
  }

  it('waits out an outage that its tries alone would not, and spares the provider', async () => {
    let upAt = 0;
    const world = provider(() => (world.time.now() < upAt ? busy() : undefined), {
      maxAttempts: 12,
    });
    upAt = world.time.now() + 10 * 60_000;
    const { ends, events } = await play(world, 10);
    expect(ends.map(({ status }) => status)).toEqual(Array(10).fill('completed'));
    const during = world.calls.filter(({ at }) => at < upAt);
    // Until it opened, and then one each half minute.
    expect(during.length).toBeLessThan(10 + 20 + 5);
    const parks = events.flat().filter(({ type }) => type === 'drive_parked');
    expect(parks.length).toBeGreaterThan(10);
    expect(new Set(parks.map((event) => 'reason' in event && event.reason))).toContain('breaker');
  });

  it('halts for that reason when the outage lasts longer than its step has time', async () => {
    const world = provider(busy, { maxAttempts: 50, forMs: 10 * 60_000 });
    const { ends } = await play(world, 5);
    for (const end of ends) {
      expect(end.status).toBe('compensated');
      expect(['breaker_open', 'time_spent']).toContain(end.halt?.reason);
    }
    expect(ends.some(({ halt }) => halt?.reason === 'breaker_open')).toBe(true);
  });

  it('ends in review where the outage keeps it from being undone', async () => {
    const world = provider(({ action }) => (action === 'compensate' ? busy() : undefined), {
      maxAttempts: 9,
      forMs: 10 * 60_000,
    });
    world.refuseChecks();
    const { ends } = await play(world, 4);
    for (const end of ends) {
      expect(end.status).toBe('needs_review');
      expect(end.review).toMatchObject({ reason: 'recovery_failed', steps: ['out'] });
    }
    const undoing = world.calls.filter(({ action }) => action === 'compensate');
    expect(undoing.length).toBeLessThan(3 + 25);
  });
});
