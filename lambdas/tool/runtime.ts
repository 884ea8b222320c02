import * as errors from '../../statemachines/asl/error-names.ts';
import { INLINE_WAIT_MS } from '../../statemachines/asl/timeouts.ts';
import type { AnySaga, DefinedStep } from '../../statemachines/language/saga.ts';
import type { StepPlan } from '../../statemachines/plan/plan.ts';
import { mayClaim } from '../../statemachines/rules/claim.ts';
import type { Claim, Rejection } from '../../statemachines/rules/commands.ts';
import { doubtPath } from '../../statemachines/rules/doubt.ts';
import type { Action, Stored } from '../../statemachines/rules/events.ts';
import { turn } from '../../statemachines/rules/recovery-gate.ts';
import type { ActionState, SagaState, StepState } from '../../statemachines/rules/state.ts';
import { actionOf, isLive, isUnresolved } from '../../statemachines/rules/view.ts';
import { DriveSignal } from '../runtime/drive-signal.ts';
import type { Host } from '../runtime/host.ts';
import { SagaLedger } from '../runtime/saga-ledger.ts';
import { ask } from './ask.ts';
import { attempt } from './attempt.ts';
import type { ImplementedTool } from './implementation.ts';
import type { Job } from './job.ts';
import type { Invocation, ToolAnswer, ToolRequest } from './request.ts';
import { ArgumentsRefused, buildArguments, loadArguments } from './values.ts';

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

  constructor(options: ToolRuntimeOptions) {
    this.#tool = options.tool;
    this.#sagas = new Map(options.sagas.map((saga) => [saga.name, saga]));
    this.#host = options.host;
    this.#ledger = options.ledger ?? new SagaLedger(options.host);
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
      if (entry.action === 'person') return LEFT;
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
    let prepared: Prepared;
    try {
      prepared = await this.#arguments(work, state, action);
    } catch (error) {
      if (!(error instanceof ArgumentsRefused)) throw error;
      return this.#refuse(work, action, error);
    }
    const command = prepared.stored === undefined ? claim : { ...claim, args: prepared.stored };
    const { verdict, state: after } = await this.#ledger.write(
      work.request,
      command,
      this.#options(work),
    );
    if (verdict.kind === 'already') return 'done';
    if (verdict.kind === 'rejected') return verdict.rejection;
    if (verdict.kind !== 'append' || verdict.event.type !== 'step_claimed' || after === undefined)
      return 'again';
    const job: Job = { ...this.#job(work, action), claimed: verdict.event, args: prepared.value };
    return attempt(job, after);
  }

  async #refuse(work: Work, action: Action, error: ArgumentsRefused): Promise<'again' | Rejection> {
    const { verdict } = await this.#ledger.write(
      work.request,
      {
        kind: 'refuse',
        plan: work.saga.plan,
        epoch: work.request.epoch,
        step: work.step.name,
        action,
        failure: error.failure,
        code: error.code,
        message: error.message,
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
    const args = await this.#known(work, step, current, action);
    await ask(this.#job(work, action), current, current.attempt, args);
  }

  /** Arguments of an attempt made before, for the question about it. */
  async #known(
    work: Work,
    step: StepState,
    current: ActionState,
    action: Action,
  ): Promise<unknown> {
    const { stores } = this.#host;
    const { contract } = this.#tool;
    if (action === 'forward') {
      if (current.args === undefined) return undefined;
      return loadArguments(stores, work.request, current.args, contract.input, work.step.name);
    }
    return (await this.#undoArguments(work, step, action)).value;
  }

  async #arguments(work: Work, state: SagaState, action: Action): Promise<Prepared> {
    const { stores } = this.#host;
    const step = state.steps.get(work.step.name);
    if (action !== 'forward') {
      if (step === undefined)
        throw new ArgumentsRefused('terminal_hold', 'step_unknown', 'no such step');
      return this.#undoArguments(work, step, action);
    }
    const known = step?.forward.args;
    if (known !== undefined) {
      const schema = this.#tool.contract.input;
      return { value: await loadArguments(stores, work.request, known, schema, work.step.name) };
    }
    return buildArguments(stores, work.request, work.saga, work.step, state);
  }

  /** Stored with the commit, never recomputed (invariant 6). */
  async #undoArguments(work: Work, step: StepState, action: Action): Promise<Prepared> {
    const { stores } = this.#host;
    const { contract } = this.#tool;
    const name = work.step.name;
    if (action === 'contain') {
      const { args, commit } = step.forward;
      const input =
        args === undefined
          ? undefined
          : await loadArguments(stores, work.request, args, contract.input, name);
      const output =
        commit?.result === null || commit?.result === undefined
          ? undefined
          : await loadArguments(stores, work.request, commit.result, undefined, name);
      return { value: { input, output } };
    }
    const undo = step.forward.commit?.undo;
    if (undo === null || undo === undefined || undo.kind === 'unavailable') {
      throw new ArgumentsRefused(
        'terminal_hold',
        'undo_unavailable',
        'the commit holds no arguments for its undo',
      );
    }
    return {
      value: await loadArguments(stores, work.request, undo, contract.compensate?.input, name),
    };
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

interface Prepared {
  readonly value: unknown;
  readonly stored?: Stored;
}

function callPolicy(planned: StepPlan, action: Action): StepPlan['forward'] {
  return action === 'forward' ? planned.forward : (planned.recovery?.call ?? planned.forward);
}

function softDeadline(work: Work): number {
  const own = work.invocation.endsAt;
  const soft = work.request.softDeadlineAt;
  return soft > 0 ? Math.min(soft, own) : own;
}
