import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { type Command, type SagaState, verifyChain } from 'counterstep';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../../lambdas/ports/clock.ts';
import { StoreUnavailable } from '../../lambdas/ports/ledger-store.ts';
import { silentLog } from '../../lambdas/ports/log.ts';
import type { Stores } from '../../lambdas/ports/stores.ts';
import { SagaLedger } from '../../lambdas/runtime/saga-ledger.ts';
import { storeClock } from '../../lambdas/stores/dynamodb/store-clock.ts';
import { memoryStores } from '../../lambdas/stores/memory/open.ts';
import { SKEW_MS } from '../../statemachines/rules/protocol.ts';
import { never, VirtualTime } from '../../testing/virtual-time.ts';
import { Rules, TIMEOUT_MS } from '../support/saga-builder.ts';
import { FieldBench } from './bench.ts';

const ID = { tenant: 'acme', sagaId: 'saga-1' };
const LEASE_MS = TIMEOUT_MS + 1_000;

/** Workers that share one store, each a process with a clock of its own. */
class Workers {
  readonly time = new VirtualTime();
  readonly stores: Stores = memoryStores();
  /** What a claim and its outcome look like; commands only, no state. */
  readonly forms = new Rules([{ name: 'a', dedupe: 'lookup' }, { name: 'b' }]);

  ledger(clock: Clock = this.time.world, stores: Stores = this.stores): SagaLedger {
    const entropy = { nonce: () => this.time.nonce(), fraction: () => this.time.fraction() };
    return new SagaLedger({ stores, clock, entropy, log: silentLog });
  }

  async start(): Promise<void> {
    const event = { ...this.forms.state.start, registeredAt: this.time.now() };
    await this.ledger().write(ID, { kind: 'start', event }, { actor: 'shop' });
  }

  /** Lets virtual time pass until `work` is through. */
  async through<T>(work: Promise<T>): Promise<T> {
    let over = false;
    work.then(
      () => {
        over = true;
      },
      () => {
        over = true;
      },
    );
    await this.time.use(() => this.time.run(() => over, this.time.now() + 600_000));
    return work;
  }

  async pass(ms: number): Promise<void> {
    await this.time.run(() => false, this.time.now() + ms);
  }

  async state(): Promise<SagaState> {
    const state = await this.ledger().load(ID);
    if (state === undefined) throw new Error('no saga');
    return state;
  }

  claim(): Command {
    return { ...this.forms.claim('a'), epoch: 1 };
  }
}

function reasonOf(written: Awaited<ReturnType<SagaLedger['write']>>): string {
  return written.verdict.kind === 'rejected'
    ? written.verdict.rejection.reason
    : written.verdict.kind;
}

describe('a lease', () => {
  it('lc-02: is held by an attempt, not by a worker: an abandoned attempt of the same worker has no say', async () => {
    const workers = new Workers();
    await workers.start();
    const worker = workers.ledger();
    const options = { actor: 'w1' };
    await worker.write(ID, workers.claim(), options);
    const first = (await workers.state()).steps.get('a')?.forward.attempt;
    await workers.pass(LEASE_MS + SKEW_MS);
    const name = {
      step: 'a',
      action: 'forward',
      attempt: 1,
      attemptNonce: first?.nonce ?? '',
    } as const;
    const call = workers.forms.policy('a');
    await worker.write(
      ID,
      { kind: 'reconcile', ...name, answer: 'absent', via: 'reconcile', call },
      options,
    );
    await worker.write(ID, workers.claim(), options);
    const held = await workers.state();
    const stale: Command[] = [
      { kind: 'doubt', ...name, code: 'timeout', message: '', call },
      { kind: 'reconcile', ...name, answer: 'absent', via: 'reconcile', call },
      { kind: 'fail', ...name, failure: 'terminal_compensate', code: 'x', message: '' },
    ];
    for (const command of stale) {
      expect(reasonOf(await worker.write(ID, command, options))).toBe('already');
    }
    expect((await workers.state()).seq).toBe(held.seq);
    expect(reasonOf(await worker.write(ID, workers.claim(), options))).toBe('in_flight');
  });

  it.each([
    ['1.9 s fast', 1_900],
    ['1.9 s slow', -1_900],
  ])('lc-03: is not taken by a worker whose clock is %s while it lives', async (_what, skewMs) => {
    const workers = new Workers();
    await workers.start();
    const holder = workers.ledger();
    const other = workers.ledger(skewed(workers.time, skewMs));
    await holder.write(ID, workers.claim(), { actor: 'a' });
    for (let passed = 0; passed < LEASE_MS; passed += 250) {
      expect(reasonOf(await other.write(ID, workers.claim(), { actor: 'b' }))).toBe('in_flight');
      await workers.pass(250);
    }
    // A dead holder's lease is over within the two skews, whoever's clock is asked.
    await workers.pass(2 * SKEW_MS);
    expect(reasonOf(await other.write(ID, workers.claim(), { actor: 'b' }))).toBe('in_doubt');
  });

  it.each([
    ['45 s fast', 45_000, undefined],
    ['45 s slow', -45_000, undefined],
    ['jumping back by 60 s', 0, -60_000],
  ])("lc-03: clocks beyond the margin are set by the store's (%s)", async (_what, skewMs, jump) => {
    const workers = new Workers();
    await workers.start();
    await workers.ledger().write(ID, workers.claim(), { actor: 'a' });
    let wrong = skewMs;
    const local = { ...workers.time.world, now: () => workers.time.now() + wrong };
    const { clock, heard } = clockOfStore(local, workers.time);
    const other = workers.ledger(clock);
    for (let passed = 0; passed < LEASE_MS; passed += 250) {
      if (jump !== undefined && passed === 1_000) wrong = jump;
      await heard();
      expect(reasonOf(await other.write(ID, workers.claim(), { actor: 'b' }))).toBe('in_flight');
      await workers.pass(250);
    }
    await workers.pass(2 * SKEW_MS);
    await heard();
    expect(reasonOf(await other.write(ID, workers.claim(), { actor: 'b' }))).toBe('in_doubt');
  });

  it('lc-05: is not regained by reading who holds it: a stale drive presents its own epoch, and is refused', async () => {
    const workers = new Workers();
    await workers.start();
    const stale = workers.ledger();
    await workers.pass(60_000);
    await workers.ledger().write(ID, { kind: 'grant', reason: 'due' }, { actor: 'sweep' });
    const fresh = await stale.load(ID);
    expect(fresh?.epoch).toBe(2);
    const drive = { plan: workers.forms.saga.plan, epoch: 1 };
    const transitions: Command[] = [
      workers.claim(),
      { kind: 'begin', ...drive },
      { kind: 'complete', ...drive },
    ];
    for (const command of transitions) {
      expect(reasonOf(await stale.write(ID, command, { actor: 'a' }))).toBe('stale');
    }
    for (const kind of ['assess', 'settle'] as const) {
      const { verdict } = await stale.write(ID, { kind, ...drive }, { actor: 'a' });
      expect(verdict).toEqual({ kind: 'route', to: 'parked' });
    }
    expect((await workers.state()).seq).toBe(2);
  });

  it('lc-06: as long as the function makes nobody wait for it: the next drive ends at once and is granted later', async () => {
    const bench: FieldBench = new FieldBench([
      {
        name: 'long',
        dedupe: 'lookup',
        timeoutMs: 14 * 60_000,
        behave: async (_call, commit, nth) => {
          if (nth > 1) return commit();
          await bench.time.world.sleep(60_000);
          bench.plane.kill();
          return never();
        },
      },
    ]);
    let parked: { readonly took: number; readonly dueIn: number } | undefined;
    const ended = await bench.run(async (id) => {
      await bench.time.world.sleep(120_000);
      const { machines } = bench.plane.engine;
      const { epoch } = bench.plane.state(id) ?? { epoch: 0 };
      const from = bench.time.now();
      await machines.run({ ...id, epoch, machine: machines.machineOf(bench.saga) }).catch(() => {});
      const { dueAt = 0 } = bench.plane.state(id) ?? {};
      parked = { took: bench.time.now() - from, dueIn: dueAt - from };
    });
    expect(parked?.took).toBe(0);
    expect(parked?.dueIn).toBeLessThanOrEqual(13 * 60_000);
    expect(ended).toMatchObject({ state: 'completed', findings: [] });
    expect(bench.provider('long').calls).toHaveLength(2);
  });

  it('lc-08: whoever finishes second is told that it is done, and nothing is undone', async () => {
    const bench: FieldBench = new FieldBench([
      {
        name: 'slow',
        behave: async (_call, commit, nth) => {
          await bench.time.world.sleep(nth === 1 ? TIMEOUT_MS + 500 : 900);
          return commit();
        },
      },
      { name: 'next' },
    ]);
    const ended = await bench.run();
    await bench.time.use(() => bench.time.run(() => false, bench.time.now() + 30_000));
    expect(bench.provider('slow').calls).toHaveLength(2);
    expect(bench.provider('slow').effects).toHaveLength(1);
    expect(bench.ended(ended.id)).toMatchObject({ state: 'completed', findings: [] });
    const types = bench.plane.events(ended.id).map((event) => event.type);
    expect(types).not.toContain('late_evidence');
    expect(types.filter((type) => type === 'step_committed')).toHaveLength(2);
  });

  it('lc-11: of a process that was killed is no obstacle: resume says until when, then the saga goes on', async () => {
    const bench: FieldBench = new FieldBench([
      { name: 'one' },
      {
        name: 'two',
        behave: (_call, commit, nth) => {
          if (nth > 1) return commit();
          bench.plane.kill();
          return never();
        },
      },
      { name: 'three' },
    ]);
    const resume = { kind: 'resume' } as const;
    const ended = await bench.run(async (id) => {
      const claimedAt = bench.time.now();
      await bench.time.world.sleep(1_000);
      const { verdict } = await bench.plane.insist((engine) =>
        engine.ledger.write(id, resume, { actor: 'ada' }),
      );
      expect(verdict).toMatchObject({
        kind: 'rejected',
        rejection: { reason: 'conflict', until: claimedAt + LEASE_MS + SKEW_MS },
      });
    });
    expect(ended).toMatchObject({ state: 'completed', findings: [] });
    expect(bench.provider('one').calls).toHaveLength(1);
    expect(bench.provider('two').effects).toHaveLength(1);
  });

  it('lc-11: and a second resume, after the lease, starts the next drive by itself', async () => {
    const workers = new Workers();
    await workers.start();
    const ledger = workers.ledger();
    await ledger.write(ID, workers.claim(), { actor: 'drive' });
    expect(reasonOf(await ledger.write(ID, { kind: 'resume' }, { actor: 'ada' }))).toBe('conflict');
    await workers.pass(LEASE_MS + SKEW_MS);
    const { verdict } = await ledger.write(ID, { kind: 'resume' }, { actor: 'ada' });
    expect(verdict).toMatchObject({ event: { type: 'drive_granted', reason: 'resume', epoch: 2 } });
  });
});

describe('contention', () => {
  it('lc-09: twenty writers at once are all served, in one chain', async () => {
    const workers = new Workers();
    await workers.start();
    const written = await workers.through(
      Promise.all(
        Array.from({ length: 20 }, (_each, index) =>
          workers
            .ledger()
            .write(
              ID,
              { kind: 'suggest', suggestion: { kind: 'inline', value: index } },
              { actor: `w${index}` },
            ),
        ),
      ),
    );
    expect(written.map(reasonOf)).toEqual(Array.from({ length: 20 }, () => 'append'));
    const records = await workers.stores.ledger.read(ID);
    expect(records.map((record) => record.seq)).toEqual(
      Array.from({ length: 21 }, (_each, at) => at + 1),
    );
    expect(verifyChain(ID, records).kind).toBe('valid');
  });

  it('lc-09: of twenty claims of one step one stands, and the others are told that it is in flight', async () => {
    const workers = new Workers();
    await workers.start();
    const claims = Array.from({ length: 20 }, () => workers.claim());
    const written = await workers.through(
      Promise.all(claims.map((claim) => workers.ledger().write(ID, claim, { actor: 'drive' }))),
    );
    const reasons = written.map(reasonOf);
    expect(reasons.filter((reason) => reason === 'append')).toHaveLength(1);
    expect(reasons.filter((reason) => reason === 'in_flight')).toHaveLength(19);
  });

  it('lc-09: a conflict that the store reports as an error is tried again, and is no failure of the step', async () => {
    const workers = new Workers();
    await workers.start();
    let refusals = 0;
    const stores = appending(workers.stores, () => {
      refusals += 1;
      if (refusals <= 5) throw new StoreUnavailable('TransactionConflict');
    });
    const ledger = workers.ledger(workers.time.world, stores);
    const written = await workers.through(ledger.write(ID, workers.claim(), { actor: 'drive' }));
    expect(reasonOf(written)).toBe('append');
    expect((await workers.state()).steps.get('a')?.forward.attempts).toBe(1);
  });

  it('lc-14: while the store asks for less load, each pause is longer than the one before', async () => {
    const workers = new Workers();
    await workers.start();
    const tried: number[] = [];
    const stores = appending(workers.stores, () => {
      tried.push(workers.time.now());
      if (tried.length <= 3) {
        throw new StoreUnavailable('TransactionConflict, ProvisionedThroughputExceeded', {
          throttled: true,
        });
      }
    });
    const ledger = workers.ledger(workers.time.world, stores);
    await workers.through(ledger.write(ID, workers.claim(), { actor: 'drive' }));
    const pauses = tried.slice(1).map((at, index) => at - (tried[index] ?? 0));
    expect(pauses).toHaveLength(3);
    expect(pauses[0]).toBeGreaterThan(0);
    expect(pauses[1]).toBeGreaterThan(pauses[0] ?? 0);
    expect(pauses[2]).toBeGreaterThan(pauses[1] ?? 0);
  });
});

function skewed(time: VirtualTime, skewMs: number): Clock {
  return { ...time.world, now: () => time.now() + skewMs };
}

/** A worker's clock as the deployed host builds it; `heard` is one answer of the store. */
function clockOfStore(
  local: Clock,
  time: VirtualTime,
): { readonly clock: Clock; readonly heard: () => Promise<void> } {
  type Handler = (args: unknown) => Promise<unknown>;
  let answered: Handler = async () => ({});
  const client = {
    middlewareStack: {
      add: (wrap: (next: Handler) => Handler) => {
        answered = wrap(async () => ({
          response: { headers: { date: new Date(time.now()).toUTCString() } },
        }));
      },
    },
  };
  const clock = storeClock(client as unknown as DynamoDBClient, local);
  return { clock, heard: async () => void (await answered({})) };
}

function appending(stores: Stores, before: () => void): Stores {
  return {
    ...stores,
    ledger: {
      read: (id, after) => stores.ledger.read(id, after),
      head: (id) => stores.ledger.head(id),
      append: async (id, record) => {
        before();
        return stores.ledger.append(id, record);
      },
    },
  };
}
