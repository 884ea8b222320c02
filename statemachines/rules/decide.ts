import { claim, defer, mark, refuse, reject } from './claim.ts';
import type { Command, Context, Start, Verdict } from './commands.ts';
import { assess, begin, complete, openReview, ownsDrive, park } from './drive.ts';
import type { SagaEvent } from './events.ts';
import { evolve } from './evolve.ts';
import { outcome } from './outcome.ts';
import { cancel, decideReview, erase, grant, resume, suggest } from './outside.ts';
import { DRIVE_CHECK_MS } from './protocol.ts';
import { claimRerun } from './rerun.ts';
import { prepareRecovery, settle } from './settle.ts';
import type { SagaState } from './state.ts';

/**
 * The rules of a saga, pure: what the one next event is, or why there is none. Whoever writes reads
 * the ledger, decides, and appends at `seq + 1`; if that place is taken it reads on and decides again.
 */
export function decide(state: SagaState | undefined, command: Command, context: Context): Verdict {
  if (command.kind === 'start') {
    if (state !== undefined) return { kind: 'already' };
    const event = firstEvent(command, context);
    return { kind: 'append', event, after: evolve(undefined, event) };
  }
  if (state === undefined) return reject({ reason: 'not_found' });
  switch (command.kind) {
    case 'claim':
      return claim(state, command, context);
    case 'defer':
      return defer(state, command, context);
    case 'refuse':
      return refuse(state, command, context);
    case 'mark':
      return mark(state, command, context);
    case 'commit':
    case 'fail':
    case 'doubt':
    case 'reconcile':
      return outcome(state, command, context);
    case 'begin':
      return begin(state, command);
    case 'complete':
      return complete(state, command, context);
    case 'assess': {
      const verdict = assess(state, command, context);
      const recovers = verdict.kind === 'route' && verdict.to === 'recover';
      return recovers ? prepareRecovery(state, command.plan, context) : verdict;
    }
    case 'settle':
      return settle(state, command, context);
    case 'drift':
      if (!ownsDrive(state, command.epoch)) return { kind: 'route', to: 'parked' };
      return state.review === undefined
        ? openReview(state, command.reviewMs, 'code_drift', [], command.explanation, context)
        : park(state, 'person', context);
    case 'grant':
      return grant(state, command, context);
    case 'cancel':
      return cancel(state, command, context);
    case 'resume':
      return resume(state, command, context);
    case 'decide':
      return decideReview(state, command, context);
    case 'suggest':
      return suggest(state, command, context);
    case 'rerun':
      return claimRerun(state, command, context);
    case 'erase':
      return erase(state, command, context);
  }
}

/** Event 1 grants epoch 1: the caller is answered once it stands, whatever becomes of the first drive. */
function firstEvent(command: Start, context: Context): SagaEvent {
  return {
    type: 'saga_started',
    ...command.event,
    seq: 1,
    at: context.now,
    actor: context.actor,
    state: 'running',
    drive: 'running',
    epoch: 1,
    dueAt: context.now + DRIVE_CHECK_MS,
  };
}
