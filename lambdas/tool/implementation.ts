import type { Checked, Given, Schema } from '../../statemachines/language/schema.ts';
import type { AnyTool, Tool } from '../../statemachines/language/tool.ts';
import type { Action, Cost, ExternalIds } from '../../statemachines/rules/events.ts';
import type { Absent, Committed, Pending, Unknown } from './answers.ts';
import type { Policy, PolicySpec } from './policy.ts';

/** What an implementation is told about the call it makes. */
export interface Call {
  /** Send it to providers that deduplicate: one effect per key, however often it is sent. */
  readonly idempotencyKey: string;
  /** Send it to every provider: by it the call can be found again. */
  readonly correlationId: string;
  /** Aborts at the attempt's hard deadline. Pass it to `fetch` and the like. */
  readonly signal: AbortSignal;
  /** Epoch milliseconds. */
  readonly deadlineAt: number;
  readonly tenant: string;
  readonly sagaId: string;
  readonly step: string;
  readonly action: Action;
  readonly attempt: number;
  readonly round: number;
  /**
   * Of a recovery with an estimate, where the saga has a ceiling: what it may cost at most. A provider
   * that would take more is not to be asked: throw `hold`. Answer what it cost in fact with `committed`.
   */
  readonly costLimit?: Cost;
}

/** "What became of this call?" */
export interface Question<A> {
  readonly action: Action;
  /** The arguments that were sent. */
  readonly args: A;
  readonly idempotencyKey: string;
  /** What to look by: all attempts of the action have it in common, and the key is of one round. */
  readonly correlationId: string;
  /** Ids the provider gave so far (a pending charge). */
  readonly externalIds: ExternalIds;
}

type MaybePromise<T> = T | Promise<T>;

interface Forward<I extends Schema, O extends Schema> {
  /** Makes the effect. MUST pass on the key or correlation id its contract's `dedupe` promises. */
  forward(args: Checked<I>, call: Call): MaybePromise<Given<O> | Committed<Given<O>> | Pending>;
  /** Disposes of nothing: asks only. `committed` brings the result; for an undo it brings nothing. */
  reconcile?(
    question:
      | (Question<Checked<I>> & { readonly action: 'forward' })
      | (Question<unknown> & { readonly action: Exclude<Action, 'forward'> }),
    call: Call,
  ): MaybePromise<Committed<Given<O>> | Committed<undefined> | Pending | Absent | Unknown>;
  /** Only for irreversible tools that declare it. */
  contain?(
    facts: { readonly input: Checked<I>; readonly output: Checked<O> },
    call: Call,
    // biome-ignore lint/suspicious/noConfusingVoidType: an implementation may return nothing at all.
  ): MaybePromise<void | Committed<undefined> | Pending>;
}

/** A tool without a policy asks nobody before it claims. */
type WithPolicy<I extends Schema> =
  | PolicySpec<Checked<I>>
  | { readonly policy?: never; readonly policyVersion?: never };

interface Undo<U extends Schema> {
  // biome-ignore lint/suspicious/noConfusingVoidType: an implementation may return nothing at all.
  compensate(args: Checked<U>, call: Call): MaybePromise<void | Committed<undefined> | Pending>;
}

/** The implementation that a contract asks for. */
export type Implementation<
  I extends Schema,
  O extends Schema,
  U extends Schema | undefined,
> = Forward<I, O> & WithPolicy<I> & (U extends Schema ? Undo<U> : { readonly compensate?: never });

/** A contract with its implementation, types erased: what a host serves. */
export interface ImplementedTool {
  readonly contract: AnyTool;
  forward(args: unknown, call: Call): unknown;
  compensate?(args: unknown, call: Call): unknown;
  contain?(facts: unknown, call: Call): unknown;
  reconcile?(question: Question<unknown>, call: Call): unknown;
  readonly policy?: PolicySpec<unknown>;
}

/**
 * Binds an implementation to its contract.
 * @throws TypeError where the contract promises what the implementation does not have
 */
export function implementTool<I extends Schema, O extends Schema, U extends Schema | undefined>(
  contract: Tool<I, O, U>,
  implementation: Implementation<I, O, U>,
): ImplementedTool {
  const parts = implementation as unknown as Omit<ImplementedTool, 'contract' | 'policy'> & {
    readonly policy?: Policy<unknown>;
    readonly policyVersion?: string;
  };
  if (contract?.kind !== 'tool' || typeof parts !== 'object' || parts === null)
    throw new TypeError(
      'implementTool takes a contract of defineTool and its implementation: one of them is not there yet, as where two files import each other',
    );
  const missing: string[] = [];
  if (typeof parts.forward !== 'function') missing.push('forward');
  if (contract.compensate !== undefined && typeof parts.compensate !== 'function')
    missing.push('compensate');
  if (contract.contain !== undefined && typeof parts.contain !== 'function')
    missing.push('contain');
  if (contract.reconcile && typeof parts.reconcile !== 'function') missing.push('reconcile');
  if (missing.length > 0) {
    throw new TypeError(
      `tool "${contract.name}" promises ${missing.join(', ')}: implement it, or take it out of the contract`,
    );
  }
  const policy = policyOf(contract.name, parts.policy, parts.policyVersion);
  return {
    contract: contract as unknown as AnyTool,
    ...(policy === undefined ? {} : { policy }),
    forward: (args, call) => parts.forward(args, call),
    ...(parts.compensate === undefined ? {} : { compensate: parts.compensate.bind(parts) }),
    ...(parts.contain === undefined ? {} : { contain: parts.contain.bind(parts) }),
    ...(parts.reconcile === undefined ? {} : { reconcile: parts.reconcile.bind(parts) }),
  };
}

/** Both or neither: a decision without the version of its rules cannot be traced. */
function policyOf(
  tool: string,
  policy: Policy<unknown> | undefined,
  policyVersion: string | undefined,
): PolicySpec<unknown> | undefined {
  if (policy === undefined && policyVersion === undefined) return undefined;
  const versioned = typeof policyVersion === 'string' && /^[\w.:+-]{1,64}$/.test(policyVersion);
  if (typeof policy === 'function' && versioned) return { policy, policyVersion };
  throw new TypeError(
    `tool "${tool}" has a policy without a version, or the other way round: give both, the version with at most 64 letters, digits and . : + - _`,
  );
}
