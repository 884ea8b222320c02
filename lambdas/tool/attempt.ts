import { sensitiveValues } from '../../statemachines/language/sensitive.ts';
import { redactText } from '../../statemachines/ledger/redact.ts';
import type { Outcome } from '../../statemachines/rules/commands.ts';
import { MAX_ASK_INTERVAL_MS, MAX_IDLE_PAUSE_MS } from '../../statemachines/rules/protocol.ts';
import type { SagaState } from '../../statemachines/rules/state.ts';
import { actionOf } from '../../statemachines/rules/view.ts';
import type { Log } from '../ports/log.ts';
import { thrown } from '../runtime/thrown.ts';
import { answerKind } from './answers.ts';
import { askProvider, foundOf } from './ask.ts';
import { heardOf } from './breaker.ts';
import { runUntil } from './deadline.ts';
import { type Classified, classify, isToolFailure } from './failures.ts';
import type { Call } from './implementation.ts';
import { callOf, commitOf, type Job, logOf, nameOf } from './job.ts';
import { keptPending, keptWish, MAX_CODE_LENGTH } from './kept.ts';

/** A call that starts with less than this share of its time left would only be cut off. */
const LEAST_SHARE = 0.5;

/**
 * Makes the claimed call and records what became of it.
 * @throws StoreUnavailable where the outcome could not be recorded before the invocation ends
 */
export async function attempt(job: Job, state: SagaState): Promise<'done' | 'again'> {
  const { clock } = job.host;
  const log = logOf(job);
  const { claimed } = job;
  const left = claimed.deadlineAt - clock.now();
  if (left < job.call.timeoutMs * LEAST_SHARE) {
    const message = 'the attempt had too little time left and made no call';
    return fail(job, state, { failure: 'retryable', code: 'not_called', message });
  }
  log.info('call', { key: claimed.key });
  // By its own clock no call takes longer than its timeout, even where the claim is dated ahead of it.
  const until = Math.min(claimed.deadlineAt, clock.now() + job.call.timeoutMs);
  const ran = await runUntil(clock, until, (signal) => invoke(job, callOf(job, signal)));
  switch (ran.kind) {
    case 'answered':
      job.heard?.({ kind: 'worked' });
      return answered(job, ran.value, 'call');
    case 'threw':
      return failed(
        job,
        state,
        classify(ran.error, job.tool.contract.effect, job.action),
        // What nobody classified may be a mistake in the implementation: the log says where it came from.
        isToolFailure(ran.error) ? log : log.with({ error: thrown(ran.error) }),
      );
    case 'timeout': {
      recordLate(job, ran.late, log);
      const message = `no answer within ${job.call.timeoutMs} ms`;
      const failure = job.tool.contract.effect === 'read_only' ? 'retryable' : 'ambiguous';
      return failed(job, state, { failure, code: 'timeout', message }, log);
    }
  }
}

function invoke(job: Job, call: Call): unknown {
  const { tool, args } = job;
  switch (job.action) {
    case 'forward':
      return tool.forward(args, call);
    case 'contain':
      return tool.contain?.(args, call);
    case 'compensate':
    case 'supersede':
      return tool.compensate?.(args, call);
  }
}

async function answered(
  job: Job,
  value: unknown,
  via: 'call' | 'reconcile',
): Promise<'done' | 'again'> {
  const kind = answerKind(value);
  if (kind === 'pending') {
    await write(job, {
      kind: 'reconcile',
      ...nameOf(job),
      answer: 'pending',
      via: 'call',
      call: job.call,
      ...keptPending(value),
    });
    return 'again';
  }
  if (kind === 'absent' || kind === 'unknown') {
    const message = `${job.action} answered "${kind}", which only reconcile may say`;
    return inDoubt(job, { failure: 'ambiguous', code: 'unusable_answer', message });
  }
  await write(job, await commitOf(job, value, via));
  return 'done';
}

async function failed(
  job: Job,
  state: SagaState,
  raw: Classified,
  log: Log,
): Promise<'done' | 'again'> {
  const secrets = secretsOf(job);
  const failure = {
    ...raw,
    code: redactText(String(raw.code), { secrets, maxLength: MAX_CODE_LENGTH }),
    message: redactText(String(raw.message), { secrets }),
  };
  job.heard?.(heardOf(failure.failure, failure.code));
  log.warn('call failed', { failure: failure.failure, code: failure.code });
  if (failure.failure !== 'ambiguous') return fail(job, state, failure);
  return inDoubt(job, failure);
}

async function fail(job: Job, state: SagaState, failure: Classified): Promise<'again'> {
  await write(job, {
    kind: 'fail',
    ...nameOf(job),
    failure: failure.failure === 'ambiguous' ? 'terminal_hold' : failure.failure,
    code: failure.code,
    message: failure.message,
    ...(failure.reason === undefined ? {} : { reason: failure.reason }),
    ...(failure.failure === 'retryable' ? { retryInMs: pause(job, state, failure) } : {}),
  });
  return 'again';
}

/** It may have committed: ask at once where the provider can be asked, and record what it said. */
async function inDoubt(job: Job, failure: Classified): Promise<'done' | 'again'> {
  const base = {
    kind: 'doubt',
    ...nameOf(job),
    code: failure.code,
    message: failure.message,
    call: job.call,
  } as const;
  if (!job.call.reconcile || job.call.dedupe === 'none') {
    await write(job, base);
    return 'again';
  }
  const answer = await askProvider(job, {}, job.claimed);
  if (answer.kind === 'committed') {
    await write(job, await foundOf(job, answer.value));
    return 'done';
  }
  await write(job, {
    ...base,
    answer: answer.kind,
    ...(answer.externalIds === undefined ? {} : { externalIds: answer.externalIds }),
    ...(answer.askAgainInMs === undefined ? {} : { askAgainInMs: answer.askAgainInMs }),
  });
  return 'again';
}

/** A call that finishes after its deadline is evidence, and evidence is always recorded. */
function recordLate(job: Job, late: Promise<unknown>, log: Log): void {
  late
    .then(async (value) => {
      const kind = answerKind(value);
      if (kind !== undefined && kind !== 'committed') return;
      const command = await commitOf(job, value, 'call');
      await job.ledger.write(job.request, command, { actor: 'drive' });
      log.warn('recorded a call that finished after its deadline');
    })
    .catch((error: unknown) => {
      log.warn('a call went on after its deadline', { error: thrown(error) });
    });
}

/** Full jitter over the upper half, so that pauses grow and callers spread. */
function pause(job: Job, state: SagaState, failure: Classified): number {
  const step = state.steps.get(job.request.step);
  const current = step === undefined ? undefined : actionOf(step, job.action);
  const spent = Math.max(current?.spent ?? 1, (current?.asks ?? 0) + 1);
  const { backoffMs, maxBackoffMs } = job.call.retry;
  // Past its budget only a step after the pivot goes on, or one in doubt that is sent again under its
  // key, and neither must hammer its provider for days.
  const idle = current?.suspectUntil === undefined ? MAX_IDLE_PAUSE_MS : MAX_ASK_INTERVAL_MS;
  const longest = spent < job.call.retry.maxAttempts ? maxBackoffMs : idle;
  const full = Math.min(longest, backoffMs * 2 ** Math.min(30, Math.max(0, spent - 1)));
  const jittered = full / 2 + (full / 2) * job.host.entropy.fraction();
  return Math.round(Math.max(jittered, keptWish(failure.retryAfterMs) ?? 0));
}

/** What the contract marks as sensitive in the arguments that were sent. */
function secretsOf(job: Job): string[] {
  const { contract } = job.tool;
  if (job.action === 'forward') return sensitiveValues(contract.input, job.args);
  if (job.action !== 'contain') {
    const undo = contract.compensate;
    return undo === undefined ? [] : sensitiveValues(undo.input, job.args);
  }
  const { input, output } = job.args as { readonly input: unknown; readonly output: unknown };
  return [...sensitiveValues(contract.input, input), ...sensitiveValues(contract.output, output)];
}

/** An outcome is worth trying until the invocation's last second. */
async function write(
  job: Pick<Job, 'ledger' | 'request' | 'invocation'>,
  command: Outcome,
): Promise<void> {
  await job.ledger.write(job.request, command, {
    actor: 'drive',
    deadlineAt: job.invocation.endsAt,
  });
}
