import type { CallPolicy } from '../../statemachines/language/effects.ts';
import type { Outcome } from '../../statemachines/rules/commands.ts';
import type { Action, SagaEvent, StepClaimed } from '../../statemachines/rules/events.ts';
import type { Log } from '../ports/log.ts';
import type { Host } from '../runtime/host.ts';
import type { SagaLedger } from '../runtime/saga-ledger.ts';
import { type Answer, answerKind } from './answers.ts';
import type { OpenDoor } from './breaker.ts';
import type { Call, ImplementedTool } from './implementation.ts';
import { keptCost, keptIds } from './kept.ts';
import type { Invocation, ToolRequest } from './request.ts';
import { commitValues, type FoundValues } from './values.ts';

/** Everything one attempt needs. */
export interface Job {
  readonly host: Host;
  readonly ledger: SagaLedger;
  readonly tool: ImplementedTool;
  readonly request: ToolRequest;
  readonly invocation: Invocation;
  readonly action: Action;
  readonly call: CallPolicy;
  readonly claimed: SagaEvent & StepClaimed;
  readonly args: unknown;
  /** Told of the call before it is recorded, for the tool's breaker. */
  readonly heard?: OpenDoor['heard'];
}

/** What the implementation is told about the call. */
export function callOf(
  job: Pick<Job, 'request' | 'action'> & {
    readonly claimed: Pick<
      StepClaimed,
      'key' | 'correlationId' | 'deadlineAt' | 'attempt' | 'round' | 'costLimit'
    >;
  },
  signal: AbortSignal,
): Call {
  const { claimed, request } = job;
  return {
    idempotencyKey: claimed.key,
    correlationId: claimed.correlationId,
    signal,
    deadlineAt: claimed.deadlineAt,
    tenant: request.tenant,
    sagaId: request.sagaId,
    step: request.step,
    action: job.action,
    attempt: claimed.attempt,
    round: claimed.round,
    ...(claimed.costLimit === undefined ? {} : { costLimit: claimed.costLimit }),
  };
}

/** The commit as the ledger keeps it. */
export async function commitOf(
  job: Omit<Job, 'claimed'> & { readonly claimed: Pick<StepClaimed, 'attempt' | 'attemptNonce'> },
  value: unknown,
  via: 'call' | 'reconcile',
): Promise<Extract<Outcome, { kind: 'commit' }>> {
  const { host, request, tool } = job;
  const details =
    answerKind(value) === 'committed'
      ? (value as Extract<Answer<unknown>, { output: unknown }>)
      : undefined;
  const output = details === undefined ? value : details.output;
  const given = details?.externalIds;
  const found: FoundValues =
    job.action === 'forward'
      ? await commitValues(host.stores, request, tool.contract, job.args, output, given)
      : { result: null, undo: null, externalIds: keptIds(given) };
  noteFlaws(job, found);
  const { idsFlaw: _idsFlaw, ...values } = found;
  const cost = keptCost(details?.cost);
  return {
    kind: 'commit',
    ...nameOf(job),
    via,
    ...values,
    ...(cost === undefined ? {} : { cost }),
  };
}

/** What is wrong with an answer is told at once: nobody reads a ledger before something is missed. */
function noteFlaws(job: Parameters<typeof logOf>[0], { defect, undo, idsFlaw }: FoundValues): void {
  if (defect !== undefined) logOf(job).warn('answer refused', { ...defect });
  if (undo?.kind === 'unavailable') logOf(job).warn('undo cannot be made', { why: undo.why });
  if (idsFlaw !== undefined) logOf(job).warn('no external ids', { why: idsFlaw });
}

/** Its lines name the call. */
export function logOf({
  host,
  request,
  action,
  claimed,
}: Pick<Job, 'host' | 'request' | 'action'> & {
  readonly claimed: Pick<StepClaimed, 'attempt'>;
}): Log {
  const { sagaId, step } = request;
  return host.log.with({ sagaId, step, action, attempt: claimed.attempt });
}

/** Names the attempt in the outcome that is recorded of it. */
export function nameOf(
  job: Pick<Job, 'request' | 'action'> & {
    readonly claimed: Pick<StepClaimed, 'attempt' | 'attemptNonce'>;
  },
): {
  readonly step: string;
  readonly action: Action;
  readonly attempt: number;
  readonly attemptNonce: string;
} {
  return {
    step: job.request.step,
    action: job.action,
    attempt: job.claimed.attempt,
    attemptNonce: job.claimed.attemptNonce,
  };
}
