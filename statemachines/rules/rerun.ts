import { reject } from './claim.ts';
import type { Command, Context, Verdict } from './commands.ts';
import { RERUN_LEASE_MS, SKEW_MS } from './protocol.ts';
import { append } from './stamp.ts';
import type { SagaState } from './state.ts';

type Rerun = Extract<Command, { kind: 'rerun' }>;

/**
 * Lets one saga go on with the work of a compensated one. At most one does: two would both do what
 * follows the checkpoint, and a second run from an old checkpoint would repeat what a later one kept.
 * The claim is a lease on starting it, so that a start that was lost does not block another for good.
 */
export function claimRerun(state: SagaState, command: Rerun, context: Context): Verdict {
  const problem = rerunProblem(state);
  if (problem !== undefined) return reject({ reason: 'conflict', explanation: problem });
  const { rerun } = state;
  if (rerun !== undefined) {
    const until = rerun.at + RERUN_LEASE_MS;
    if (rerun.saga === command.saga) {
      if (context.now < until) return { kind: 'already' };
    } else if (rerun.saga !== command.vacant) {
      const explanation = `saga ${rerun.saga} goes on with this work already: run that one again`;
      return reject({ reason: 'conflict', explanation });
    } else if (context.now < until + SKEW_MS) {
      const explanation = `saga ${rerun.saga} was asked to go on with this work and has not begun`;
      return reject({ reason: 'conflict', explanation, until: until + SKEW_MS });
    }
  }
  return append(state, { type: 'rerun_claimed', saga: command.saga }, context);
}

/** Why a saga cannot be run again, or nothing. */
export function rerunProblem(state: SagaState): string | undefined {
  if (state.status !== 'compensated') {
    return `the saga is ${state.status}: only a compensated one is run again`;
  }
  return state.erased ? 'its payloads were erased, so it cannot be run again' : undefined;
}
