import * as errors from '../../statemachines/asl/error-names.ts';
import { INLINE_WAIT_MS } from '../../statemachines/asl/timeouts.ts';
import type { AnySaga, DefinedStep } from '../../statemachines/language/saga.ts';
import type { StepPlan } from '../../statemachines/plan/plan.ts';
import { mayClaim } from '../../statemachines/rules/claim.ts';
import type { Claim, Rejection } from '../../statemachines/rules/commands.ts';
import { doubtPath } from '../../statemachines/rules/doubt.ts';
import type { Action } from '../../statemachines/rules/events.ts';
import { turn } from '../../statemachines/rules/recovery-gate.ts';
import type { ActionState, SagaState, StepState } from '../../statemachines/rules/state.ts';
import { actionOf, isLive, isUnresolved } from '../../statemachines/rules/view.ts';
import { DriveSignal } from '../runtime/drive-signal.ts';
import type { Host } from '../runtime/host.ts';
import { SagaLedger } from '../runtime/saga-ledger.ts';
import { type ArgumentSources, callArguments, knownArguments, type Prepared } from './arguments.ts';
import { ask } from './ask.ts';
import { attempt } from './attempt.ts';
import { type OpenDoor, ToolBreaker } from './breaker.ts';
import type { ImplementedTool } from './implementation.ts';
import type { Job } from './job.ts';
import { askLeave, type Refusal } from './leave.ts';
import type { Invocation, ToolAnswer, ToolRequest } from './request.ts';
import { ArgumentsRefused } from './values.ts';

/** Kept free at the end of an invocation for recording an outcome. */
const RECORDING_MS = 500;

export interface ToolRuntimeOptions {
  readonly tool: ImplementedTool;
  /** The definitions that use the tool: their input mappings run here. */
  readonly sagas: readonly AnySaga[];
  readonly host: Host;
  readonly ledger?: SagaLedger;
}

interface Work {
  readonly request: ToolRequest;
  readonly invocation: Invocation;
  readonly saga: AnySaga;
  readonly step: DefinedStep;
  readonly planned: StepPlan;
  /** Spent on pauses so far in this invocation. */
  waitedMs: number;
}

/** Serves one tool: moves one step of one saga, forward or back, as far as the ledger allows. */
export class ToolRuntime {
  readonly #tool: ImplementedTool;
  readonly #sagas: ReadonlyMap<string, AnySaga>;
  readonly #host: Host;
  readonly #ledger: SagaLedger;
  readonly #breaker: ToolBreaker;

  constructor(options: ToolRuntimeOptions) {
    this.#tool = options.tool;
    this.#sagas = new Map(options.sagas.map((saga) => [saga.name, saga]));
    this.#host = options.host;
    this.#ledger = options.ledger ?? new SagaLedger(options.host);
    this.#breaker = new ToolBreaker(options.tool.contract, options.host);
  }

  /**
   * @throws DriveSignal named by a shared constant where the drive must look at the ledger
   * @throws StoreUnavailable where an outcome could not be recorded in time
   */
  async handle(request: ToolRequest, invocation: Invocation): Promise<ToolAnswer> {
    const work = this.#work(request, invocation);
    return request.action === 'forward' ? this.#forward(work) : this.#recover(work);
  }

  async #forward(work: Work): Promise<ToolAnswer> {
    for (;;) {
      const state = await this.#load(work);
      const result = await this.#claimAndRun(work, state, 'forward');
      if (result === 'done') return { kind: 'moved' };
      if (result === 'again') continue;
      await this.#meet(work, result);
    }
  }

  /** What a refused claim means for a forward Task: wait a little, ask, or end with a signal. */
  async #meet(work: Work, rejection: Rejection): Promise<void> {
    switch (rejection.reason) {
      case 'in_doubt':
        await this.#ask(work, 'forward');
        return;
      case 'backoff':
      case 'waiting':
        if (await this.#waitInline(work, rejection.until)) return;
        throw new DriveSignal(errors.WAITING, `step "${work.step.name}" waits`);
      case 'in_flight':
        throw new DriveSignal(errors.IN_FLIGHT, `another attempt holds step "${work.step.name}"`);
      case 'soft_deadline':
        throw new DriveSignal(errors.SOFT_DEADLINE, 'the drive has no time left for this step');
      case 'not_ready':
        throw new DriveSignal(errors.NOT_READY, `step "${work.step.name}" is not ready`);
      case 'held':
      case 'drift':
        throw new DriveSignal(errors.HELD, `step "${work.step.name}" needs a person`);
      case 'halted':
      case 'deadline_passed':
      case 'attempts_spent':
      case 'time_spent':
      case 'cost_spent':
      case 'breaker_open':
        throw new DriveSignal(errors.TERMINAL, `step "${work.step.name}": ${rejection.reason}`);
      default:
        throw new DriveSignal(errors.STALE, `this drive is over (${rejection.reason})`);
    }
  }

  async #recover(work: Work): Promise<ToolAnswer> {
    for (;;) {
      const state = await this.#load(work);
      const step = state.steps.get(work.step.name);
      const entry = state.plan?.entries.find((candidate) => candidate.step === work.step.name);
      if (step === undefined || entry === undefined || state.halt === undefined) return LEFT;
      // A person vouched for it, and may have undone by hand what the provider still shows.
      if (step.resolved !== undefined) return LEFT;
      if (isUnresolved(step.forward)) {
        if (turn(state, entry) !== undefined) return LEFT;
        if (!(await this.#findOut(work, step))) return LEFT;
        continue;
      }
      if (entry.action === 'person' || entry.action === 'none') return LEFT;
      if (entry.mark === true && (entry.action === 'supersede' || entry.action === 'contain')) {
        return this.#mark(work, entry.action);
      }
      const result = await this.#claimAndRun(work, state, entry.action);
      if (result === 'done') return { kind: 'moved' };
      if (result === 'again') continue;
      if (!(await this.#stays(work, result, entry.action))) return LEFT;
    }
  }

  /** A forward call in doubt is found out before its undo; it is never sent again. */
  async #findOut(work: Work, step: StepState): Promise<boolean> {
    const { clock } = this.#host;
    if (isLive(step.forward, clock.now())) return false;
    const path = doubtPath(step.forward, work.planned.forward, clock.now(), false);
    if (path.kind === 'ask') {
      await this.#ask(work, 'forward');
      return true;
    }
    return path.kind === 'wait' && (await this.#waitInline(work, path.until));
  }

  /** True where the recovery can go on in this invocation. A recovery never throws: `settle` reads the ledger. */
  async #stays(work: Work, rejection: Rejection, action: Action): Promise<boolean> {
    if (rejection.reason === 'in_doubt') {
      await this.#ask(work, action);
      return true;
    }
    if (rejection.reason === 'backoff' || rejection.reason === 'waiting') {
      return this.#waitInline(work, rejection.until);
    }
    return false;
  }

  async #mark(work: Work, action: 'supersede' | 'contain'): Promise<ToolAnswer> {
    const { saga, planned, request } = work;
    const command = {
      kind: 'mark',
      plan: saga.plan,
      epoch: request.epoch,
      step: planned,
      action,
    } as const;
    const { verdict } = await this.#ledger.write(request, command, this.#options(work));
    return verdict.kind === 'append' ? { kind: 'moved' } : LEFT;
  }

  /**
   * Claims, calls, records. `done`: the action stands in the ledger. `again`: something changed, look
   * once more. Else why the claim was refused.
   */
  async #claimAndRun(
    work: Work,
    state: SagaState,
    action: Action,
  ): Promise<'done' | 'again' | Rejection> {
    const { clock, entropy } = this.#host;
    const claim: Claim = {
      kind: 'claim',
      plan: work.saga.plan,
      epoch: work.request.epoch,
      step: work.planned,
      action,
      attemptNonce: entropy.nonce(),
      softDeadlineAt: softDeadline(work),
    };
    // Asked first without writing: arguments are built, and payloads kept, only for a claim that may succeed.
    const probe = mayClaim(state, claim, clock.now());
    if (probe.kind === 'already') return 'done';
    if (probe.kind === 'rejected') return probe.rejection;
    if (probe.kind !== 'free') return 'again';
    const door = await this.#breaker.admit(probe.call);
    if (door.kind === 'refused') return this.#defer(work, claim, door.until);
    try {
      return await this.#claimAndCall(work, state, claim, probe.action, door);
    } finally {
      await door.leave();
    }
  }

  /** The breaker lets nothing through: a short while is waited for, a longer one is noted. */
  async #defer(work: Work, claim: Claim, until: number): Promise<'again' | Rejection> {
    if (await this.#waitInline(work, until)) return 'again';
    const command = { ...claim, kind: 'defer', until } as const;
    const { verdict } = await this.#ledger.write(work.request, command, this.#options(work));
    return verdict.kind === 'rejected' ? verdict.rejection : 'again';
  }

  async #claimAndCall(
    work: Work,
    state: SagaState,
    claim: Claim,
    current: ActionState,
    { heard }: OpenDoor,
  ): Promise<'done' | 'again' | Rejection> {
    const { action } = claim;
    let prepared: Prepared;
    try {
      prepared = await callArguments(this.#sources(work), state, action);
    } catch (error) {
      if (!(error instanceof ArgumentsRefused)) throw error;
      return this.#refuse(work, action, error);
    }
    const asked = { ...this.#job(work, action), args: prepared.value, current };
    const leave = await askLeave(asked);
    if (leave.kind === 'refused') return this.#refuse(work, action, leave);
    const command: Claim = {
      ...claim,
      ...(prepared.stored === undefined ? {} : { args: prepared.stored }),
      ...(leave.policyVersion === undefined ? {} : { policyVersion: leave.policyVersion }),
    };
    const { verdict, state: after } = await this.#ledger.write(
      work.request,
      command,
      this.#options(work),
    );
    if (verdict.kind === 'already') return 'done';
    if (verdict.kind === 'rejected') return verdict.rejection;
    if (verdict.kind !== 'append' || verdict.event.type !== 'step_claimed' || after === undefined)
      return 'again';
    const claimed = verdict.event;
    return attempt({ ...this.#job(work, action), claimed, args: prepared.value, heard }, after);
  }

  async #refuse(work: Work, action: Action, refusal: Refusal): Promise<'again' | Rejection> {
    const { verdict } = await this.#ledger.write(
      work.request,
      {
        kind: 'refuse',
        plan: work.saga.plan,
        epoch: work.request.epoch,
        step: work.step.name,
        action,
        failure: refusal.failure,
        code: refusal.code,
        message: refusal.message,
        ...(refusal.reason === undefined ? {} : { reason: refusal.reason }),
        ...(refusal.policyVersion === undefined ? {} : { policyVersion: refusal.policyVersion }),
      },
      this.#options(work),
    );
    return verdict.kind === 'rejected' ? verdict.rejection : 'again';
  }

  async #ask(work: Work, action: Action): Promise<void> {
    const state = await this.#load(work);
    const step = state.steps.get(work.step.name);
    const current = step === undefined ? undefined : actionOf(step, action);
    if (step === undefined || current?.attempt === undefined || !isUnresolved(current)) return;
    const args = await knownArguments(this.#sources(work), step, current, action);
    await ask(this.#job(work, action), current, current.attempt, args);
  }

  #sources({ request, saga, step }: Work): ArgumentSources {
    return { stores: this.#host.stores, contract: this.#tool.contract, request, saga, step };
  }

  #job(work: Work, action: Action): Omit<Job, 'claimed' | 'args'> {
    return {
      host: this.#host,
      ledger: this.#ledger,
      tool: this.#tool,
      request: work.request,
      invocation: work.invocation,
      action,
      call: callPolicy(work.planned, action),
    };
  }

  async #load(work: Work): Promise<SagaState> {
    const state = await this.#ledger.load(work.request);
    if (state !== undefined) return state;
    throw new DriveSignal(errors.STALE, `saga ${work.request.sagaId} has no ledger`);
  }

  async #waitInline(work: Work, until: number): Promise<boolean> {
    const { clock } = this.#host;
    const pause = Math.max(0, until - clock.now());
    const soft = softDeadline(work);
    const wakes = Math.max(until, clock.now());
    if (work.waitedMs + pause > INLINE_WAIT_MS || wakes + RECORDING_MS > soft) return false;
    work.waitedMs += pause;
    await clock.sleep(pause);
    return true;
  }

  #options(work: Work): { readonly actor: string; readonly deadlineAt: number } {
    return { actor: 'drive', deadlineAt: work.invocation.endsAt };
  }

  #work(request: ToolRequest, invocation: Invocation): Work {
    const saga = this.#sagas.get(request.saga);
    const step = saga?.steps.find((candidate) => candidate.name === request.step);
    const planned = saga?.plan.steps.find((candidate) => candidate.name === request.step);
    const { contract } = this.#tool;
    if (
      saga === undefined ||
      step === undefined ||
      planned === undefined ||
      step.tool.name !== contract.name
    ) {
      throw new DriveSignal(
        errors.HELD,
        `tool "${contract.name}" does not serve step "${request.step}" of saga "${request.saga}": give the definition to its handler`,
      );
    }
    return { request, invocation, saga, step, planned, waitedMs: 0 };
  }
}

const LEFT: ToolAnswer = { kind: 'left' };

function callPolicy(planned: StepPlan, action: Action): StepPlan['forward'] {
  return action === 'forward' ? planned.forward : (planned.recovery?.call ?? planned.forward);
}

function softDeadline(work: Work): number {
  const own = work.invocation.endsAt;
  const soft = work.request.softDeadlineAt;
  return soft > 0 ? Math.min(soft, own) : own;
}
