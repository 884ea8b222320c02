import type { ExternalIds } from '../rules/events.ts';
import type { BreakerPolicy } from './breaker-policy.ts';
import type { CallPolicy, Dedupe, EffectClass, RetryPolicy } from './effects.ts';
import type { Checked, Given, Schema } from './schema.ts';
import type { Skip } from './skip.ts';

/** What a recovery by this tool is expected to cost. */
export interface CostEstimate {
  /** In the currency's minor unit (cents). */
  readonly estimateMinor: number;
  /** ISO 4217, for example `EUR`. */
  readonly currency: string;
}

/** The arguments and the answer of one forward call, as their schemas checked them. */
export interface Facts<I extends Schema, O extends Schema> {
  readonly input: Checked<I>;
  readonly output: Checked<O>;
}

/** How an effect is undone. */
export interface Compensation<I extends Schema, O extends Schema, U extends Schema> {
  readonly input: U;
  /**
   * Builds the undo's arguments from the forward call. Runs once, when the commit is recorded, and
   * its answer is stored with the commit. `skip(why)`: this effect needs no undo. MUST be pure; a throw
   * means that a person must undo it.
   */
  from(facts: Facts<I, O>): Given<U> | Skip;
  readonly call: CallPolicy;
}

/**
 * A tool's contract: data and pure functions, no implementation. Frozen.
 * `U` is the schema of the undo's arguments, or `undefined` where there is no undo.
 */
export interface Tool<I extends Schema, O extends Schema, U extends Schema | undefined> {
  readonly kind: 'tool';
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly effect: EffectClass;
  readonly input: I;
  readonly output: O;
  /** Ids by which the outside system knows the effect, and a second one is told from it. MUST be pure. */
  externalIds?(facts: Facts<I, O>): ExternalIds;
  /** The implementation can be asked what became of a call. */
  readonly reconcile: boolean;
  readonly forward: CallPolicy;
  readonly compensate?: U extends Schema ? Compensation<I, O, U> : undefined;
  readonly contain?: CallPolicy;
  readonly cost?: CostEstimate;
  readonly forwardCost?: CostEstimate;
  readonly breaker?: BreakerPolicy;
}

/**
 * Any tool, for registries and engines that hold many. Its functions are declared as methods, so
 * every `Tool` fits: whoever calls them MUST pass values that this tool's own schemas checked.
 */
export interface AnyTool {
  readonly kind: 'tool';
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly effect: EffectClass;
  readonly input: Schema;
  readonly output: Schema;
  externalIds?(facts: AnyFacts): ExternalIds;
  readonly reconcile: boolean;
  readonly forward: CallPolicy;
  readonly compensate?: AnyCompensation | undefined;
  readonly contain?: CallPolicy;
  readonly cost?: CostEstimate;
  readonly forwardCost?: CostEstimate;
  readonly breaker?: BreakerPolicy;
}

export interface AnyFacts {
  readonly input: unknown;
  readonly output: unknown;
}

export interface AnyCompensation {
  readonly input: Schema;
  from(facts: AnyFacts): unknown;
  readonly call: CallPolicy;
}

/** What one action of a tool declares. Times in milliseconds. */
export interface CallSpec {
  readonly dedupe: Dedupe;
  /** From claim to abort. */
  readonly timeoutMs: number;
  /** How long after its hard deadline a call in doubt may still land. */
  readonly settleMs: number;
  /** How long the provider remembers our key. Only with `dedupe: 'key'`. Default: for good. */
  readonly keyTtlMs?: number;
  /** How long a call may stay unsettled before a person is asked. Default: 24 hours. */
  readonly pendingForMs?: number;
  readonly retry?: Partial<RetryPolicy>;
}

/** A call that only reads: it may be repeated, so it need not say how repeats are kept apart. */
export type ReadSpec = Pick<CallSpec, 'timeoutMs' | 'pendingForMs' | 'retry'> & Partial<CallSpec>;

export interface CompensateSpec<I extends Schema, O extends Schema, U> extends CallSpec {
  /** Schema of the undo's arguments. */
  readonly input: U;
  /** See {@link Compensation.from}. */
  readonly from: (facts: Facts<I, O>) => U extends Schema ? Given<U> | Skip : never;
}

interface CommonSpec<I extends Schema, O extends Schema> {
  /** Letters, digits, `-` and `_`; names the tool in every registry, key and ledger. */
  readonly name: string;
  /** Default `1`. */
  readonly version?: string;
  /** One sentence for people and agents who look for a tool. */
  readonly description: string;
  readonly input: I;
  readonly output: O;
  /** Ids by which the outside system knows the effect, and a second one is told from it. MUST be pure. */
  readonly externalIds?: (facts: Facts<I, O>) => ExternalIds;
  /** The implementation has `reconcile`. Default `false`. */
  readonly reconcile?: boolean;
  /** For all actions of the tool; each may say otherwise. */
  readonly retry?: Partial<RetryPolicy>;
  /** What one forward call is expected to cost. Counted against a saga's budget before the claim. */
  readonly forwardCost?: CostEstimate;
  /** Leaves a provider alone that keeps failing. Default: it is called whatever happens. */
  readonly breaker?: BreakerPolicy;
}

// A forbidden member has a sentence for its type: the compiler prints it as the reason.
interface ReadOnlySpec<I extends Schema, O extends Schema> extends CommonSpec<I, O> {
  readonly effect: 'read_only';
  readonly forward: ReadSpec;
  readonly compensate?: 'a read_only tool changes nothing: remove `compensate`';
  readonly contain?: 'only an irreversible tool is contained: remove `contain`';
  readonly cost?: 'a read_only tool has no recovery that could cost anything: remove `cost`';
}

interface UndoableSpec<I extends Schema, O extends Schema, U> extends CommonSpec<I, O> {
  readonly effect: 'reversible' | 'compensable';
  readonly forward: CallSpec;
  readonly compensate: CompensateSpec<I, O, U>;
  readonly contain?: 'only an irreversible tool is contained: remove `contain`';
  readonly cost?: CostEstimate;
}

interface CostlySpec<I extends Schema, O extends Schema, U> extends CommonSpec<I, O> {
  readonly effect: 'reversible_with_cost';
  readonly forward: CallSpec;
  readonly compensate: CompensateSpec<I, O, U>;
  readonly contain?: 'only an irreversible tool is contained: remove `contain`';
  readonly cost: CostEstimate;
}

interface SupersedeSpec<I extends Schema, O extends Schema, U> extends CommonSpec<I, O> {
  readonly effect: 'supersede';
  readonly forward: CallSpec;
  /** A hook that writes the earlier valid version again. Without it recovery only marks the effect. */
  readonly compensate?: CompensateSpec<I, O, U>;
  readonly contain?: 'only an irreversible tool is contained: remove `contain`';
  readonly cost?: CostEstimate;
}

interface IrreversibleSpec<I extends Schema, O extends Schema> extends CommonSpec<I, O> {
  readonly effect: 'irreversible';
  readonly forward: CallSpec;
  readonly compensate?: 'an irreversible tool cannot be undone: use `contain`, or choose another effect class';
  /** Corrects, freezes or notifies after a failure past the pivot. Its arguments are the forward call's input and output. */
  readonly contain?: CallSpec;
  readonly cost?: CostEstimate;
}

interface HumanSpec<I extends Schema, O extends Schema> extends CommonSpec<I, O> {
  readonly effect: 'human_decision';
  readonly forward: CallSpec;
  readonly compensate?: 'only a person decides what becomes of a human_decision effect: remove `compensate`';
  readonly contain?: 'only an irreversible tool is contained: remove `contain`';
  readonly cost?: 'a human_decision tool has no recovery of its own that could cost anything: remove `cost`';
}

export type ToolSpec<I extends Schema, O extends Schema, U extends Schema | undefined> =
  | ReadOnlySpec<I, O>
  | UndoableSpec<I, O, U>
  | CostlySpec<I, O, U>
  | SupersedeSpec<I, O, U>
  | IrreversibleSpec<I, O>
  | HumanSpec<I, O>;

/** A spec as it may arrive from plain JavaScript: checked member by member before it is trusted. */
export type UncheckedToolSpec = ToolSpec<Schema, Schema, Schema | undefined>;

/** Arguments of a tool's forward call, as its implementation gets them. */
export type ToolArguments<T extends AnyTool> = Checked<T['input']>;

/** Result of a tool's forward call, as its implementation gives it. */
export type ToolResult<T extends AnyTool> = Given<T['output']>;
