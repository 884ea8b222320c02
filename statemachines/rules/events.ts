import type { Dedupe, EffectClass } from '../language/effects.ts';
import type { JsonValue } from '../ledger/canonical.ts';
import type { RecoveryPlan } from './recovery-plan-event.ts';
import type { SagaStarted } from './start-event.ts';

export type { RecoveryEntry, RecoveryPlan } from './recovery-plan-event.ts';
export type { AdoptedStep, SagaStarted, StepRecord } from './start-event.ts';

/** The ledger protocol this code writes. Event 1 fixes a saga's protocol for its whole life. */
export const PROTOCOL = 1;

/** Which use of a tool an attempt makes. `supersede` marks; its hook, where there is one, is the call. */
export const ACTIONS = ['forward', 'compensate', 'supersede', 'contain'] as const;
export type Action = (typeof ACTIONS)[number];
export type RecoveryAction = Exclude<Action, 'forward'>;

/** How one failed attempt is to be read (closed set; every switch over it is exhaustive). */
export const FAILURE_CLASSES = [
  'retryable',
  'ambiguous',
  'terminal_compensate',
  'terminal_hold',
  'irreversible_incident',
] as const;
export type FailureClass = (typeof FAILURE_CLASSES)[number];

/**
 * Why a step failed for good, where its class alone does not say so. A failure without one was the
 * provider's or the tool's own "no".
 * - `policy_denied`: a policy forbids it; nothing is wrong with the provider.
 * - `output_refused`: it took effect, and its answer cannot be used (its schema, its size).
 */
export const FAILURE_REASONS = ['policy_denied', 'output_refused'] as const;
export type FailureReason = (typeof FAILURE_REASONS)[number];

/**
 * A value as the ledger keeps it: in the event itself, or in the payload store under a salted digest.
 * `dropped` is a value too large to keep anywhere: its digest and size stay as evidence.
 */
export type Stored =
  | { readonly kind: 'inline'; readonly value: JsonValue }
  | { readonly kind: 'ref'; readonly digest: string; readonly bytes: number }
  | { readonly kind: 'dropped'; readonly digest: string; readonly bytes: number };

/** Ids by which the outside system knows an effect (`{ creditNote: 'CN-17' }`). */
export type ExternalIds = Readonly<Record<string, string>>;

export interface Cost {
  /** In the currency's minor unit (cents). */
  readonly costMinor: number;
  /** ISO 4217, for example `EUR`. */
  readonly currency: string;
}

export const PARK_REASONS = [
  /** Another attempt holds the step. */
  'lease',
  /** A provider asked for time before the next try. */
  'backoff',
  /** The tool's breaker is open: its provider is left alone. */
  'breaker',
  /** The provider has not settled the call yet. */
  'provider',
  'person',
  'turn',
  /** Nothing explains why the drive stopped; it is tried again after a growing pause. */
  'retry',
  /** The drive's own time was up; the next one is granted at once. */
  'soft_deadline',
] as const;
export type ParkReason = (typeof PARK_REASONS)[number];

/**
 * Which budget is spent, where nothing else went wrong. `breaker_open`: its time passed while the tool's
 * breaker let nothing through.
 */
export const SPENT_REASONS = [
  'attempts_spent',
  'time_spent',
  'cost_spent',
  'breaker_open',
] as const;
export type SpentReason = (typeof SPENT_REASONS)[number];

/** Why a terminal fact stands. `step_failed`: by the provider's or the tool's own "no". */
export const HALT_REASONS = [
  'step_failed',
  ...FAILURE_REASONS,
  ...SPENT_REASONS,
  'deadline_passed',
  'cancelled',
  'person',
] as const;
export type HaltReason = (typeof HALT_REASONS)[number];

export const REVIEW_REASONS = [
  'unknown_outcome',
  'pending_too_long',
  'recovery_failed',
  'undo_unavailable',
  'cost_ceiling',
  'human_decision',
  'held_by_tool',
  'after_pivot',
  'no_progress',
  'code_drift',
] as const;
export type ReviewReason = (typeof REVIEW_REASONS)[number];

export const DECISIONS = [
  'retry',
  'recover',
  'approve',
  'reject',
  'answer',
  'resolve',
  'close',
] as const;
export type Decision = (typeof DECISIONS)[number];

export const SAGA_STATES = [
  'queued',
  'running',
  'waiting',
  'compensating',
  'needs_review',
  'completed',
  'compensated',
  'incident',
] as const;
export type SagaStatus = (typeof SAGA_STATES)[number];
export const FINAL_STATES: readonly SagaStatus[] = ['completed', 'compensated', 'incident'];

export type DriveState = 'running' | 'parked' | 'ended';

/** On every event. `state`, `drive`, `epoch` and `dueAt` hold *after* it, so that the head alone tells the sweep what to do. */
export interface EventHead {
  readonly seq: number;
  /** The writer's clock in epoch milliseconds, never below the previous event's. */
  readonly at: number;
  /** Who wrote it: `drive`, `sweep`, `api`, or a person's or service's principal id. */
  readonly actor: string;
  readonly state: SagaStatus;
  readonly drive: DriveState;
  readonly epoch: number;
  /** When somebody must look at the saga next (epoch milliseconds). Absent once it is final. */
  readonly dueAt?: number;
}

/** Names one attempt, with the class of its effect. */
export interface AttemptRef {
  readonly step: string;
  readonly action: Action;
  readonly effect: EffectClass;
  /** Counts every claim of this step and action, from 1, over all rounds and budgets. */
  readonly attempt: number;
  readonly attemptNonce: string;
}

export interface StepClaimed extends AttemptRef {
  readonly type: 'step_claimed';
  readonly tool: string;
  /** Raised only when a call is known not to have happened; part of the key. */
  readonly round: number;
  readonly key: string;
  readonly correlationId: string;
  readonly dedupe: Dedupe;
  /** The call is aborted then, and the attempt may no longer start it. */
  readonly deadlineAt: number;
  /** Until then (plus skew) nobody else may claim. */
  readonly leaseUntil: number;
  /** Until then an attempt in doubt may still land: "absent" means "pending". */
  readonly settleUntil: number;
  /** On the first claim of an action: later attempts send the same. Compensations take theirs from the commit. */
  readonly args?: Stored;
  /** Of a recovery with an estimate: what the plan sets aside for it. */
  readonly reserved?: Cost;
  /** What it may cost at most: the rest of the ceiling or approval that nothing else is set aside for. */
  readonly costLimit?: Cost;
  /** Of the policy that allowed it. Absent: none was asked. */
  readonly policyVersion?: string;
}

/**
 * What a commit says of its undo: the arguments, or that they could not be built and a person must undo
 * it (`unavailable`), or that there is nothing to undo (`skipped`). `null`: its tool declares no undo.
 */
export type UndoArguments =
  | Stored
  | { readonly kind: 'unavailable'; readonly why: string }
  | { readonly kind: 'skipped'; readonly why: string }
  | null;

export interface StepCommitted extends AttemptRef {
  readonly type: 'step_committed';
  /** How the commit became known. */
  readonly via: 'call' | 'reconcile' | 'person' | 'signal';
  readonly externalIds: ExternalIds;
  readonly result: Stored | null;
  /** Arguments of the compensation, or why there are none. */
  readonly undo: UndoArguments;
  readonly cost?: Cost;
  /** By how much a recovery cost more than was set aside for it. */
  readonly overshoot?: Cost;
  /** The effect stands but its answer is unusable: the step has failed and is recovered too. */
  readonly defect?: { readonly code: string; readonly message: string };
  readonly evidence?: string;
}

export interface StepFailed {
  readonly type: 'step_failed';
  readonly step: string;
  readonly action: Action;
  readonly effect: EffectClass;
  /** 0 and no nonce: refused before any claim (invalid arguments, denied policy). */
  readonly attempt: number;
  readonly attemptNonce?: string;
  readonly failure: Exclude<FailureClass, 'ambiguous'>;
  readonly code: string;
  readonly message: string;
  readonly reason?: FailureReason;
  /** Of the policy that forbade it, where the plane's own did. */
  readonly policyVersion?: string;
  /** The next try may not begin before then. */
  readonly retryAt?: number;
}

export interface StepInDoubt extends AttemptRef {
  readonly type: 'step_in_doubt';
  readonly code: string;
  readonly message: string;
  /** When the provider is asked next. */
  /** Absent: nobody can be asked (sent again under the same key where that is safe, else a person's). */
  readonly askAt?: number;
}

/** The provider's answer to "what became of it?", other than `committed` (which is a commit). */
export interface StepReconciled extends AttemptRef {
  readonly type: 'step_reconciled';
  readonly answer: 'absent' | 'pending' | 'unknown';
  /** `call`: the action itself answered `pending`. */
  readonly via: 'call' | 'reconcile' | 'person';
  readonly externalIds?: ExternalIds;
  readonly askAt?: number;
  readonly evidence?: string;
}

/** An effect nobody expected any more: beside the recorded one, or after its recovery began. */
export interface LateEvidence extends AttemptRef {
  readonly type: 'late_evidence';
  readonly externalIds: ExternalIds;
  readonly result: Stored | null;
  readonly undo: StepCommitted['undo'];
}

/** A claim that was not made since the tool's breaker was open. It spends no try. */
export interface StepDeferred {
  readonly type: 'step_deferred';
  readonly step: string;
  readonly action: Action;
  readonly effect: EffectClass;
  readonly reason: 'breaker_open';
  /** The next try may not begin before then. */
  readonly retryAt: number;
}

export interface SagaHalted {
  readonly type: 'saga_halted';
  readonly reason: HaltReason;
  /** Whose budget is spent. Absent: the step's own. */
  readonly budget?: 'saga';
  readonly step?: string;
  readonly code?: string;
}

export interface CancelRequested {
  readonly type: 'cancel_requested';
  readonly reason: string;
  /** No checkpoint is kept. */
  readonly everything?: true;
}

export interface RecoveryPlanned {
  readonly type: 'recovery_planned';
  readonly plan: RecoveryPlan;
}

export interface DriveParked {
  readonly type: 'drive_parked';
  readonly reason: ParkReason;
  /** True where the drive added nothing but this event. */
  readonly idle: boolean;
}

export interface DriveGranted {
  readonly type: 'drive_granted';
  readonly reason: 'due' | 'restart' | 'resume' | 'next';
  /** A newer machine version, named by `resume`. */
  readonly machine?: string;
  readonly planDigest?: string;
  readonly note?: string;
}

export interface ReviewOpened {
  readonly type: 'review_opened';
  readonly review: string;
  readonly reason: ReviewReason;
  /** Steps the person must look at. */
  readonly steps: readonly string[];
  readonly explanation: string;
  readonly planHash?: string;
  readonly maxCost?: Cost;
  readonly deadlineAt: number;
}

export interface ReviewDecided {
  readonly type: 'review_decided';
  readonly review: string;
  readonly decision: Decision;
  readonly evidence?: string;
  /** `recover`: no checkpoint is kept. */
  readonly everything?: true;
  readonly step?: string;
  readonly action?: Action;
  readonly answer?: 'committed' | 'absent';
  readonly externalIds?: ExternalIds;
  readonly result?: Stored | null;
  readonly undo?: StepCommitted['undo'];
  readonly planHash?: string;
  readonly maxCost?: Cost;
  readonly machine?: string;
  readonly planDigest?: string;
}

export interface SuggestionRecorded {
  readonly type: 'suggestion_recorded';
  readonly suggestion: Stored;
}

export interface SagaCompleted {
  readonly type: 'saga_completed';
}
export interface SagaCompensated {
  readonly type: 'saga_compensated';
  /** What the steps up to this checkpoint did stays. */
  readonly checkpoint?: string;
}
/** On a compensated saga: from now on that saga goes on with this one's work. Moves nothing. */
export interface RerunClaimed {
  readonly type: 'rerun_claimed';
  readonly saga: string;
}
export interface IncidentOpened {
  readonly type: 'incident_opened';
  readonly reason: 'pivot_committed' | 'irreversible_failure' | 'late_evidence' | 'damaged';
  readonly steps: readonly string[];
  readonly explanation: string;
}
export interface PayloadsErased {
  readonly type: 'payloads_erased';
  readonly reason: string;
}

export type EventBody =
  | SagaStarted
  | StepClaimed
  | StepCommitted
  | StepFailed
  | StepDeferred
  | StepInDoubt
  | StepReconciled
  | LateEvidence
  | SagaHalted
  | CancelRequested
  | RecoveryPlanned
  | DriveParked
  | DriveGranted
  | ReviewOpened
  | ReviewDecided
  | SuggestionRecorded
  | SagaCompleted
  | SagaCompensated
  | IncidentOpened
  | RerunClaimed
  | PayloadsErased;

export type SagaEvent = EventHead & EventBody;
export type EventType = EventBody['type'];
