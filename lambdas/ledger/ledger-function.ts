import * as errors from '../../statemachines/asl/error-names.ts';
import type {
  AssessAnswer,
  BeginAnswer,
  CompleteAnswer,
  DriveIds,
  LedgerCall,
  LedgerOp,
  SettleAnswer,
} from '../../statemachines/asl/payloads.ts';
import type { AnySaga } from '../../statemachines/language/saga.ts';
import type { SagaPlan } from '../../statemachines/plan/plan.ts';
import type { Command, Verdict } from '../../statemachines/rules/commands.ts';
import type { SagaStatus } from '../../statemachines/rules/events.ts';
import type { SagaState } from '../../statemachines/rules/state.ts';
import type { LedgerId } from '../ports/ledger-store.ts';
import { DriveSignal } from '../runtime/drive-signal.ts';
import type { Host } from '../runtime/host.ts';
import { SagaLedger } from '../runtime/saga-ledger.ts';
import type { Invocation } from '../tool/request.ts';

/** One Task's question, its drive spread out. */
export interface LedgerRequest extends LedgerId {
  readonly op: LedgerOp;
  readonly saga: string;
  readonly epoch: number;
  /** As `begin` set it (epoch milliseconds); absent before that, and on a Standard machine. */
  readonly softDeadlineAt?: number;
}

/** Reads the Task's payload. */
export function ledgerRequest({ op, saga, drive }: LedgerCall): LedgerRequest {
  const { tenant, sagaId, epoch, softDeadlineAt } = drive;
  return { op, saga, tenant, sagaId, epoch, ...(softDeadlineAt ? { softDeadlineAt } : {}) };
}

export type LedgerAnswer = BeginAnswer | AssessAnswer | SettleAnswer | CompleteAnswer;

/**
 * A drive of an Express execution (5 minutes at most) gives its steps this long; what does not fit
 * goes on in the next drive, which `assess` grants.
 */
export const EXPRESS_DRIVE_MS = 270_000;

/** Events that one `assess` or `settle` may add before it routes; more would be a loop. */
const MAX_EVENTS_PER_CALL = 8;

/** Serves the four Tasks that read and state facts: `begin`, `assess`, `settle`, `complete`. */
export class LedgerFunction {
  readonly #sagas: ReadonlyMap<string, AnySaga>;
  readonly #host: Host;
  readonly #ledger: SagaLedger;

  constructor(options: {
    readonly sagas: readonly AnySaga[];
    readonly host: Host;
    readonly ledger?: SagaLedger;
  }) {
    this.#sagas = new Map(options.sagas.map((saga) => [saga.name, saga]));
    this.#host = options.host;
    this.#ledger = options.ledger ?? new SagaLedger(options.host);
  }

  /**
   * @throws DriveSignal where `begin` or `complete` may not go on: Catch leads to `assess`
   * @throws LedgerDamaged @throws StoreUnavailable
   */
  async handle(call: LedgerRequest, invocation: Invocation): Promise<LedgerAnswer> {
    const saga = this.#sagas.get(call.saga);
    if (saga === undefined) {
      throw new DriveSignal(
        errors.HELD,
        `no definition of saga "${call.saga}" is at hand: give it to the ledger function`,
      );
    }
    switch (call.op) {
      case 'begin':
        return this.#begin(call, saga.plan, invocation);
      case 'complete':
        return this.#complete(call, saga.plan, invocation);
      case 'assess':
        return this.#assess(call, saga.plan, invocation);
      case 'settle':
        return this.#settle(call, saga.plan, invocation);
    }
  }

  async #begin(call: LedgerRequest, plan: SagaPlan, invocation: Invocation): Promise<BeginAnswer> {
    const command = { kind: 'begin', plan, epoch: call.epoch } as const;
    const { verdict } = await this.#write(call, command, invocation);
    if (verdict.kind === 'route') return this.#drive(call, plan);
    throw signal(verdict);
  }

  async #complete(
    call: LedgerRequest,
    plan: SagaPlan,
    invocation: Invocation,
  ): Promise<CompleteAnswer> {
    const command = { kind: 'complete', plan, epoch: call.epoch } as const;
    const { verdict, state } = await this.#write(call, command, invocation);
    if (state?.status === 'completed' && verdict.kind !== 'rejected') return { state: 'completed' };
    if (verdict.kind === 'append') {
      throw new DriveSignal(errors.TERMINAL, 'the saga ended otherwise than completed');
    }
    throw signal(verdict);
  }

  async #assess(
    call: LedgerRequest,
    plan: SagaPlan,
    invocation: Invocation,
  ): Promise<AssessAnswer> {
    const command = { kind: 'assess', plan, epoch: call.epoch } as const;
    const { to, state } = await this.#untilRouted(call, command, invocation);
    const route = to === 'recover' ? 'recover' : (finalRoute(state) ?? 'parked');
    return { route, state, drive: this.#drive(call, plan) };
  }

  async #settle(
    call: LedgerRequest,
    plan: SagaPlan,
    invocation: Invocation,
  ): Promise<SettleAnswer> {
    const command = { kind: 'settle', plan, epoch: call.epoch } as const;
    const { state } = await this.#untilRouted(call, command, invocation);
    const outcome = state === 'compensated' || state === 'incident' ? state : 'parked';
    return { outcome, state };
  }

  /** Each write states one fact; the next question is asked of the state it made. */
  async #untilRouted(
    call: LedgerRequest,
    command: Extract<Command, { kind: 'assess' | 'settle' }>,
    invocation: Invocation,
  ): Promise<{
    readonly to: 'recover' | 'parked' | 'final' | 'forward';
    readonly state: SagaStatus;
  }> {
    for (let events = 0; events < MAX_EVENTS_PER_CALL; events += 1) {
      const { verdict, state } = await this.#write(call, command, invocation);
      if (state === undefined)
        throw new DriveSignal(errors.STALE, `saga ${call.sagaId} has no ledger`);
      if (verdict.kind === 'route') return { to: verdict.to, state: state.status };
      if (verdict.kind === 'rejected') return { to: 'parked', state: state.status };
      if (!drives(state, call.epoch)) return { to: 'parked', state: state.status };
    }
    throw new DriveSignal(errors.NOT_READY, 'the saga changed faster than it could be assessed');
  }

  async #write(
    call: LedgerRequest,
    command: Command,
    invocation: Invocation,
  ): Promise<{ readonly verdict: Verdict; readonly state: SagaState | undefined }> {
    return this.#ledger.write(call, command, { actor: 'drive', deadlineAt: invocation.endsAt });
  }

  /**
   * The drive as the next Tasks get it, with its soft deadline. `assess` passes on the one that
   * `begin` set: the execution does not get longer by failing.
   */
  #drive(call: LedgerRequest, plan: SagaPlan): Required<DriveIds> {
    const { tenant, sagaId, epoch } = call;
    if (plan.sagaType !== 'EXPRESS') return { tenant, sagaId, epoch, softDeadlineAt: 0 };
    const softDeadlineAt = call.softDeadlineAt ?? this.#host.clock.now() + EXPRESS_DRIVE_MS;
    return { tenant, sagaId, epoch, softDeadlineAt };
  }
}

function drives(state: SagaState, epoch: number): boolean {
  return state.drive === 'running' && state.epoch === epoch;
}

function finalRoute(state: SagaStatus): 'completed' | 'compensated' | 'incident' | undefined {
  return state === 'completed' || state === 'compensated' || state === 'incident'
    ? state
    : undefined;
}

function signal(verdict: Verdict): DriveSignal {
  const reason = verdict.kind === 'rejected' ? verdict.rejection.reason : verdict.kind;
  switch (reason) {
    case 'halted':
      return new DriveSignal(errors.TERMINAL, 'a terminal fact stands');
    case 'drift':
      return new DriveSignal(errors.HELD, 'the code at hand may not drive this saga');
    case 'not_ready':
      return new DriveSignal(errors.NOT_READY, 'a step is not done');
    default:
      return new DriveSignal(errors.STALE, `this drive is over (${reason})`);
  }
}
