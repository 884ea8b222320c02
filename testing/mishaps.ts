import type { CallPolicy } from '../statemachines/language/effects.ts';
import type { AnyTool } from '../statemachines/language/tool.ts';
import type { Action } from '../statemachines/rules/events.ts';

/** What may go wrong with one call to a provider, in the words of the failure classes. */
export const MISHAPS = [
  /** `retryable`: the provider surely did nothing, and may do it later. */
  'throttled',
  /** `ambiguous`: the effect stands, the answer was lost. */
  'answer_lost',
  /** `ambiguous`: the request never arrived. */
  'request_lost',
  /** No answer before the deadline; the effect lands at the very end of the settle window. */
  'lands_late',
  /** The same, and the answer comes then, when nobody waits for it any more. */
  'answers_late',
  /** Against its contract: effect and answer come a minute after the settle window. */
  'answers_too_late',
  /** No answer, and no effect. */
  'silent',
  /** Accepted as `pending`; settled later. */
  'pending_then_done',
  /** Accepted as `pending`; later dropped. */
  'pending_then_dropped',
  /** Accepted as `pending`, and never settled. */
  'pending_for_ever',
  /** `terminal_compensate`: it will not. */
  'refused',
  /** `terminal_hold`: a person must look first. */
  'held',
  /** `irreversible_incident`: failed past the point of no return. */
  'broken',
  /** The effect stands, but its answer does not fit the output schema. */
  'deviates',
  /** The effect stands, but its answer is so unlike the schema that no undo can be made from it. */
  'garbled',
  /** It costs more than was set aside for it. */
  'costs_more',
  /** It costs less. */
  'costs_less',
] as const;
export type Mishap = (typeof MISHAPS)[number];

/** Mishaps after which the saga may rightly be undone: the others never turn a success into an undo. */
export const TERMINAL_MISHAPS: readonly Mishap[] = ['refused', 'broken', 'deviates', 'garbled'];

/**
 * Mishaps in which a provider breaks its contract. No engine can keep them harmless, but it shows them
 * where it hears of them; so they strike alone.
 */
export const BREACHES: readonly Mishap[] = ['answers_too_late'];

/** What may go wrong with one question about a call. */
export const QUESTION_MISHAPS = ['silent', 'fails', 'unknown'] as const;
/** `pending` and `absent` are answers beside the truth: `absent` keeps the contract in the settle window only. */
export type QuestionMishap = (typeof QUESTION_MISHAPS)[number] | 'pending' | 'absent';

/** The mishaps that can happen to one action of a tool. */
export function mishapsOf(tool: AnyTool, action: Action): readonly Mishap[] {
  return MISHAPS.filter((mishap) => {
    switch (mishap) {
      case 'broken':
        return tool.effect === 'irreversible';
      case 'deviates':
      case 'garbled':
        return action === 'forward';
      case 'costs_more':
      case 'costs_less':
        return action !== 'forward' && tool.cost !== undefined;
      default:
        return true;
    }
  });
}

export function callPolicy(tool: AnyTool, action: Action): CallPolicy {
  switch (action) {
    case 'forward':
      return tool.forward;
    case 'contain':
      return tool.contain ?? tool.forward;
    case 'compensate':
    case 'supersede':
      return tool.compensate?.call ?? tool.forward;
  }
}
