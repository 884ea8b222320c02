import {
  type AnySaga,
  type AnyTool,
  defineSagaFromSteps,
  defineTool,
  type EffectClass,
  type SagaEvent,
  sensitive,
} from 'counterstep';
import { z } from 'zod';
import { type Principal, ROLES } from '../../lambdas/service/principal.ts';
import { SagaService } from '../../lambdas/service/service.ts';
import type { SagaView, StandingView } from '../../lambdas/service/wire.ts';
import { type MemoryStores, memoryStores } from '../../lambdas/stores/memory/open.ts';
import {
  type Call,
  type ImplementedTool,
  implementTool,
} from '../../lambdas/tool/implementation.ts';
import { type Engine, startEngine } from '../../local/engine.ts';
import { openRecord } from '../../statemachines/ledger/chain.ts';
import { check } from '../../testing/checker/check.ts';

/** One step over a tool of its own, of any class. What it does may be changed by a test. */
export interface EffectStep {
  readonly name: string;
  /** Default `reversible`. */
  readonly effect?: EffectClass;
  readonly after?: readonly string[];
  readonly checkpoint?: true;
  /** Estimate of its recovery. */
  readonly costMinor?: number;
  /** A superseding tool writes the earlier version, an irreversible one is contained. */
  readonly hook?: true;
  readonly forward?: (args: Args, call: Call) => unknown;
  /** Undo, hook or containment. */
  readonly recover?: (args: unknown, call: Call) => unknown;
}

export interface Args {
  readonly id: string;
  /** Results of the steps before. */
  readonly seen: Readonly<Record<string, unknown>>;
}

export interface BenchOptions {
  readonly version?: string;
  readonly ceilingMinor?: number;
  readonly businessKey?: (input: unknown) => string;
}

export const ada: Principal = { tenant: 'acme', id: 'ada', roles: ROLES };

const call = { dedupe: 'key', timeoutMs: 2_000, settleMs: 0 } as const;
const input = z.object({ id: z.string(), email: sensitive(z.string()) });
const args = z.object({ id: z.string(), seen: z.record(z.string(), z.unknown()) });
const output = z.looseObject({ id: z.string() });

export const INPUT = { id: 'A-1', email: 'jo@example.com' };

/** What the providers were asked to do, in order: `pay`, `undo pay`. */
export type Asked = { readonly what: string; readonly args: unknown; readonly call: Call }[];

/** The real engine in one process, over stores in memory, with providers that only note what they are asked. */
export class EffectBench {
  readonly stores: MemoryStores = memoryStores();
  readonly asked: Asked = [];
  saga: AnySaga;
  #engine: Engine | undefined;
  #service: SagaService | undefined;

  private constructor(saga: AnySaga) {
    this.saga = saga;
  }

  static async open(
    steps: readonly EffectStep[],
    options: BenchOptions = {},
  ): Promise<EffectBench> {
    const bench = new EffectBench(sagaOf(steps, options));
    await bench.deploy(steps, options);
    return bench;
  }

  /** Another version of definition and tools, over the same stores. */
  async deploy(steps: readonly EffectStep[], options: BenchOptions = {}): Promise<void> {
    await this.close();
    this.saga = sagaOf(steps, options);
    this.#engine = await startEngine({
      sagas: [this.saga],
      tools: this.saga.steps.map(({ name, tool }) =>
        toolOver(tool, steps.find((step) => step.name === name) as EffectStep, this.asked),
      ),
      stores: this.stores,
      heads: this.stores.openHeads(),
      ledgers: () => [...this.stores.held.ledgers.keys()].map(idOf),
    });
    const { host, ledger, projection, machines } = this.#engine;
    this.#service = new SagaService({
      host,
      ledger,
      sagas: [this.saga],
      index: projection,
      machineOf: (saga) => machines.machineOf(saga),
    });
  }

  async close(): Promise<void> {
    await this.#engine?.close();
    this.#engine = undefined;
  }

  get service(): SagaService {
    if (this.#service === undefined) throw new Error('the engine is not up');
    return this.#service;
  }

  /** Starts a saga and waits until it rests. */
  async run(key = 'k-1'): Promise<SagaView> {
    const { id } = await this.service.start(ada, this.saga.name, key, JSON.stringify(INPUT));
    return this.rested(id);
  }

  async rerun(id: string, key: string): Promise<SagaView> {
    return this.rested((await this.service.rerun(ada, id, key, '')).id);
  }

  async rested(id: string): Promise<SagaView> {
    for (;;) {
      const saga = await this.service.get(ada, id);
      if (['completed', 'compensated', 'incident', 'needs_review'].includes(saga.state))
        return saga;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  standing(id: string): Promise<StandingView> {
    return this.service.standing(ada, id);
  }

  decide(saga: SagaView, decision: object): Promise<SagaView> {
    const review = saga.review?.id ?? saga.incident?.id ?? 'none';
    return this.service.decide(ada, review, JSON.stringify(decision));
  }

  events(id: string): SagaEvent[] {
    return this.records(id).map((record) => openRecord(record));
  }

  records(id: string) {
    return this.stores.held.ledgers.get(`acme/${id}`) ?? [];
  }

  /** What the independent checker says of a ledger. */
  findings(id: string): string[] {
    return check({ tenant: 'acme', sagaId: id }, this.records(id));
  }

  /** What providers were asked since the last look. */
  taken(): string[] {
    return this.asked.splice(0).map(({ what }) => what);
  }
}

function sagaOf(steps: readonly EffectStep[], options: BenchOptions): AnySaga {
  const { businessKey, ceilingMinor } = options;
  return defineSagaFromSteps(
    {
      name: 'trip',
      version: options.version ?? '1',
      input,
      ...(businessKey === undefined ? {} : { businessKey }),
      ...(ceilingMinor === undefined
        ? {}
        : { recovery: { ceiling: { costMinor: ceilingMinor, currency: 'EUR' } } }),
    },
    steps.map((step) => ({
      name: step.name,
      tool: contractOf(step),
      after: step.after,
      checkpoint: step.checkpoint,
      input: ({ input: given, results }) => ({ id: (given as typeof INPUT).id, seen: results }),
    })),
  );
}

function contractOf(step: EffectStep): AnyTool {
  const common = {
    name: `${step.name}-tool`,
    description: `Does ${step.name}.`,
    input: args,
    output,
    externalIds: ({ output: made }: { output: { id: string } }) => ({ [step.name]: made.id }),
    forward: call,
  };
  const compensate = {
    ...call,
    input: z.object({ undo: z.string() }),
    from: ({ output: made }: { output: { id: string } }) => ({ undo: made.id }),
  };
  const cost = { estimateMinor: step.costMinor ?? 0, currency: 'EUR' };
  const { effect = 'reversible' } = step;
  switch (effect) {
    case 'read_only':
    case 'human_decision':
      return defineTool({ ...common, effect });
    case 'irreversible':
      return defineTool({ ...common, effect, ...(step.hook ? { contain: call } : {}) });
    case 'supersede':
      return defineTool({ ...common, effect, ...(step.hook ? { compensate } : {}) });
    case 'reversible':
    case 'compensable':
      return defineTool({ ...common, effect, compensate });
    case 'reversible_with_cost':
      return defineTool({ ...common, effect, compensate, cost });
  }
}

function toolOver(contract: AnyTool, step: EffectStep, asked: Asked): ImplementedTool {
  const note = (what: string, given: unknown, of: Call): void => {
    asked.push({ what, args: given, call: of });
  };
  const erased = {
    forward: async (given: Args, of: Call) => {
      note(step.name, given, of);
      return (await step.forward?.(given, of)) ?? { id: `${step.name}-1` };
    },
    compensate: async (given: unknown, of: Call) => {
      note(`undo ${step.name}`, given, of);
      return step.recover?.(given, of);
    },
    contain: async (given: unknown, of: Call) => {
      note(`contain ${step.name}`, given, of);
      return step.recover?.(given, of);
    },
  };
  return implementTool(contract as never, erased as never);
}

function idOf(key: string): { tenant: string; sagaId: string } {
  const at = key.indexOf('/');
  return { tenant: key.slice(0, at), sagaId: key.slice(at + 1) };
}

/** Something waits until the test opens it. */
export function gate(): { readonly through: Promise<void>; readonly open: () => void } {
  let open = (): void => {};
  const through = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { through, open: () => open() };
}
