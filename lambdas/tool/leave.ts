import { RECONCILE_LIMIT_MS } from '../../statemachines/asl/timeouts.ts';
import { sensitiveValues } from '../../statemachines/language/sensitive.ts';
import { redactText } from '../../statemachines/ledger/redact.ts';
import type { Refuse } from '../../statemachines/rules/commands.ts';
import type { ActionState } from '../../statemachines/rules/state.ts';
import { isUnresolved } from '../../statemachines/rules/view.ts';
import type { Clock } from '../ports/clock.ts';
import { thrown } from '../runtime/thrown.ts';
import { runUntil } from './deadline.ts';
import type { Job } from './job.ts';
import { MAX_CODE_LENGTH, RECORDING_MS } from './kept.ts';
import { allow, deny, type Leave, type PolicyCall, type PolicySpec } from './policy.ts';

/** What is recorded of a call that is refused before any claim. */
export type Refusal = Pick<Refuse, 'failure' | 'code' | 'message' | 'reason' | 'policyVersion'>;

type Answered =
  | { readonly kind: 'given'; readonly policyVersion?: string }
  | ({ readonly kind: 'refused' } & Refusal);

/** May this call be made at all? A call in doubt is asked about, whatever the policy says by now. */
export async function askLeave(
  job: Omit<Job, 'claimed'> & { readonly current: ActionState },
): Promise<Answered> {
  const { policy, contract } = job.tool;
  if (policy === undefined || job.action !== 'forward' || isUnresolved(job.current)) {
    return { kind: 'given' };
  }
  const { clock } = job.host;
  const deadlineAt = Math.min(
    clock.now() + Math.min(job.call.timeoutMs, RECONCILE_LIMIT_MS),
    job.invocation.endsAt - RECORDING_MS,
  );
  const { tenant, sagaId, step } = job.request;
  const leave = await ask(clock, deadlineAt, policy, job.args, { tenant, sagaId, step });
  const { policyVersion } = policy;
  if (leave.kind === 'allowed') return { kind: 'given', policyVersion };
  const secrets = sensitiveValues(contract.input, job.args);
  const message = redactText(leave.message, { secrets });
  if (leave.kind === 'failed') {
    const failure = 'terminal_hold';
    return { kind: 'refused', failure, code: 'policy_failed', message, policyVersion };
  }
  return {
    kind: 'refused',
    failure: 'terminal_compensate',
    code: redactText(leave.code, { secrets, maxLength: MAX_CODE_LENGTH }),
    message,
    reason: 'policy_denied',
    policyVersion,
  };
}

/** A policy that has no answer in time gives no leave, and no refusal either: a person must look. */
async function ask(
  clock: Clock,
  deadlineAt: number,
  spec: PolicySpec<unknown>,
  args: unknown,
  call: Omit<PolicyCall, 'signal'>,
): Promise<Leave | { readonly kind: 'failed'; readonly message: string }> {
  const ran = await runUntil(clock, deadlineAt, (signal) => spec.policy(args, { ...call, signal }));
  if (ran.kind === 'timeout') {
    ran.late.catch(() => {});
    return { kind: 'failed', message: 'the policy did not answer in time' };
  }
  if (ran.kind === 'threw') {
    return { kind: 'failed', message: `the policy failed with ${thrown(ran.error)}` };
  }
  const answer = ran.value as { readonly [member: string]: unknown } | null | undefined;
  if (answer?.kind === 'allowed') return allow();
  if (answer?.kind === 'denied') return deny(String(answer.code), String(answer.message));
  return { kind: 'failed', message: 'the policy answered neither allow() nor deny()' };
}
