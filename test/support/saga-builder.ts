import {
  type AnySaga,
  type AnyTool,
  type Command,
  type Dedupe,
  decide,
  defineSagaFromSteps,
  defineTool,
  type EffectClass,
  evolve,
  type RecoverySpec,
  type RulesVerdict,
  type SagaBudget,
  type SagaEvent,
  type SagaState,
} from 'counterstep';
import { z } from 'zod';
import { stepRecords } from '../../lambdas/service/start.ts';
import type { CallPolicy } from '../../statemachines/language/effects.ts';
import type { StepPlan } from '../../statemachines/plan/plan.ts';
import type { Claim, Rejection, ReviewDecision } from '../../statemachines/rules/commands.ts';
import type { Action, FailureClass, Stored } from '../../statemachines/rules/events.ts';

/** Everything a test of the rules may say about one step; the rest is ordinary. */
export interface StepSpec {
  readonly name: string;
  readonly effect?: EffectClass;
  readonly after?: readonly string[];
  readonly dedupe?: Dedupe;
  readonly reconcile?: boolean;
  readonly keyTtlMs?: number;
  readonly maxAttempts?: number;
  /** No try of any of its calls begins later after the first. */
  readonly forMs?: number;
  readonly forwardCostMinor?: number;
  readonly pendingForMs?: number;
  readonly costMinor?: number;
  /** The irreversible step can be contained, the superseding one has its hook. */
  readonly hook?: true;
  readonly checkpoint?: true;
}

export const TIMEOUT_MS = 1_000;
export const SETTLE_MS = 500;
export const BACKOFF_MS = 100;
const id = z.object({ id: z.string() });

function toolOf(spec: StepSpec): AnyTool {
  const effect = spec.effect ?? 'reversible';
  const call = {
    dedupe: spec.dedupe ?? 'key',
    timeoutMs: TIMEOUT_MS,
    settleMs: SETTLE_MS,
    retry: {
      maxAttempts: spec.maxAttempts ?? 3,
      backoffMs: BACKOFF_MS,
      maxBackoffMs: 1_000,
      ...(spec.forMs === undefined ? {} : { forMs: spec.forMs }),
    },
    ...(spec.keyTtlMs === undefined ? {} : { keyTtlMs: spec.keyTtlMs }),
    ...(spec.pendingForMs === undefined ? {} : { pendingForMs: spec.pendingForMs }),
  } as const;
  const common = {
    name: `${spec.name}-tool`,
    description: `Does ${spec.name}.`,
    input: id,
    output: id,
    reconcile: spec.reconcile ?? spec.dedupe === 'lookup',
    ...(spec.forwardCostMinor === undefined
      ? {}
      : { forwardCost: { estimateMinor: spec.forwardCostMinor, currency: 'EUR' } }),
    forward: call,
  };
  const compensate = {
    ...call,
    input: id,
    from: ({ output }: { output: { id: string } }) => ({ id: output.id }),
  };
  const cost = { estimateMinor: spec.costMinor ?? 0, currency: 'EUR' };
  switch (effect) {
    case 'read_only':
    case 'human_decision':
      return defineTool({ ...common, effect });
    case 'irreversible':
      return defineTool({ ...common, effect, ...(spec.hook ? { contain: call } : {}) });
    case 'supersede':
      return defineTool({ ...common, effect, ...(spec.hook ? { compensate } : {}) });
    case 'reversible':
    case 'compensable':
      return defineTool({ ...common, effect, compensate });
    case 'reversible_with_cost':
      return defineTool({ ...common, effect, compensate, cost });
  }
}

export interface SagaOptions {
  readonly deadlineMs?: number;
  readonly budget?: SagaBudget;
  readonly recovery?: RecoverySpec<string>;
}

export function sagaOf(steps: readonly StepSpec[], options: SagaOptions = {}): AnySaga {
  return defineSagaFromSteps(
    { name: 'sample', version: '1', input: id, ...options },
    steps.map((spec) => ({
      name: spec.name,
      tool: toolOf(spec),
      after: spec.after,
      checkpoint: spec.checkpoint,
      input: () => ({ id: spec.name }),
    })),
  );
}

export const START_AT = 1_000_000;

/** One saga under the rules alone: commands in, events out, with a clock that the test moves. */
export class Rules {
  readonly saga: AnySaga;
  readonly events: SagaEvent[] = [];
  now = START_AT;
  actor = 'drive';
  #state: SagaState | undefined;
  #nonce = 0;

  constructor(saga: AnySaga | readonly StepSpec[], options: SagaOptions = {}) {
    this.saga = 'kind' in saga ? saga : sagaOf(saga, options);
    const { plan } = this.saga;
    this.does({
      kind: 'start',
      event: {
        protocol: 1,
        tenant: 'acme',
        sagaId: 'saga-1',
        principal: 'shop',
        name: plan.name,
        version: plan.version,
        sagaType: plan.sagaType,
        planDigest: plan.digest,
        machine: 'machine:1',
        key: 'key-1',
        bodyDigest: 'digest',
        input: { kind: 'inline', value: {} },
        steps: stepRecords(this.saga),
        registeredAt: this.now,
        ...(plan.deadlineMs === undefined ? {} : { deadlineAt: this.now + plan.deadlineMs }),
        ...(plan.ceiling === undefined ? {} : { ceiling: plan.ceiling }),
      },
    });
  }

  /** A saga that began with that event. */
  static from(saga: AnySaga, first: SagaEvent): Rules {
    const rules = new Rules(saga);
    rules.events.length = 0;
    rules.#state = undefined;
    rules.applies(first);
    return rules;
  }

  get state(): SagaState {
    if (this.#state === undefined) throw new Error('not started');
    return this.#state;
  }

  get last(): SagaEvent {
    const last = this.events.at(-1);
    if (last === undefined) throw new Error('not started');
    return last;
  }

  asks(command: Command): RulesVerdict {
    return decide(this.#state, command, { now: this.now, actor: this.actor });
  }

  /** Appends what the rules say. @throws Error where they refuse */
  does(command: Command): SagaEvent {
    const verdict = this.asks(command);
    if (verdict.kind !== 'append') {
      throw new Error(`${command.kind} was not taken: ${JSON.stringify(verdict)}`);
    }
    this.applies(verdict.event);
    return verdict.event;
  }

  /** An event from wherever it comes. */
  applies(event: SagaEvent): void {
    this.#state = evolve(this.#state, event);
    this.events.push(event);
  }

  /** @throws Error where the rules take it */
  refuses(command: Command): Rejection {
    const verdict = this.asks(command);
    if (verdict.kind === 'rejected') return verdict.rejection;
    throw new Error(`${command.kind} was taken: ${JSON.stringify(verdict)}`);
  }

  wait(ms: number): this {
    this.now += ms;
    return this;
  }

  step(name: string): StepPlan {
    const found = this.saga.plan.steps.find((step) => step.name === name);
    if (found === undefined) throw new Error(`no step ${name}`);
    return found;
  }

  policy(name: string, action: Action = 'forward'): CallPolicy {
    const step = this.step(name);
    return action === 'forward' ? step.forward : (step.recovery?.call ?? step.forward);
  }

  claim(step: string, action: Action = 'forward', change: Partial<Claim> = {}): Claim {
    this.#nonce += 1;
    return {
      kind: 'claim',
      ...this.drive(),
      step: this.step(step),
      action,
      attemptNonce: `n${this.#nonce}`,
      softDeadlineAt: 0,
      ...change,
    };
  }

  drive(): { readonly plan: AnySaga['plan']; readonly epoch: number } {
    return { plan: this.saga.plan, epoch: this.#state?.epoch ?? 1 };
  }

  /** The last attempt's name. */
  attempt(step: string, action: Action = 'forward') {
    const found = this.state.steps.get(step);
    const current = action === 'forward' ? found?.forward : found?.recovery;
    return {
      step,
      action,
      attempt: current?.attempt?.number ?? 0,
      attemptNonce: current?.attempt?.nonce ?? '',
    };
  }

  commit(step: string, action: Action = 'forward', more: object = {}): Command {
    return {
      kind: 'commit',
      ...this.attempt(step, action),
      via: 'call',
      externalIds: { [action]: `${step}-${action}` },
      ...this.#values(step, action),
      ...more,
    } as Command;
  }

  /** What is kept of a commit, whoever tells of it: its result, and its undo's arguments. */
  #values(step: string, action: Action): { result: Stored; undo: Stored | null } {
    const undoable = action === 'forward' && this.step(step).recovery?.call !== undefined;
    const value: Stored = { kind: 'inline', value: { id: step } };
    return { result: value, undo: undoable ? value : null };
  }

  /** A person's word for what nobody else can tell. */
  answer(step: string, action: Action, answer: 'committed' | 'absent'): Command {
    const values = answer === 'committed' && action === 'forward' ? this.#values(step, action) : {};
    return this.decision({ decision: 'answer', step, action, answer, evidence: 'x', ...values });
  }

  fail(
    step: string,
    failure: Exclude<FailureClass, 'ambiguous'>,
    action: Action = 'forward',
    retryInMs?: number,
  ): Command {
    return {
      kind: 'fail',
      ...this.attempt(step, action),
      failure,
      code: failure,
      message: 'no',
      ...(retryInMs === undefined ? {} : { retryInMs }),
    };
  }

  doubt(
    step: string,
    action: Action = 'forward',
    answer?: 'absent' | 'pending' | 'unknown',
  ): Command {
    return {
      kind: 'doubt',
      ...this.attempt(step, action),
      code: 'timeout',
      message: 'no answer',
      call: this.policy(step, action),
      ...(answer === undefined ? {} : { answer }),
    };
  }

  told(
    step: string,
    answer: 'absent' | 'pending' | 'unknown',
    action: Action = 'forward',
    more: { readonly askAgainInMs?: number; readonly askedAt?: number; readonly via?: 'call' } = {},
  ): Command {
    return {
      kind: 'reconcile',
      ...this.attempt(step, action),
      answer,
      via: 'reconcile',
      call: this.policy(step, action),
      ...more,
    };
  }

  /** Claims and commits, in order. */
  done(...steps: readonly string[]): this {
    for (const step of steps) {
      this.does(this.claim(step));
      this.does(this.commit(step));
    }
    return this;
  }

  undone(...steps: readonly string[]): this {
    for (const step of steps) {
      const action = this.step(step).recovery?.action ?? 'compensate';
      this.does(this.claim(step, action));
      this.does(this.commit(step, action));
    }
    return this;
  }

  /** A step that is refused for good. */
  refused(step: string): this {
    this.does(this.claim(step));
    this.does(this.fail(step, 'terminal_compensate'));
    return this;
  }

  /** A step whose call was cut off and which nobody has asked about. */
  lost(step: string, action: Action = 'forward'): this {
    this.does(this.claim(step, action));
    this.wait(TIMEOUT_MS);
    this.does(this.doubt(step, action));
    return this;
  }

  assess(): Command {
    return { kind: 'assess', ...this.drive() };
  }

  settle(): Command {
    return { kind: 'settle', ...this.drive() };
  }

  complete(): Command {
    return { kind: 'complete', ...this.drive() };
  }

  decision(decision: ReviewDecision): Command {
    return { kind: 'decide', review: this.state.review?.id ?? 'none', decision };
  }

  /** Waits until the saga is due, and lets the sweep grant the next drive. */
  woken(): this {
    this.now = Math.max(this.now, this.state.dueAt ?? this.now);
    this.does({ kind: 'grant', reason: 'due' });
    return this;
  }
}
