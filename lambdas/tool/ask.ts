import { RECONCILE_LIMIT_MS } from '../../statemachines/asl/timeouts.ts';
import type { ExternalIds, StepClaimed } from '../../statemachines/rules/events.ts';
import type { ActionState, Attempt } from '../../statemachines/rules/state.ts';
import { thrown } from '../runtime/thrown.ts';
import { answerKind } from './answers.ts';
import { runUntil } from './deadline.ts';
import { callOf, commitOf, type Job, logOf } from './job.ts';
import { keptPending, RECORDING_MS } from './kept.ts';

export type ProviderAnswer =
  | { readonly kind: 'committed'; readonly value: unknown }
  | {
      readonly kind: 'absent' | 'pending' | 'unknown';
      readonly externalIds?: ExternalIds;
      readonly askAgainInMs?: number;
    };

type AskJob = Omit<Job, 'claimed' | 'args'> & { readonly args?: unknown };

/** Asks what became of an attempt in doubt, and records the answer. */
export async function ask(
  job: Omit<Job, 'claimed' | 'args'>,
  current: ActionState,
  attempt: Attempt,
  args: unknown,
): Promise<void> {
  const named = {
    key: attempt.key,
    correlationId: attempt.correlationId,
    deadlineAt: attempt.deadlineAt,
    attempt: attempt.number,
    attemptNonce: attempt.nonce,
    round: current.round,
  };
  const askedAt = job.host.clock.now();
  const answer = await askProvider({ ...job, args }, current.externalIds, named);
  const options = { actor: 'drive', deadlineAt: job.invocation.endsAt };
  if (answer.kind === 'committed') {
    await job.ledger.write(
      job.request,
      await foundOf({ ...job, args, claimed: named }, answer.value),
      options,
    );
    return;
  }
  await job.ledger.write(
    job.request,
    {
      kind: 'reconcile',
      step: job.request.step,
      action: job.action,
      attempt: attempt.number,
      attemptNonce: attempt.nonce,
      answer: answer.kind,
      askedAt,
      via: 'reconcile',
      call: job.call,
      ...(answer.externalIds === undefined ? {} : { externalIds: answer.externalIds }),
      ...(answer.askAgainInMs === undefined ? {} : { askAgainInMs: answer.askAgainInMs }),
    },
    options,
  );
}

/** The commit of which a question heard. */
export async function foundOf(
  job: Parameters<typeof commitOf>[0],
  value: unknown,
): Promise<Awaited<ReturnType<typeof commitOf>>> {
  // No later than now; of whichever attempt, since all have the correlation id in common.
  const foundAt = job.host.clock.now();
  return { ...(await commitOf(job, value, 'reconcile')), foundAt };
}

/** One question with a deadline of its own. A question that fails proves nothing: `unknown`. */
export async function askProvider(
  job: AskJob,
  externalIds: ExternalIds,
  claimed: Pick<StepClaimed, 'key' | 'correlationId' | 'attempt' | 'round'>,
): Promise<ProviderAnswer> {
  const { clock } = job.host;
  const deadlineAt = Math.min(
    clock.now() + Math.min(job.call.timeoutMs, RECONCILE_LIMIT_MS),
    job.invocation.endsAt - RECORDING_MS,
  );
  const question = {
    action: job.action,
    args: job.args,
    idempotencyKey: claimed.key,
    correlationId: claimed.correlationId,
    externalIds,
  };
  const ran = await runUntil(clock, deadlineAt, (signal) =>
    job.tool.reconcile?.(question, callOf({ ...job, claimed: { ...claimed, deadlineAt } }, signal)),
  );
  if (ran.kind === 'timeout') ran.late.catch(() => {});
  const log = logOf({ ...job, claimed }).with({ tenant: job.request.tenant });
  if (ran.kind !== 'answered') {
    const error = ran.kind === 'threw' ? { error: thrown(ran.error) } : {};
    log.warn('the provider could not be asked', { how: ran.kind, ...error });
    return { kind: 'unknown' };
  }
  const kind = answerKind(ran.value);
  if (kind === 'absent' || kind === 'unknown') return { kind };
  if (kind === 'committed') return { kind: 'committed', value: ran.value };
  if (kind === 'pending') {
    return { kind: 'pending', ...keptPending(ran.value) };
  }
  log.error('reconcile answered none of committed, pending, absent, unknown: read as unknown');
  return { kind: 'unknown' };
}
