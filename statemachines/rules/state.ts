import type {
  Action,
  Cost,
  DriveState,
  ExternalIds,
  FailureClass,
  FailureReason,
  HaltReason,
  ParkReason,
  RecoveryAction,
  RecoveryPlan,
  ReviewReason,
  SagaStarted,
  SagaStatus,
  StepCommitted,
  StepRecord,
  Stored,
} from './events.ts';

/** One saga as the fold of its ledger. Never stored as truth; always rebuilt from events. */
export interface SagaState {
  readonly start: SagaStarted;
  readonly seq: number;
  /** `at` of the first and of the last event. */
  readonly startedAt: number;
  readonly at: number;
  readonly status: SagaStatus;
  readonly drive: DriveState;
  readonly epoch: number;
  readonly dueAt: number | undefined;
  /** What later drives run: event 1's, or the latest that a resume or decision named. */
  readonly machine: string;
  readonly planDigest: string;
  readonly steps: ReadonlyMap<string, StepState>;
  /** The terminal fact that leads to recovery; at most one stands. */
  readonly halt: Halt | undefined;
  readonly plan: RecoveryPlan | undefined;
  readonly approval: { readonly planHash: string; readonly maxCost: Cost } | undefined;
  readonly review: Review | undefined;
  readonly parked: ParkReason | undefined;
  /** Events in this drive beside its park. */
  readonly progress: number;
  /** Drives in a row that moved nothing. */
  readonly idleDrives: number;
  readonly incident: Incident | undefined;
  /** The saga that goes on with this one's work, and since when it may begin. */
  readonly rerun: { readonly saga: string; readonly at: number } | undefined;
  readonly erased: boolean;
  /** Set when an event of an unknown type was met: nothing may be claimed any more. */
  readonly unreadable: string | undefined;
}

export interface Halt {
  readonly seq: number;
  readonly at: number;
  readonly reason: HaltReason;
  /** Whose budget is spent. Absent: the step's own, or no budget's. */
  readonly budget?: 'saga';
  readonly step?: string;
  readonly code?: string;
  /** The pivot had committed: the failure is contained, not undone. */
  readonly afterPivot: boolean;
  /** Somebody asked for everything to be undone: no checkpoint is kept. */
  readonly everything?: true;
}

export interface Review {
  readonly id: string;
  readonly reason: ReviewReason;
  readonly steps: readonly string[];
  readonly explanation: string;
  readonly planHash?: string;
  readonly maxCost?: Cost;
  readonly openedAt: number;
  readonly deadlineAt: number;
  /** Reminders grow apart; the next one. */
  readonly remindAt: number;
}

export interface Incident {
  readonly seq: number;
  readonly reason: 'pivot_committed' | 'irreversible_failure' | 'late_evidence' | 'damaged';
  readonly explanation: string;
  readonly steps: readonly string[];
  readonly closed?: { readonly by: string; readonly at: number; readonly evidence: string };
}

export interface StepState {
  readonly record: StepRecord;
  readonly forward: ActionState;
  /** Present once its recovery was claimed, failed or marked. */
  readonly recovery: (ActionState & { readonly action: RecoveryAction }) | undefined;
  /** A named person vouches that nothing of this step stands. */
  readonly resolved:
    | { readonly by: string; readonly at: number; readonly evidence: string }
    | undefined;
  /** Effects beside the recorded one. */
  readonly late: readonly LateEffect[];
  /** Done by the saga before, whose checkpoint kept it: this saga never undoes it. */
  readonly adopted?: true;
}

export interface LateEffect {
  readonly action: Action;
  readonly seq: number;
  readonly externalIds: ExternalIds;
}

/**
 * - `idle`: no attempt yet, or none since a person reopened it.
 * - `running`: claimed; in doubt once the lease is over.
 * - `retrying`: the last attempt surely did nothing.
 * - `waiting`: the provider has it and will settle it.
 * - `in_doubt`: it may have committed.
 * - `done`, `failed`: for good (a person may reopen `failed`).
 */
export type ActionStatus =
  | 'idle'
  | 'running'
  | 'retrying'
  | 'waiting'
  | 'in_doubt'
  | 'done'
  | 'failed';

export interface ActionState {
  readonly action: Action;
  readonly status: ActionStatus;
  /** All claims ever; numbers the attempts. */
  readonly attempts: number;
  /** Claims within the present budget. */
  readonly spent: number;
  readonly round: number;
  /** The number of the first attempt of each round. */
  readonly roundStarts: readonly number[];
  readonly attempt: Attempt | undefined;
  /** First claim of the present round: from then on the provider's memory of our key runs. */
  readonly roundSince: number | undefined;
  /**
   * An earlier attempt of this round was sent again without its outcome being known; until then it may
   * still land, so a later attempt's failure does not speak for it.
   */
  readonly suspectUntil: number | undefined;
  readonly args: Stored | undefined;
  /** What the plan set aside for it when it was claimed. */
  readonly reserved: Cost | undefined;
  readonly retryAt: number | undefined;
  /** Since when the present budget's time runs: its first claim, or the first that a breaker refused. */
  readonly triedSince: number | undefined;
  /** Claims in a row that were not made, since the tool's breaker was open. */
  readonly deferrals: number;
  readonly askAt: number | undefined;
  readonly asks: number;
  /** Since when the provider has given no answer one can act on. */
  readonly unsettledSince: number | undefined;
  readonly externalIds: ExternalIds;
  readonly commit: Commit | undefined;
  readonly failure: Failure | undefined;
}

export interface Attempt {
  readonly number: number;
  readonly nonce: string;
  readonly key: string;
  readonly correlationId: string;
  readonly epoch: number;
  readonly claimedAt: number;
  readonly deadlineAt: number;
  readonly leaseUntil: number;
  readonly settleUntil: number;
  /** It surely did nothing; the step's doubt is about an earlier attempt. */
  readonly void?: true;
}

export interface Commit {
  readonly seq: number;
  readonly at: number;
  readonly via: StepCommitted['via'] | 'adopted';
  readonly by: string;
  readonly attempt: number;
  readonly attemptNonce: string;
  /** What the commit itself told; the action's also hold those of answers before it. */
  readonly externalIds: ExternalIds;
  readonly result: Stored | null;
  readonly undo: StepCommitted['undo'];
  readonly cost: Cost | undefined;
  readonly overshoot?: Cost;
  readonly defect: StepCommitted['defect'];
}

export interface Failure {
  readonly seq: number;
  readonly at: number;
  readonly class: FailureClass;
  readonly code: string;
  readonly message: string;
  readonly reason?: FailureReason;
}

export function freshAction<A extends Action>(action: A): ActionState & { readonly action: A } {
  return {
    action,
    status: 'idle',
    attempts: 0,
    spent: 0,
    round: 1,
    roundStarts: [1],
    attempt: undefined,
    roundSince: undefined,
    suspectUntil: undefined,
    args: undefined,
    reserved: undefined,
    retryAt: undefined,
    triedSince: undefined,
    deferrals: 0,
    askAt: undefined,
    asks: 0,
    unsettledSince: undefined,
    externalIds: {},
    commit: undefined,
    failure: undefined,
  };
}
