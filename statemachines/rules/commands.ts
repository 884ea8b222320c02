import type { CallPolicy } from '../language/effects.ts';
import type { SagaPlan, StepPlan } from '../plan/plan.ts';
import type {
  Action,
  Cost,
  Decision,
  EventBody,
  ExternalIds,
  FailureClass,
  FailureReason,
  SagaEvent,
  SagaStarted,
  SpentReason,
  StepCommitted,
  Stored,
} from './events.ts';
import type { SagaState } from './state.ts';

/** Who asks, and what its clock says. */
export interface Context {
  /** Epoch milliseconds by the writer's clock. */
  readonly now: number;
  readonly actor: string;
}

interface DriveCommand {
  readonly plan: SagaPlan;
  readonly epoch: number;
}

export interface Claim extends DriveCommand {
  readonly kind: 'claim';
  readonly step: StepPlan;
  readonly action: Action;
  readonly attemptNonce: string;
  /** 0: none. */
  readonly softDeadlineAt: number;
  readonly args?: Stored;
  /** Of the policy that allowed the claim. */
  readonly policyVersion?: string;
}

export interface AttemptName {
  readonly step: string;
  readonly action: Action;
  readonly attempt: number;
  readonly attemptNonce: string;
}

export type Outcome =
  | ({
      readonly kind: 'commit';
      /** When a question found it: by the correlation id, which all attempts share. Default: none did. */
      readonly foundAt?: number;
    } & AttemptName &
      Omit<StepCommitted, 'type' | 'effect' | 'overshoot' | keyof AttemptName>)
  | ({
      readonly kind: 'fail';
      readonly failure: Exclude<FailureClass, 'ambiguous'>;
      readonly code: string;
      readonly message: string;
      readonly reason?: FailureReason;
      /** Pause before the next try; chosen by the runtime (jitter) and the provider. */
      readonly retryInMs?: number;
    } & AttemptName)
  | ({
      readonly kind: 'doubt';
      readonly code: string;
      readonly message: string;
      /** What a first question gave, where one was asked. */
      readonly answer?: 'absent' | 'pending' | 'unknown';
      readonly externalIds?: ExternalIds;
      readonly askAgainInMs?: number;
      readonly call: CallPolicy;
    } & AttemptName)
  | ({
      readonly kind: 'reconcile';
      readonly answer: 'absent' | 'pending' | 'unknown';
      /** When the provider was asked: what it did not know then may have landed since. Default: now. */
      readonly askedAt?: number;
      readonly via: 'call' | 'reconcile';
      readonly externalIds?: ExternalIds;
      readonly askAgainInMs?: number;
      readonly call: CallPolicy;
    } & AttemptName);

/** A refusal before any claim: the arguments cannot be built, or a policy forbids them. */
export interface Refuse extends DriveCommand {
  readonly kind: 'refuse';
  readonly step: string;
  readonly action: Action;
  readonly failure: 'terminal_compensate' | 'terminal_hold';
  readonly code: string;
  readonly message: string;
  readonly reason?: FailureReason;
  /** Of the policy that forbade it. */
  readonly policyVersion?: string;
}

/** A claim that would stand is not made: the tool's breaker lets nothing through before then. */
export interface Defer extends Omit<Claim, 'kind'> {
  readonly kind: 'defer';
  /** Epoch milliseconds. */
  readonly until: number;
}

/** A recovery that calls nothing: only the mark. */
export interface Mark extends DriveCommand {
  readonly kind: 'mark';
  readonly step: StepPlan;
  readonly action: 'supersede' | 'contain';
}

export interface Start {
  readonly kind: 'start';
  readonly event: Omit<SagaStarted, 'type'>;
}

export type Command =
  | Start
  | Claim
  | Defer
  | Outcome
  | Refuse
  | Mark
  | (DriveCommand & { readonly kind: 'begin' })
  | (DriveCommand & { readonly kind: 'complete' })
  | (DriveCommand & { readonly kind: 'assess' })
  | (DriveCommand & { readonly kind: 'settle' })
  /** The code at hand is not the code this saga is pinned to. */
  | {
      readonly kind: 'drift';
      readonly epoch: number;
      readonly explanation: string;
      readonly reviewMs: number;
    }
  | {
      readonly kind: 'grant';
      readonly reason: 'due' | 'restart';
      /** Only if the saga is still in this epoch. */
      readonly epoch?: number;
    }
  | {
      readonly kind: 'cancel';
      readonly reason: string;
      /** No checkpoint is kept. */
      readonly everything?: true;
    }
  | {
      readonly kind: 'resume';
      readonly machine?: string;
      readonly planDigest?: string;
      readonly note?: string;
    }
  | { readonly kind: 'decide'; readonly review: string; readonly decision: ReviewDecision }
  | { readonly kind: 'suggest'; readonly suggestion: Stored }
  | {
      readonly kind: 'rerun';
      /** The saga that goes on with this one's work. */
      readonly saga: string;
      /** A saga that claimed it before and was never started, as its missing ledger shows. */
      readonly vacant?: string;
    }
  | { readonly kind: 'erase'; readonly reason: string };

export interface ReviewDecision {
  readonly decision: Decision;
  readonly evidence?: string;
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

/** Why a command was not taken. Each names what the caller does next. */
export type Rejection =
  /** No such saga: the id is wrong, or its start never stood. */
  | { readonly reason: 'not_found' }
  /** The drive is no longer the saga's: end quietly. */
  | { readonly reason: 'stale' }
  /** The code is not the one the saga is pinned to: hand over to review. */
  | { readonly reason: 'drift'; readonly explanation: string }
  /** A terminal fact stands: nothing goes forward any more. */
  | { readonly reason: 'halted' }
  | { readonly reason: 'deadline_passed' }
  /** A predecessor is not done in the ledger. */
  | { readonly reason: 'not_ready' }
  /** The drive has no time left for this step. */
  | { readonly reason: 'soft_deadline' }
  /** Another attempt holds the step until then. */
  | { readonly reason: 'in_flight'; readonly until: number }
  /** Not before then. */
  | { readonly reason: 'backoff'; readonly until: number }
  /** The provider is asked again then. */
  | { readonly reason: 'waiting'; readonly until: number }
  /** The last attempt may have committed: ask the provider now. */
  | { readonly reason: 'in_doubt' }
  /** Only a person can go on. */
  | { readonly reason: 'held' }
  /** The step's budget, or the saga's, allows no other try. */
  | { readonly reason: SpentReason }
  | { readonly reason: 'over_ceiling' }
  /** Nothing to recover, or it is done. */
  | { readonly reason: 'not_required' }
  | { readonly reason: 'not_planned' }
  /** Asked from outside, against the saga's state. */
  | { readonly reason: 'conflict'; readonly explanation: string; readonly until?: number };

export type Verdict =
  /** `after` is the saga once the event stands. */
  | { readonly kind: 'append'; readonly event: SagaEvent; readonly after: SagaState }
  /** It stands already (a repeat, or a race lost to the same fact): treat as success. */
  | { readonly kind: 'already' }
  /** A Task may go on to this place. */
  | { readonly kind: 'route'; readonly to: 'forward' | 'recover' | 'parked' | 'final' }
  | { readonly kind: 'rejected'; readonly rejection: Rejection };

/** What the rules write before it gets its head. */
export type Draft = EventBody;
