import type { ToolCall } from '../../statemachines/asl/payloads.ts';
import type { LedgerId } from '../ports/ledger-store.ts';

/** What a tool's Task passes: ids only. */
export interface ToolRequest extends LedgerId {
  readonly epoch: number;
  /** Name of the saga definition. */
  readonly saga: string;
  readonly step: string;
  /** `recover` finds out what is in doubt, then compensates, supersedes or contains. */
  readonly action: 'forward' | 'recover';
  /** Epoch milliseconds; 0: none. */
  readonly softDeadlineAt: number;
}

/** Reads the Task's payload. */
export function toolRequest({ saga, step, action, drive }: ToolCall): ToolRequest {
  const { tenant, sagaId, epoch, softDeadlineAt = 0 } = drive;
  return { tenant, sagaId, epoch, saga, step, action, softDeadlineAt };
}

export interface ToolAnswer {
  /** `moved`: the step is where its Task wanted it. `left`: a recovery has nothing to do now. */
  readonly kind: 'moved' | 'left';
}

/** The limits of one invocation. */
export interface Invocation {
  /** When the host ends it (epoch milliseconds). */
  readonly endsAt: number;
}
