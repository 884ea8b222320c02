import type { CallPolicy, EffectClass, SagaType } from '../language/effects.ts';
import type { SagaBudget } from '../language/saga.ts';
import type { Cost, RecoveryAction } from '../rules/events.ts';

/**
 * A checked definition as data: what the compiler turns into states and what the rules run on.
 * It holds no code; its digest names it in event 1.
 */
export interface SagaPlan {
  readonly protocol: number;
  readonly name: string;
  readonly version: string;
  readonly sagaType: SagaType;
  /** From the start to the moment recovery begins by itself. */
  readonly deadlineMs?: number;
  /** What going forward may spend up to the pivot, over all steps. */
  readonly budget?: SagaBudget;
  /** What recovery may cost without asking a person. */
  readonly ceiling?: Cost;
  /** How long a person has to decide before the review counts as overdue. */
  readonly reviewMs: number;
  readonly steps: readonly StepPlan[];
  /** Forward steps in waves; each wave's steps run side by side. */
  readonly forwardWaves: readonly (readonly string[])[];
  /** Writing steps in the order of their recovery, in waves. */
  readonly recoveryWaves: readonly (readonly string[])[];
  /** SHA-256 of the canonical JSON of everything above. */
  readonly digest: string;
}

export interface StepPlan {
  readonly name: string;
  readonly tool: string;
  readonly effect: EffectClass;
  /** Direct predecessors of the forward call (empty for the first). */
  readonly after: readonly string[];
  /** Steps whose recovery comes before this one's. */
  readonly recoverAfter: readonly string[];
  readonly forward: CallPolicy;
  /** Absent for steps that only read or that only a person may undo. */
  readonly recovery?: { readonly action: RecoveryAction; readonly call?: CallPolicy };
  readonly estimate?: Cost;
  /** What its forward call is expected to cost. */
  readonly forwardCost?: Cost;
  /** Set on every step after the pivot: it retries until it finishes. */
  readonly afterPivot?: true;
  /** Recovery goes back no further than this step once it and all before it are done. */
  readonly checkpoint?: true;
}
