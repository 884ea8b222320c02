import {
  type AnySaga,
  type AnyTool,
  defineSagaFromSteps,
  defineTool,
  type RecoverySpec,
  type SagaEvent,
} from 'counterstep';
import { z } from 'zod';
import type { LedgerId } from '../../lambdas/ports/ledger-store.ts';
import { type Answer, absent, committed } from '../../lambdas/tool/answers.ts';
import {
  type Call,
  type ImplementedTool,
  implementTool,
  type Question,
} from '../../lambdas/tool/implementation.ts';
import type { PolicySpec } from '../../lambdas/tool/policy.ts';
import type { Dedupe } from '../../statemachines/language/effects.ts';
import { check } from '../../testing/checker/check.ts';
import { VirtualTime } from '../../testing/virtual-time.ts';
import { VirtualPlane, type VirtualPlaneOptions } from '../support/virtual-plane.ts';

/** One step of a saga under test, at a provider that counts what it is asked to do. */
export interface FieldStep {
  readonly name: string;
  readonly dedupe?: Dedupe;
  readonly reads?: true;
  readonly after?: readonly string[];
  readonly timeoutMs?: number;
  readonly settleMs?: number;
  readonly maxAttempts?: number;
  readonly pendingForMs?: number;
  /** Shares another step's tool. */
  readonly toolOf?: string;
  /**
   * Makes the nth call (from 1) go wrong, or take its time, around `commit`. Without it every call
   * commits and answers.
   */
  readonly behave?: (call: Call, commit: () => { id: string }, nth: number) => unknown;
  /** Default `reversible`. */
  readonly effect?: 'reversible' | 'compensable' | 'irreversible';
  /** Makes the nth undo go wrong, or take its time, around `done`. Without it every undo is done. */
  readonly undo?: (call: Call, done: () => void, nth: number) => unknown;
  /** The undo's arguments, where they are not just the id. */
  readonly undoFrom?: () => unknown;
  /** Answers the nth question "what became of it?" in the provider's place. */
  readonly answer?: (question: Question<unknown>, nth: number) => Answer<unknown> | undefined;
  readonly policy?: PolicySpec<unknown>;
}

const io = z.object({ id: z.string() });

export interface Provider {
  readonly calls: Call[];
  readonly effects: { readonly id: string; readonly key: string; readonly correlationId: string }[];
  readonly undone: string[];
  /** Undo calls, whatever came of them. */
  readonly undos: Call[];
  /** Questions "what became of it?". */
  asked: number;
}

/** The real engine with providers of its own, in virtual time. */
export class FieldBench {
  readonly time = new VirtualTime();
  readonly saga: AnySaga;
  readonly providers = new Map<string, Provider>();
  readonly plane: VirtualPlane;
  readonly tools: ImplementedTool[] = [];

  constructor(
    steps: readonly FieldStep[],
    options: Pick<VirtualPlaneOptions, 'onStoreCall'> & {
      readonly deadlineMs?: number;
      readonly recovery?: RecoverySpec<string>;
    } = {},
  ) {
    const contracts = new Map<string, AnyTool>();
    for (const step of steps) {
      if (step.toolOf !== undefined) continue;
      const tool = contractOf(step);
      contracts.set(step.name, tool);
      const provider: Provider = { calls: [], effects: [], undone: [], undos: [], asked: 0 };
      this.providers.set(step.name, provider);
      this.tools.push(toolOf(tool, step, provider));
    }
    this.saga = defineSagaFromSteps(
      {
        name: 'field',
        version: '1',
        input: z.object({}),
        ...(options.deadlineMs === undefined ? {} : { deadlineMs: options.deadlineMs }),
        ...(options.recovery === undefined ? {} : { recovery: options.recovery }),
      },
      steps.map((step) => ({
        name: step.name,
        tool: contracts.get(step.toolOf ?? step.name) as AnyTool,
        after: step.after,
        input: () => ({ id: 'same' }),
      })),
    );
    this.plane = new VirtualPlane({
      sagas: [this.saga],
      tools: () => this.tools,
      time: this.time,
      ...(options.onStoreCall === undefined ? {} : { onStoreCall: options.onStoreCall }),
    });
  }

  provider(name: string): Provider {
    const provider = this.providers.get(name);
    if (provider === undefined) throw new Error(`no provider ${name}`);
    return provider;
  }

  /**
   * Starts a saga and lets `meanwhile` act; ends when the saga rests and `meanwhile` is through.
   * The ledger is checked against the invariants.
   */
  async run(
    meanwhile: (id: LedgerId) => Promise<void> = async () => {},
    withinMs = 3_600_000,
  ): Promise<Ended> {
    return this.time.use(async () => {
      await this.plane.up();
      let id: LedgerId | undefined;
      let through = false;
      let failed: unknown;
      const acted = this.plane.start(this.saga, 'key-1', {}).then((started) => {
        id = started;
        return meanwhile(started);
      });
      acted.then(
        () => {
          through = true;
        },
        (error: unknown) => {
          failed = error;
          through = true;
        },
      );
      const rests = (): boolean =>
        through && (failed !== undefined || (id !== undefined && this.plane.rests(id)));
      await this.time.run(rests, this.time.now() + withinMs);
      if (failed !== undefined) throw failed;
      if (id === undefined) throw new Error('the saga never started');
      return this.ended(id);
    });
  }

  ended(id: LedgerId): Ended {
    const records = this.plane.stores.held.ledgers.get(`${id.tenant}/${id.sagaId}`) ?? [];
    const state = this.plane.state(id);
    return {
      id,
      state: state?.status ?? 'missing',
      review: state?.review?.reason,
      events: this.plane.events(id),
      bodies: records.map((record) => record.body),
      findings: check(id, records),
    };
  }
}

export interface Ended {
  readonly id: LedgerId;
  readonly state: string;
  readonly review: string | undefined;
  readonly events: readonly SagaEvent[];
  readonly bodies: readonly string[];
  readonly findings: readonly string[];
}

export function typesOf(ended: Ended): string[] {
  return ended.events.map((event) => event.type);
}

function contractOf(step: FieldStep): AnyTool {
  const call = {
    dedupe: step.dedupe ?? 'key',
    timeoutMs: step.timeoutMs ?? 1_000,
    settleMs: step.settleMs ?? 500,
    retry: { maxAttempts: step.maxAttempts ?? 3, backoffMs: 100, maxBackoffMs: 1_000 },
    ...(step.pendingForMs === undefined ? {} : { pendingForMs: step.pendingForMs }),
  } as const;
  const common = {
    name: step.name,
    description: `Does ${step.name}.`,
    input: io,
    output: z.looseObject({ id: z.string() }),
    externalIds: ({ output }: { output: { id: string } }) => ({ effect: output.id }),
    reconcile: step.dedupe === 'lookup' || step.answer !== undefined,
    forward: call,
  };
  if (step.reads) return defineTool({ ...common, effect: 'read_only' });
  if (step.effect === 'irreversible') return defineTool({ ...common, effect: 'irreversible' });
  const compensate = {
    ...call,
    input: io,
    from: ({ output }: { output: { id: string } }) =>
      (step.undoFrom?.() as undefined) ?? { id: output.id },
  };
  return defineTool({ ...common, effect: step.effect ?? 'reversible', compensate });
}

function toolOf(contract: AnyTool, step: FieldStep, provider: Provider): ImplementedTool {
  const { dedupe = 'key' } = step;
  const commit = (call: Call): { id: string } => {
    const known =
      dedupe === 'key'
        ? provider.effects.find((effect) => effect.key === call.idempotencyKey)
        : undefined;
    if (known !== undefined) return { id: known.id };
    const id = `${step.name}-${provider.effects.length + 1}`;
    provider.effects.push({ id, key: call.idempotencyKey, correlationId: call.correlationId });
    return { id };
  };
  const undoneBy = new Set<string>();
  const erased = {
    forward: (_args: unknown, call: Call) => {
      provider.calls.push(call);
      const once = (): { id: string } => commit(call);
      return step.behave?.(call, once, provider.calls.length) ?? once();
    },
    ...(step.effect === 'irreversible'
      ? {}
      : {
          compensate: (args: { id: string }, call: Call) => {
            provider.undos.push(call);
            const done = (): void => {
              if (!provider.undone.includes(args.id)) provider.undone.push(args.id);
              undoneBy.add(call.correlationId);
            };
            if (step.undo === undefined) return done();
            return step.undo(call, done, provider.undos.length);
          },
        }),
    ...step.policy,
    reconcile: (question: Question<unknown>): Answer<unknown> => {
      provider.asked += 1;
      const given = step.answer?.(question, provider.asked);
      if (given !== undefined) return given;
      if (question.action !== 'forward') {
        return undoneBy.has(question.correlationId) ? committed(undefined) : absent();
      }
      const found = provider.effects.find((each) => each.correlationId === question.correlationId);
      return found === undefined ? absent() : committed({ id: found.id });
    },
  };
  return implementTool(contract as never, erased as never);
}
