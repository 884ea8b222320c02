import type { EffectClass } from '../../statemachines/language/effects.ts';
import type { FailureClass } from '../../statemachines/rules/events.ts';

/** `error.name` of {@link ToolFailure}: a constant, since bundlers shorten class names. */
export const TOOL_FAILURE = 'Counterstep.ToolFailure';

/** A failure that the implementation has classified. Thrown with the functions below. */
export class ToolFailure extends Error {
  override readonly name = TOOL_FAILURE;
  readonly failure: FailureClass;
  /** Short and stable, for rules and reports (`credit_note_refused`). */
  readonly code: string;
  readonly retryAfterMs: number | undefined;
  constructor(
    failure: FailureClass,
    code: string,
    message: string,
    options: { readonly retryAfterMs?: number; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.failure = failure;
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** The provider refused for good, and did nothing: the saga recovers. */
export function refused(code: string, message: string, cause?: unknown): ToolFailure {
  return new ToolFailure('terminal_compensate', code, message, { cause });
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
}

/** Network errors that come up before a byte of the request was sent. */
const NEVER_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];

/**
 * Reads what an implementation threw. Nobody's silence is taken as proof: what is not known to have
 * done nothing may have committed.
 */
export function classify(error: unknown, effect: EffectClass, action: string): Classified {
  if (isToolFailure(error)) {
    const base = { failure: error.failure, code: error.code, message: error.message };
    return error.retryAfterMs === undefined ? base : { ...base, retryAfterMs: error.retryAfterMs };
  }
  const code = networkCode(error);
  if (code !== undefined && NEVER_SENT.includes(code)) {
    return {
      failure: 'retryable',
      code: code.toLowerCase(),
      message: 'the provider could not be reached',
    };
  }
  const named = {
    code: code?.toLowerCase() ?? 'unclassified',
    // The text of an unknown exception may hold anything; its name says what can safely be said.
    message: `the implementation of ${action} failed with ${nameOf(error)}: classify it with refused(), retryable(), ambiguous() or hold()`,
  };
  return { failure: effect === 'read_only' ? 'retryable' : 'ambiguous', ...named };
}

export function isToolFailure(error: unknown): error is ToolFailure {
  return error instanceof Error && error.name === TOOL_FAILURE && 'failure' in error;
}

/** `fetch` hides the network's error in `cause`. */
function networkCode(error: unknown, depth = 0): string | undefined {
  if (typeof error !== 'object' || error === null || depth > 4) return undefined;
  if ('code' in error && typeof error.code === 'string') return error.code;
  return 'cause' in error ? networkCode(error.cause, depth + 1) : undefined;
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : `a thrown ${typeof error}`;
}
