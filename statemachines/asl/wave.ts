import { catchAll } from './errors.ts';
import type { Branch, Onward, ParallelState, PassState, TaskState } from './types.ts';

/** One step of a wave: its Task, and where its branch ends after a failure. */
export interface Lane {
  readonly name: string;
  readonly task: TaskState;
  readonly failed: string;
}

/**
 * Steps side by side. A failing branch ends quietly, so that its siblings are not cut off in the
 * middle of a call; the state after the wave learns from the ledger what is missing. The catch of
 * the wave itself is for what no branch can catch.
 */
export function wave(lanes: readonly Lane[], onError: string, next: string): ParallelState {
  return {
    Type: 'Parallel',
    Branches: lanes.map(branch),
    ResultPath: null,
    Catch: catchAll(onError),
    Next: next,
  };
}

function branch(lane: Lane): Branch {
  return { StartAt: lane.name, States: { [lane.name]: lane.task, [lane.failed]: END_OF_BRANCH } };
}

export const TO_END: Onward = { End: true };
const END_OF_BRANCH: PassState = { Type: 'Pass', End: true };
