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

export interface ToolAnswer {
  /** `moved`: the step is where its Task wanted it. `left`: a recovery has nothing to do now. */
  readonly kind: 'moved' | 'left';
}

/** The limits of one invocation. */
export interface Invocation {
  /** When the host ends it (epoch milliseconds). */
  readonly endsAt: number;
}
