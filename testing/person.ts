import type { LedgerId } from '../lambdas/ports/ledger-store.ts';
import { decideOn } from '../lambdas/service/decision.ts';
import type { DecisionRequest } from '../lambdas/service/requests.ts';
import type { Action, SagaEvent } from '../statemachines/rules/events.ts';
import type { ActionState, Review, SagaState } from '../statemachines/rules/state.ts';
import { isFinal, isRecovered, isUnresolved } from '../statemachines/rules/view.ts';
import { isRefusal, type SimulatedPlane } from './plane.ts';

/** A refused decision is thought over again after this long, or when the refusal says. */
const THINKS_AGAIN_MS = 60_000;
/** Clocks of workers may be behind what a refusal names. */
const SPARE_MS = 3_000;
const MAX_TRIES = 40;

/**
 * Answers reviews truthfully: from the providers' own books, never from what the engine believes. Tries
 * again what failed; what fails again is undone by hand, at the provider, and vouched for.
 */
export class Person {
  readonly #plane: SimulatedPlane;
  readonly #takesMs: () => number;
  /** How often each question was put. */
  readonly #asked = new Map<string, number>();

  constructor(plane: SimulatedPlane, takesMs: () => number) {
    this.#plane = plane;
    this.#takesMs = takesMs;
  }

  /** To be told of every event; answers the reviews among them. */
  noticed(id: LedgerId, event: SagaEvent): void {
    if (event.type !== 'review_opened') return;
    this.#plane.time.world.timer(this.#takesMs(), () => void this.answer(id, event.review));
  }

  async answer(id: LedgerId, review: string): Promise<void> {
    const { time } = this.#plane;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const state = this.#plane.state(id);
      if (state === undefined || isFinal(state) || state.review?.id !== review) return;
      const request = this.#decide(id, state, state.review);
      if (request === 'later') {
        await time.world.sleep(THINKS_AGAIN_MS);
        continue;
      }
      try {
        await this.#plane.ask(id.tenant, (parts, principal) =>
          decideOn(parts, { ...principal, id: 'ada' }, review, JSON.stringify(request)),
        );
        return;
      } catch (error) {
        if (!isRefusal(error)) throw error;
        const until = error.until ?? time.now() + THINKS_AGAIN_MS;
        await time.world.sleep(Math.max(THINKS_AGAIN_MS, until - time.now() + SPARE_MS));
      }
    }
  }

  #decide(id: LedgerId, state: SagaState, review: Review): DecisionRequest | 'later' {
    const asked = this.#countOf(review);
    switch (review.reason) {
      case 'unknown_outcome':
      case 'pending_too_long':
        return this.#answerFor(id, state, review) ?? { decision: 'retry' };
      case 'recovery_failed':
        return asked <= 1 ? { decision: 'retry' } : this.#byHand(id, state, review);
      case 'undo_unavailable':
      case 'human_decision':
        return this.#byHand(id, state, review);
      case 'cost_ceiling':
        return approval(review);
      case 'held_by_tool':
      case 'after_pivot':
        return { decision: asked <= 1 || state.halt !== undefined ? 'retry' : 'recover' };
      case 'code_drift':
        return { decision: 'retry', machine: 'latest' };
      default:
        return { decision: 'retry' };
    }
  }

  #countOf(review: Review): number {
    // A review's id begins with its saga's.
    const question = [review.id.split('.')[0], review.reason, ...review.steps].join(' ');
    const count = (this.#asked.get(question) ?? 0) + 1;
    this.#asked.set(question, count);
    return count;
  }

  /** What the provider's books say of the first call in doubt. */
  #answerFor(
    id: LedgerId,
    state: SagaState,
    review: Review,
  ): DecisionRequest | 'later' | undefined {
    for (const name of review.steps) {
      const step = state.steps.get(name);
      for (const action of [step?.forward, step?.recovery]) {
        if (action !== undefined && isUnresolved(action)) return this.#truth(id, name, action);
      }
    }
    return undefined;
  }

  #truth(
    { tenant, sagaId }: LedgerId,
    step: string,
    action: ActionState & { readonly action: Action },
  ): DecisionRequest | 'later' {
    // Seen as accepted and not settled yet: it is neither done nor absent.
    if (this.#plane.providers.pending(action.attempt?.correlationId ?? '') === 'for_now')
      return 'later';
    const effect = this.#plane.providers.book
      .effects(tenant, sagaId)
      .find((each) => each.correlationId === action.attempt?.correlationId);
    const named = {
      decision: 'answer',
      step,
      action: action.action,
      evidence: "seen in the provider's records",
    } as const;
    if (effect === undefined) return { ...named, answer: 'absent' };
    const result = action.action === 'forward' ? { result: effect.output } : {};
    return { ...named, answer: 'committed', ...result };
  }

  #byHand(id: LedgerId, state: SagaState, review: Review): DecisionRequest {
    const open = review.steps.find((name) => {
      const step = state.steps.get(name);
      return step !== undefined && !isRecovered(step);
    });
    if (open === undefined) return { decision: 'retry' };
    const { book } = this.#plane.providers;
    book.undoByHand(id.tenant, id.sagaId, open, this.#plane.time.now());
    return { decision: 'resolve', step: open, evidence: 'undone by hand at the provider' };
  }
}

function approval(review: Review): DecisionRequest {
  const { planHash, maxCost } = review;
  if (planHash === undefined || maxCost === undefined) return { decision: 'retry' };
  return { decision: 'approve', planHash, maxCost };
}
