import { safeParse } from 'zod/v4/core';
import { absent, committed, pending, unknown } from '../lambdas/tool/answers.ts';
import { ambiguous, hold, refused, retryable, ToolFailure } from '../lambdas/tool/failures.ts';
import type { Call, ImplementedTool, Question } from '../lambdas/tool/implementation.ts';
import type { AnySaga } from '../statemachines/language/saga.ts';
import type { AnyTool } from '../statemachines/language/tool.ts';
import type { Action, Cost } from '../statemachines/rules/events.ts';
import type { CallFact, Ids } from './checker/records.ts';
import { deviating, exampleOf, garbled, NoExample } from './example.ts';
import { callPolicy, type Mishap } from './mishaps.ts';
import { type Booked, type Caller, ProviderBook } from './provider-book.ts';
import type { ProviderCall, ProviderOptions } from './provider-options.ts';
import { charged, estimateOf, idsOf } from './provider-terms.ts';
import { never, type VirtualProcess } from './virtual-time.ts';

export type { ProviderCall, ProviderOptions } from './provider-options.ts';

/** How long a call that was accepted as `pending` takes to settle. */
const SETTLES_AFTER_MS = 30_000;
/** By how much a provider misses its settle window that breaks its contract. */
const BREACH_MS = 60_000;

interface Pending {
  readonly key: string;
  readonly until: number;
  /** What the provider calls it until then. */
  readonly ids: Ids;
  readonly booked?: Booked;
}

/** Providers as the contracts of their tools describe them. They outlive every worker. */
export class Providers {
  readonly book = new ProviderBook();
  readonly #options: ProviderOptions;
  readonly #counts = new Map<string, number>();
  readonly #pending = new Map<string, Pending>();

  constructor(options: ProviderOptions) {
    this.#options = options;
  }

  /** The tool as one worker uses it. */
  implement(contract: AnyTool, worker: VirtualProcess): ImplementedTool {
    const call = (action: Action) => (args: unknown, call: Call) =>
      this.#serve(contract, action, args, call, worker);
    return {
      contract,
      forward: call('forward'),
      ...(contract.compensate === undefined
        ? {}
        : { compensate: (args, each) => call(each.action)(args, each) }),
      ...(contract.contain === undefined ? {} : { contain: call('contain') }),
      ...(contract.reconcile
        ? { reconcile: (question, each) => this.#asked(contract, question, each, worker) }
        : {}),
    };
  }

  /** Whether the provider has accepted the call and has not settled it; `for_ever`: it never will. */
  pending(correlationId: string): 'for_now' | 'for_ever' | undefined {
    const waiting = this.#pending.get(correlationId);
    if (waiting === undefined || this.#options.time.now() >= waiting.until) return undefined;
    return waiting.until === Infinity ? 'for_ever' : 'for_now';
  }

  async #serve(
    tool: AnyTool,
    action: Action,
    args: unknown,
    call: Call,
    worker: VirtualProcess,
  ): Promise<unknown> {
    const { time, mishap, latencyMs, isOut, moment } = this.#options;
    const policy = callPolicy(tool, action);
    const caller: Caller = { ...call, action };
    // A provider knows true time only, and so the last moment at which the call can still land.
    const now = time.now();
    const deadline = Math.min(call.deadlineAt - worker.skewMs, now + policy.timeoutMs);
    const landsAt = deadline + Math.max(0, policy.settleMs - 1);
    await moment?.('before', worker);
    if (worker.dead) return never();
    const planned = mishap?.({ ...this.#named(tool, caller), nth: this.#count(caller, 'call') });
    const noted = this.#note(tool, caller, args, call.costLimit);
    const latency = latencyMs?.() ?? 0;
    // However slow it is, it keeps the settle window that its contract promises.
    const inTime = Math.min(latency, Math.max(0, landsAt - time.now()));
    if (inTime > 0) await time.world.sleep(inTime);
    if (isOut?.(tool.name) === true) {
      noted.answer = 'nothing';
      throw retryable('unavailable', 'the provider cannot be reached');
    }
    const answer = this.#answer(tool, caller, args, planned, noted, { receivedAt: now, landsAt });
    const value = answer instanceof Promise ? await answer : answer;
    await moment?.('after', worker);
    if (worker.dead) return never();
    noted.answer = 'done';
    return value;
  }

  #answer(
    tool: AnyTool,
    caller: Caller,
    args: unknown,
    planned: Mishap | undefined,
    noted: { answer: CallFact['answer'] },
    { receivedAt, landsAt }: { readonly receivedAt: number; readonly landsAt: number },
  ): unknown {
    const known = this.#known(tool, caller, receivedAt);
    const commit = (): Booked => this.#commit(tool, caller, args, receivedAt, planned);
    const reply = (booked: Booked): unknown => this.#reply(tool, caller.action, booked);
    const later = (fn: () => void, at: number): void => {
      this.#options.time.world.timer(Math.max(0, at - this.#options.time.now()), fn);
    };
    const nothing = (failure: ToolFailure): never => {
      noted.answer = 'nothing';
      throw failure;
    };
    const waiting = this.#pending.get(caller.correlationId);
    const again = waiting?.key === caller.idempotencyKey;
    if (again && callPolicy(tool, caller.action).dedupe === 'key') {
      return this.#settled(tool, caller, waiting, commit);
    }
    this.#pending.delete(caller.correlationId);
    // Who honours keys gives a known one its first answer again, whatever it would say to a new one.
    if (known !== undefined && planned !== 'answer_lost') return reply(known);
    switch (planned) {
      case undefined:
      case 'costs_more':
      case 'costs_less':
        return reply(commit());
      case 'throttled':
        return nothing(retryable('too_many_requests', 'ask again later', { retryAfterMs: 1_000 }));
      case 'refused':
        return nothing(refused('refused_by_provider', 'the provider refuses'));
      case 'held':
        return nothing(hold('held_by_provider', 'a person must look first'));
      case 'broken':
        commit();
        throw new ToolFailure('irreversible_incident', 'broken', 'it failed beyond repair');
      case 'answer_lost':
        if (known === undefined) commit();
        throw lost(tool);
      case 'request_lost':
        throw lost(tool);
      case 'lands_late':
        later(commit, landsAt);
        return never();
      case 'answers_late':
        return new Promise((resolve) => later(() => resolve(reply(commit())), landsAt));
      case 'answers_too_late':
        return new Promise((resolve) => later(() => resolve(reply(commit())), landsAt + BREACH_MS));
      case 'silent':
        return never();
      case 'pending_then_done':
      case 'pending_then_dropped':
      case 'pending_for_ever':
        return this.#accept(tool, caller, planned, commit, later);
      case 'deviates':
        return this.#deviate(tool, commit(), (output) => deviating(tool.output, output));
      case 'garbled':
        return this.#deviate(tool, commit(), () => garbled(tool.output));
    }
  }

  #accept(
    tool: AnyTool,
    caller: Caller,
    planned: 'pending_then_done' | 'pending_then_dropped' | 'pending_for_ever',
    commit: () => Booked,
    later: (fn: () => void, at: number) => void,
  ): unknown {
    const until =
      planned === 'pending_for_ever' ? Infinity : this.#options.time.now() + SETTLES_AFTER_MS;
    const { correlationId, idempotencyKey: key } = caller;
    const waiting: Pending = { key, until, ids: this.book.accept(caller, tool) };
    this.#pending.set(correlationId, waiting);
    if (planned === 'pending_then_done') {
      later(() => {
        this.#pending.set(correlationId, { ...waiting, booked: commit() });
      }, until);
    }
    return waits(waiting);
  }

  /** The call sent again under its key: what became of the first one. */
  #settled(tool: AnyTool, caller: Caller, waiting: Pending, commit: () => Booked): unknown {
    if (this.#options.time.now() < waiting.until) return waits(waiting);
    return this.#reply(tool, caller.action, waiting.booked ?? commit());
  }

  #deviate(
    tool: AnyTool,
    booked: Booked,
    change: (output: unknown) => { readonly value: unknown } | undefined,
  ): unknown {
    const changed = change(booked.output);
    if (changed === undefined) {
      throw new NoExample(`the output schema of tool "${tool.name}" refuses nothing`);
    }
    const { cost } = booked;
    return cost == null ? changed.value : committed(changed.value, { cost });
  }

  async #asked(
    tool: AnyTool,
    question: Question<unknown>,
    call: Call,
    worker: VirtualProcess,
  ): Promise<unknown> {
    const { time, questionMishap, latencyMs, isOut, moment } = this.#options;
    const caller: Caller = { ...call, ...question };
    await moment?.('before', worker);
    if (worker.dead) return never();
    const nth = this.#count(caller, 'question');
    const mishap = questionMishap?.({ ...this.#named(tool, caller), nth });
    const latency = latencyMs?.() ?? 0;
    if (latency > 0) await time.world.sleep(latency);
    const silenced = mishap !== undefined || isOut?.(tool.name) === true;
    const beside = mishap === 'pending' || mishap === 'absent' ? mishap : 'unknown';
    const told = silenced ? beside : this.#told(tool, caller);
    const { correlationId, idempotencyKey: key } = caller;
    const at = time.now();
    const operation = `ask about ${caller.action}`;
    const fact = {
      at,
      operation,
      writes: false,
      correlationId,
      key,
      answer: 'done',
      told,
    } as const;
    this.book.part(caller, tool).calls.push(fact);
    await moment?.('after', worker);
    if (worker.dead || mishap === 'silent') return never();
    if (mishap === 'fails') throw retryable('connection_lost', 'the connection was lost');
    switch (told) {
      case 'unknown':
        return unknown();
      case 'absent':
        return absent();
      case 'pending':
        return waits(silenced ? undefined : this.#pending.get(correlationId));
      case 'committed': {
        const found = this.#found(tool, caller);
        return found === undefined ? absent() : this.#reply(tool, caller.action, found, true);
      }
    }
  }

  #told(tool: AnyTool, caller: Caller): 'committed' | 'absent' | 'pending' {
    const waiting = this.#pending.get(caller.correlationId);
    if (waiting !== undefined && this.#options.time.now() < waiting.until) return 'pending';
    return this.#found(tool, caller) === undefined ? 'absent' : 'committed';
  }

  #found(tool: AnyTool, caller: Caller): Booked | undefined {
    return this.book
      .part(caller, tool)
      .effects.find((effect) => effect.correlationId === caller.correlationId);
  }

  /**
   * The effect that this key made, where the provider honours keys and still remembered it when the call
   * came in: however long that call takes from then on, it makes no second one.
   */
  #known(tool: AnyTool, caller: Caller, receivedAt: number): Booked | undefined {
    const policy = callPolicy(tool, caller.action);
    if (policy.dedupe !== 'key') return undefined;
    const part = this.book.part(caller, tool);
    const found = part.effects.find((effect) => effect.key === caller.idempotencyKey);
    const ageMs = receivedAt - (found?.at ?? 0);
    return ageMs > (policy.keyTtlMs ?? Infinity) ? undefined : found;
  }

  #commit(
    tool: AnyTool,
    caller: Caller,
    args: unknown,
    receivedAt: number,
    planned: Mishap | undefined,
  ): Booked {
    const known = this.#known(tool, caller, receivedAt);
    if (known !== undefined) return known;
    const number = this.book.next();
    const { step, action, correlationId, idempotencyKey: key } = caller;
    const output = action === 'forward' ? this.#output(tool, args, number) : undefined;
    const id = `${step}/${action}#${number}`;
    const undoes = action === 'compensate' ? this.book.undone(caller, args) : undefined;
    const booked: Booked = {
      id,
      at: this.#options.time.now(),
      step,
      action,
      correlationId,
      key,
      output,
      ids: action === 'forward' ? idsOf(tool, args, output) : { [action]: id },
      cost: this.#cost(tool, caller, planned),
      ...(undoes === undefined ? {} : { reverses: undoes.id }),
    };
    if (tool.effect !== 'read_only') {
      this.book.part(caller, tool).effects.push(booked);
    }
    return booked;
  }

  #cost(tool: AnyTool, caller: Caller, planned: Mishap | undefined): Cost | null {
    const estimate = estimateOf(tool, caller.action);
    if (estimate === undefined) return null;
    if (planned === 'costs_more' || planned === 'costs_less') return charged(planned, estimate);
    const { charge } = this.#options;
    return charge === undefined ? estimate : (charge(this.#named(tool, caller), estimate) ?? null);
  }

  #output(tool: AnyTool, args: unknown, number: number): unknown {
    const own = this.#options.outputs?.[tool.name];
    return own === undefined
      ? exampleOf(tool.output, tool.name, { number, like: args })
      : own(args, number);
  }

  #reply(tool: AnyTool, action: Action, booked: Booked, asked = false): unknown {
    const cost = booked.cost == null ? {} : { cost: booked.cost };
    if (action !== 'forward') {
      return committed(undefined, { externalIds: { [action]: booked.id }, ...cost });
    }
    const details = (asked && tool.effect !== 'read_only') || booked.cost != null;
    return details ? committed(booked.output, cost) : booked.output;
  }

  #note(
    tool: AnyTool,
    caller: Caller,
    args: unknown,
    costLimit: Cost | undefined,
  ): { answer: CallFact['answer'] } {
    const { action, correlationId, idempotencyKey: key } = caller;
    const schema = tool.compensate?.input;
    const undoes = action === 'compensate' || action === 'supersede';
    const plain = undoes && schema !== undefined && safeParse(schema, args).success;
    const noted = {
      at: this.#options.time.now(),
      operation: action,
      writes: tool.effect !== 'read_only',
      correlationId,
      key,
      answer: 'lost' as CallFact['answer'],
      costLimit: costLimit ?? null,
      ...(plain ? { args } : {}),
    };
    this.book.part(caller, tool).calls.push(noted);
    return noted;
  }

  #named(tool: AnyTool, { tenant, sagaId, step, action }: Caller): Omit<ProviderCall, 'nth'> {
    return { tool, tenant, sagaId, step, action };
  }

  #count(caller: Caller, what: string): number {
    const name = `${what} ${caller.correlationId}`;
    const nth = (this.#counts.get(name) ?? 0) + 1;
    this.#counts.set(name, nth);
    return nth;
  }
}

/**
 * Asked before anything is played: a provider that cannot answer would only look like one that failed.
 * @throws NoExample naming the tool whose answers have to be given
 */
export function demandOutputs(
  sagas: readonly AnySaga[],
  outputs: ProviderOptions['outputs'],
): void {
  for (const { tool } of sagas.flatMap(({ steps }) => steps)) {
    if (outputs?.[tool.name] !== undefined) continue;
    try {
      exampleOf(tool.output, `an answer of tool "${tool.name}"`, { number: 1 });
    } catch (error) {
      if (!(error instanceof NoExample)) throw error;
      const remedy = `pass outputs: { '${tool.name}': (args, number) => … } with what it answers`;
      throw new NoExample(`${error.message}: ${remedy}`);
    }
  }
}

/** Accepted, and to be settled later. */
function waits(waiting: Pending | undefined): unknown {
  const told = waiting === undefined ? {} : { externalIds: waiting.ids };
  return pending({ ...told, askAgainInMs: 5_000 });
}

function lost(tool: AnyTool): ToolFailure {
  const failure = tool.effect === 'read_only' ? retryable : ambiguous;
  return failure('connection_lost', 'the connection was lost');
}
