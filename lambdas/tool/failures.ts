import type { EffectClass } from '../../statemachines/language/effects.ts';
import type { FailureClass, FailureReason } from '../../statemachines/rules/events.ts';
import { thrown } from '../runtime/thrown.ts';
import { networkCode, wasNeverSent } from './network-codes.ts';

/** `error.name` of {@link ToolFailure}: a constant, since bundlers shorten class names. */
export const TOOL_FAILURE = 'Counterstep.ToolFailure';

/** A failure that the implementation has classified. Thrown with the functions below. */
export class ToolFailure extends Error {
  override readonly name = TOOL_FAILURE;
  readonly failure: FailureClass;
  /** Short and stable, for rules and reports (`credit_note_refused`). */
  readonly code: string;
  readonly retryAfterMs: number | undefined;
  readonly reason: Exclude<FailureReason, 'output_refused'> | undefined;
  constructor(failure: FailureClass, code: string, message: string, options: Options = {}) {
    super(message, { cause: options.cause });
    this.failure = failure;
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
    this.reason = options.reason;
  }
}

interface Options {
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
  /** Why, where the class alone does not say it. `output_refused` is the runtime's to say. */
  readonly reason?: Exclude<FailureReason, 'output_refused'>;
}

/** The provider refused for good, and did nothing: the saga recovers. */
export function refused(code: string, message: string, cause?: unknown): ToolFailure {
  return new ToolFailure('terminal_compensate', code, message, { cause });
}

/**
 * A policy forbids it, and nothing was done: the saga recovers, with the reason `policy_denied`. For a
 * provider whose answer is about what may be done, rather than about what can be.
 */
export function denied(code: string, message: string, cause?: unknown): ToolFailure {
  return new ToolFailure('terminal_compensate', code, message, { cause, reason: 'policy_denied' });
}

/** The provider surely did nothing and may do it later (throttled, unavailable before the effect). */
export function retryable(
  code: string,
  message: string,
  options: { readonly retryAfterMs?: number; readonly cause?: unknown } = {},
): ToolFailure {
  return new ToolFailure('retryable', code, message, options);
}

/** It may have committed: the provider is asked before anything else happens. */
export function ambiguous(code: string, message: string, cause?: unknown): ToolFailure {
  return new ToolFailure('ambiguous', code, message, { cause });
}

/** A person must look first. */
export function hold(code: string, message: string, cause?: unknown): ToolFailure {
  return new ToolFailure('terminal_hold', code, message, { cause });
}

export interface Classified {
  readonly failure: FailureClass;
  readonly code: string;
  readonly message: string;
  readonly retryAfterMs?: number;
  readonly reason?: Exclude<FailureReason, 'output_refused'>;
}

/**
 * Reads what an implementation threw. Nobody's silence is taken as proof: what is not known to have
 * done nothing may have committed.
 */
export function classify(error: unknown, effect: EffectClass, action: string): Classified {
  if (isToolFailure(error)) {
    return {
      failure: error.failure,
      code: error.code,
      message: error.message,
      ...(error.retryAfterMs === undefined ? {} : { retryAfterMs: error.retryAfterMs }),
      ...(error.reason === undefined ? {} : { reason: error.reason }),
    };
  }
  const code = networkCode(error);
  if (wasNeverSent(error)) {
    return {
      failure: 'retryable',
      code: code?.toLowerCase() ?? 'unreachable',
      message: 'the provider could not be reached',
    };
  }
  const named = {
    code: code?.toLowerCase() ?? 'unclassified',
    // The text of an unknown exception may hold anything; its name and place can safely be said.
    message: `the implementation of ${action} failed with ${thrown(error)}: classify it with refused(), retryable(), ambiguous() or hold()`,
  };
  return { failure: effect === 'read_only' ? 'retryable' : 'ambiguous', ...named };
}

export function isToolFailure(error: unknown): error is ToolFailure {
  return error instanceof Error && error.name === TOOL_FAILURE && 'failure' in error;
}
