import type { Cost, RecoveryAction } from './events.ts';

export interface RecoveryEntry {
  readonly step: string;
  /** `none`: its contract says that there is nothing to undo. */
  readonly action: RecoveryAction | 'person' | 'none';
  /** Steps in this plan whose recovery must be done first. */
  readonly after: readonly string[];
  /** The forward call is in doubt: recovered only if it turns out to have committed. */
  readonly conditional?: true;
  /** Nothing is called: the recovery is a mark in the ledger (a plain `supersede`, a pivot without `contain`). */
  readonly mark?: true;
  /** Why there is nothing to undo (`none`). */
  readonly why?: string;
  readonly estimate?: Cost;
}

export interface RecoveryPlan {
  /** SHA-256 over the canonical JSON of `checkpoint` and `entries`. */
  readonly hash: string;
  /** Recovery goes back to it: what the steps up to it did stays. */
  readonly checkpoint?: string;
  readonly entries: readonly RecoveryEntry[];
  /** Sum of the estimates, conditional ones at full cost. */
  readonly estimateMinor: number;
  readonly currency?: string;
  /** Effects that stay whatever recovery does (irreversible ones, checkpoints), in words for a person. */
  readonly consequences: readonly string[];
}
