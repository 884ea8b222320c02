import type { Role } from '../../statemachines/access.ts';
import type { FailureClass } from '../../statemachines/rules/events.ts';
import type { Principal } from './principal.ts';
import type { ReviewItemView, SagaView, StepView } from './wire.ts';

/**
 * What providers answered may name other people, systems and addresses. Masks find what looks like a
 * secret, never a name; so those who run the plane read the masked text, and a caller who only starts
 * and reads sagas gets the code and words of ours.
 */
const SEE_DETAIL: readonly Role[] = ['reviewer', 'operator', 'auditor'];

const WORDS: Readonly<Record<FailureClass, string>> = {
  retryable: 'the provider did nothing',
  ambiguous: 'it is not known what the provider did',
  terminal_compensate: 'it was refused for good',
  terminal_hold: 'a person has to look first',
  irreversible_incident: 'it failed past the point of no return',
};

/** The saga as this caller may see it. */
export function sagaFor(principal: Principal, saga: SagaView): SagaView {
  if (seesDetail(principal)) return saga;
  const { review } = saga;
  return {
    ...saga,
    steps: saga.steps.map((step) => ({
      ...step,
      forward: discreet(step.forward),
      compensation: discreet(step.compensation),
    })),
    ...(review === undefined
      ? {}
      : { review: { ...review, explanation: explanationOf(review.reason) } }),
  };
}

/** A review, or its line in the queue, as this caller may see it. */
export function reviewFor<R extends ReviewItemView>(principal: Principal, review: R): R {
  if (seesDetail(principal) || review.kind === 'incident') return review;
  return { ...review, explanation: explanationOf(review.reason) };
}

function seesDetail(principal: Principal): boolean {
  return SEE_DETAIL.some((role) => principal.roles.includes(role));
}

function discreet<A extends StepView['forward'] | StepView['compensation']>(action: A): A {
  const { failure } = action;
  if (failure === undefined) return action;
  return { ...action, failure: { ...failure, message: WORDS[failure.class] } };
}

function explanationOf(reason: string): string {
  return `it waits for a person (${reason})`;
}
