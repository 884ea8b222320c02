import type { SagaPlan } from '../plan/plan.ts';
import type { Cost } from '../rules/events.ts';
import type { SagaType } from './effects.ts';
import type { Checked, Given, Schema } from './schema.ts';
import type { AnyTool } from './tool.ts';

/** What the compiler remembers of a declared step: its result, and the steps it may read. */
export interface StepShape {
  readonly result: unknown;
  /** The step itself and everything before it. */
  readonly sees: string;
}
export type StepShapes = Readonly<Record<string, StepShape>>;

/** What a step's input mapping may use: the saga's input and the results of the steps before it. */
export interface StepFacts<I extends Schema, S extends StepShapes, Sees extends keyof S> {
  readonly input: Checked<I>;
  readonly results: { readonly [N in Sees]: S[N]['result'] };
}

export interface StepOptions<
  I extends Schema,
  S extends StepShapes,
  T extends AnyTool,
  A extends readonly (keyof S & string)[],
> {
  /**
   * Steps that must be done first. Absent: the step declared before. `[]`: none. With it, only
   * these steps and those before them can be read.
   */
  readonly after?: A;
  /** Builds the tool's arguments. Runs once, before the first attempt. MUST be pure. */
  readonly input: (facts: StepFacts<I, S, S[A[number]]['sees']>) => Given<T['input']>;
  /**
   * Closes a checkpoint, named after the step: once it and every step before it are done, a later
   * failure undoes only what follows. The saga then ends as compensated to this checkpoint, and can
   * be run again from it. Every other step MUST come before this one or after it. Default `false`.
   */
  readonly checkpoint?: boolean;
}

/** Declares steps one after the other. Each call answers a new builder: return the last one. */
export interface SagaBuilder<I extends Schema, S extends StepShapes, Last extends string> {
  step<
    const N extends string,
    T extends AnyTool,
    const A extends readonly (keyof S & string)[] = readonly [Last & keyof S],
  >(
    name: N extends keyof S ? `step "${N}" is declared already: choose another name` : N,
    tool: T,
    options: StepOptions<I, S, T, A>,
  ): SagaBuilder<
    I,
    S & {
      readonly [K in N]: {
        readonly result: Checked<T['output']>;
        readonly sees: N | S[A[number]]['sees'];
      };
    },
    N
  >;
}

export interface SagaSpec<I extends Schema, Names extends string> {
  /** Letters, digits, `-` and `_`. */
  readonly name: string;
  readonly version: string;
  readonly input: I;
  /** Default `STANDARD`. */
  readonly type?: SagaType;
  /** From the start to the moment recovery begins by itself, in milliseconds. Default: never. */
  readonly deadlineMs?: number;
  /** What going forward may spend up to the pivot, over all steps. Recovery has budgets of its own. */
  readonly budget?: SagaBudget;
  /**
   * Names the business fact (one refund of one order): a second start for the same fact is the same
   * saga, even under another idempotency key. MUST be pure.
   */
  readonly businessKey?: (input: Checked<I>) => string;
  readonly recovery?: RecoverySpec<Names>;
}

/** Spent, it ends the way forward: recovery begins. Default of each: no limit. */
export interface SagaBudget {
  /** Tries of all forward calls together. */
  readonly attempts?: number;
  /** What the forward calls may cost together: as told with their results, else as their tools estimate. */
  readonly cost?: Cost;
}

export interface RecoverySpec<Names extends string> {
  /** What recovery may cost without asking a person. Default: no limit. */
  readonly ceiling?: Cost;
  /** How long a person has to decide before the review counts as overdue. Default: 24 hours. */
  readonly reviewMs?: number;
  /**
   * For each step named: the steps whose recovery comes before its own. `[]` waits for none.
   * Steps not named keep their place in the reverse of the forward order.
   */
  readonly after?: { readonly [N in Names]?: readonly Names[] };
  /** Among recoveries that could begin at the same time, the highest number goes first. Default 0. */
  readonly priority?: { readonly [N in Names]?: number };
}

/** One step of a built definition, its types erased. */
export interface DefinedStep {
  readonly name: string;
  readonly tool: AnyTool;
  /** Direct predecessors. */
  readonly after: readonly string[];
  /** All steps before it: the only ones whose results its mapping reads. */
  readonly ancestors: readonly string[];
  /** MUST get values that the saga's and the tools' own schemas checked. */
  input(facts: AnyStepFacts): unknown;
}

export interface AnyStepFacts {
  readonly input: unknown;
  readonly results: Readonly<Record<string, unknown>>;
}

/** A checked saga definition. Frozen. */
export interface SagaDefinition<I extends Schema> {
  readonly kind: 'saga';
  readonly name: string;
  readonly version: string;
  readonly input: I;
  readonly steps: readonly DefinedStep[];
  readonly plan: SagaPlan;
  businessKey?(input: Checked<I>): string;
}

/** Any saga definition, for registries and engines that hold many. */
export interface AnySaga {
  readonly kind: 'saga';
  readonly name: string;
  readonly version: string;
  readonly input: Schema;
  readonly steps: readonly DefinedStep[];
  readonly plan: SagaPlan;
  /** MUST get an input that this saga's own schema checked. */
  businessKey?(input: unknown): string;
}

/** A step as declared, before any check. */
export interface StepDeclaration {
  readonly name: string;
  readonly tool: AnyTool;
  readonly after?: readonly string[] | undefined;
  readonly checkpoint?: boolean | undefined;
  input(facts: AnyStepFacts): unknown;
}

/** A spec as it may arrive from plain JavaScript: checked member by member before it is trusted. */
export interface UncheckedSagaSpec {
  readonly name: string;
  readonly version: string;
  readonly input: Schema;
  readonly type?: SagaType;
  readonly deadlineMs?: number;
  readonly budget?: SagaBudget;
  businessKey?(input: unknown): string;
  readonly recovery?: {
    readonly ceiling?: Cost;
    readonly reviewMs?: number;
    readonly after?: Readonly<Record<string, readonly string[] | undefined>>;
    readonly priority?: Readonly<Record<string, number | undefined>>;
  };
}
