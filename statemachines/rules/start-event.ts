import type { EffectClass, SagaType } from '../language/effects.ts';
import type { Cost, ExternalIds, Stored } from './events.ts';

/** What event 1 keeps of one step: enough to fold, order and report without the definition. */
export interface StepRecord {
  readonly name: string;
  readonly tool: string;
  readonly effect: EffectClass;
  /** Steps that must be done before this one's forward call. Absent: the step declared before it. */
  readonly after?: readonly string[];
  /** Steps whose recovery must be done before this one's. Absent: every step that follows it. */
  readonly recoverAfter?: readonly string[];
  /** Once it and all before it are done, recovery keeps them and goes back no further. */
  readonly checkpoint?: true;
}

/** A step that a checkpoint of the saga before kept: done from the start, and never undone by this one. */
export interface AdoptedStep {
  readonly step: string;
  /** The event of the saga before by which it was done there: its number and its hash. */
  readonly seq: number;
  readonly hash: string;
  /** A copy of its own: the saga before may be erased. */
  readonly result: Stored | null;
  readonly externalIds: ExternalIds;
}

export interface SagaStarted {
  readonly type: 'saga_started';
  readonly protocol: number;
  readonly tenant: string;
  readonly sagaId: string;
  readonly principal: string;
  readonly name: string;
  readonly version: string;
  readonly sagaType: SagaType;
  /** Digest of the definition's plan. A drive whose code has another one fails closed. */
  readonly planDigest: string;
  /** ARN of the machine version (AWS) or the plan digest (local plane) that drives it. */
  readonly machine: string;
  readonly key: string;
  /** SHA-256 of the canonical JSON of the start's body; for sensitive input the payload store's salted digest of it. */
  readonly bodyDigest: string;
  readonly input: Stored;
  readonly steps: readonly StepRecord[];
  readonly deadlineAt?: number;
  readonly ceiling?: Cost;
  /** It holds a part of its tenant's budget, to be given back at its end. */
  readonly charged?: true;
  /** Where event 1's registry entry stands, so that the final event's writer can remove it. */
  readonly registeredAt: number;
  readonly convoy?: string;
  /** The saga this one was run again from. */
  readonly previous?: string;
  /** What a checkpoint of that saga kept. */
  readonly adopted?: readonly AdoptedStep[];
}
