import { type LedgerId, ledgerKey } from '../lambdas/ports/ledger-store.ts';
import { decideOn } from '../lambdas/service/decision.ts';
import type { Problem } from '../lambdas/service/problems.ts';
import type { DecisionRequest } from '../lambdas/service/requests.ts';
import type { AnySaga } from '../statemachines/language/saga.ts';
import { keptSteps } from '../statemachines/rules/checkpoint.ts';
import { settledAt } from '../statemachines/rules/doubt.ts';
import type { Action, SagaEvent } from '../statemachines/rules/events.ts';
import { SKEW_MS } from '../statemachines/rules/protocol.ts';
import type { ActionState, Review, SagaState, StepState } from '../statemachines/rules/state.ts';
import { isFinal, isRecovered, isUnresolved, pivotInDoubt } from '../statemachines/rules/view.ts';
import { isRefusal, type SimulatedPlane } from './plane.ts';
import { whyUnfit } from './versions.ts';

/** What a person may do with a review in place of the obvious. */
export const WAYS = [
  'retry',
  'recover',
  'recover_everything',
  'approve',
  'approve_too_little',
  'reject',
  'answer',
  'resolve',
  'latest',
  'obvious',
  /** Two people decide at the same time. */
  'both',
] as const;
export type Way = (typeof WAYS)[number];

export interface PersonOptions {
  takesMs(): number;
  /** How long after an incident was opened it is closed. Default: it stays open. */
  closesMs?(): number | undefined;
  /** How one review is met; default: by the obvious decision. */
  way?(id: LedgerId, nth: number): { readonly way: Way; readonly afterMs: number } | undefined;
  /** Told of what cannot be. */
  broken?(finding: string): void;
}

/** A refused decision is thought over again after this long, or when the refusal says. */
const THINKS_AGAIN_MS = 60_000;
/** Clocks of workers may be behind what a refusal names. */
const SPARE_MS = 3_000;
const MAX_TRIES = 40;
/** As long as a decision that names a version is refused, nothing else is worth a try. */
const UNFIT = ['cannot take this saga over', 'is not loaded here'] as const;

/** Why nobody can decide a review as long as the code stays what it is. */
export interface Stuck {
  readonly id: LedgerId;
  readonly review: string;
}

/**
 * Answers reviews truthfully: from the providers' own books, never from what the engine believes. Tries
 * again what failed; what fails again is undone by hand, at the provider, and vouched for.
 */
export class Person {
  readonly #plane: SimulatedPlane;
  readonly #options: PersonOptions;
  /** How often each question was put. */
  readonly #asked = new Map<string, number>();
  readonly #reviews = new Map<string, number>();
  readonly #stuck = new Map<string, Stuck>();
  #deploys = 0;
  /** Reviews for which the present version was refused. */
  readonly #unfit = new Set<string>();

  constructor(plane: SimulatedPlane, options: PersonOptions) {
    this.#plane = plane;
    this.#options = options;
  }

  /** What waits for another version of the code. */
  get stuck(): readonly Stuck[] {
    return [...this.#stuck.values()];
  }

  /** How many reviews wait for another version of the code. */
  get waiting(): number {
    return this.#stuck.size;
  }

  /** To be told of every event; answers the reviews among them, and closes incidents. */
  noticed(id: LedgerId, event: SagaEvent): void {
    const key = ledgerKey(id);
    const over =
      event.type === 'review_decided' ||
      (event.type === 'drive_granted' && event.reason === 'resume');
    if (over) this.#stuck.delete(key);
    // Whoever vouches for an undo makes it in the same moment: a word that is refused changes nothing.
    if (event.type === 'review_decided' && event.decision === 'resolve') {
      const { book } = this.#plane.providers;
      book.undoByHand(id.tenant, id.sagaId, event.step ?? '', this.#plane.time.now());
    }
    if (event.type === 'incident_opened') this.#close(id, event.seq);
    if (event.type !== 'review_opened') return;
    const nth = (this.#reviews.get(key) ?? 0) + 1;
    this.#reviews.set(key, nth);
    const { way, afterMs } = this.#options.way?.(id, nth) ?? {
      way: 'obvious',
      afterMs: this.#options.takesMs(),
    };
    this.#plane.time.world.timer(afterMs, () => {
      void this.answer(id, event.review, way);
      if (way === 'both') void this.answer(id, event.review, 'retry', 'bob');
    });
  }

  #close(id: LedgerId, seq: number): void {
    const afterMs = this.#options.closesMs?.();
    if (afterMs === undefined) return;
    const request = { decision: 'close', evidence: 'put right by hand' } as const;
    this.#plane.time.world.timer(
      afterMs,
      () => void this.#say(id, `${id.sagaId}.${seq}`, request, 'ada'),
    );
  }

  /** New code: what waited for it is decided once more. */
  deployed(): void {
    this.#deploys += 1;
    this.#unfit.clear();
    for (const { id, review } of this.stuck) {
      this.#stuck.delete(ledgerKey(id));
      this.#plane.time.world.timer(this.#options.takesMs(), () => void this.answer(id, review));
    }
  }

  async answer(id: LedgerId, review: string, way: Way = 'obvious', who = 'ada'): Promise<void> {
    const { time } = this.#plane;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const state = this.#plane.state(id);
      if (state === undefined || isFinal(state) || state.review?.id !== review) return;
      const own = tries === 0 ? this.#own(way, id, state, state.review) : undefined;
      const request = own ?? this.#decide(id, state, state.review);
      // While a drive is on its way, it may come to another end than the one before.
      const moves = request === 'stuck' && state.drive !== 'parked';
      if (request === 'stuck' && !moves) return this.#isStuck(id, state, state.review);
      if (request === 'stuck' || request === 'later') {
        await time.world.sleep(THINKS_AGAIN_MS);
        continue;
      }
      const refusal = await this.#say(id, review, request, who);
      if (refusal === 'later') {
        await time.world.sleep(THINKS_AGAIN_MS);
        continue;
      }
      if (refusal === undefined) {
        if (own !== undefined && way === 'approve_too_little')
          this.#options.broken?.(`13: less than review ${review} asks for was approved`);
        if (request.decision !== 'reject') return;
      }
      const until = refusal?.until ?? time.now() + THINKS_AGAIN_MS;
      await time.world.sleep(Math.max(THINKS_AGAIN_MS, until - time.now() + SPARE_MS));
    }
  }

  /** @returns why it was refused, or `later` where it was never heard and is no longer true */
  async #say(
    id: LedgerId,
    review: string,
    request: DecisionRequest,
    who: string,
  ): Promise<Problem | 'later' | undefined> {
    const asksForLatest = request.machine === 'latest';
    const before = asksForLatest ? fitOf(this.#plane, id) : undefined;
    const deploys = this.#deploys;
    let refusal: Problem | undefined;
    try {
      const said = await this.#plane.ask(id.tenant, async (parts, principal) => {
        // Whoever asks again looks again: what was absent a minute ago may be there now.
        const now = this.#lookedAgain(id, request);
        if (now === 'later') return now;
        return decideOn(parts, { ...principal, id: who }, review, JSON.stringify(now));
      });
      if (said === 'later') return said;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      refusal = error;
    }
    const unfit = UNFIT.some((words) => refusal?.detail.includes(words));
    if (unfit && deploys === this.#deploys) this.#unfit.add(review);
    const broken =
      before === undefined
        ? undefined
        : takeoverFinding(id, refusal, before, fitOf(this.#plane, id));
    if (broken !== undefined) this.#options.broken?.(broken);
    return refusal;
  }

  /** It waits for other code: rightly so only where the present one can neither run it nor take it over. */
  #isStuck(id: LedgerId, state: SagaState, review: Review): void {
    const { runs } = this.#plane.deployed.pinned(state);
    const drifted = review.reason === 'code_drift' && review.explanation.includes('is pinned to');
    if (fitOf(this.#plane, id).fits || runs === drifted)
      this.#options.broken?.(
        `12: ${id.sagaId} waits for other code (${review.reason}), and the present one could go on with it`,
      );
    this.#stuck.set(ledgerKey(id), { id, review: review.id });
  }

  /** A way of one's own, where it is open to somebody who tells the truth. */
  #own(
    way: Way,
    id: LedgerId,
    state: SagaState,
    review: Review,
  ): DecisionRequest | 'later' | undefined {
    const { planHash, maxCost } = review;
    switch (way) {
      case 'obvious':
      case 'both':
        return undefined;
      case 'retry':
      case 'recover':
        return { decision: way };
      case 'recover_everything':
        return { decision: 'recover', everything: true };
      case 'reject':
        return { decision: 'reject', evidence: 'it is too dear' };
      case 'approve':
      case 'approve_too_little': {
        if (planHash === undefined || maxCost === undefined) return undefined;
        const costMinor = maxCost.costMinor + (way === 'approve' ? 100 : -1);
        if (costMinor < 0) return undefined;
        return { decision: 'approve', planHash, maxCost: { ...maxCost, costMinor } };
      }
      case 'answer':
        return this.#answerFor(id, state, [...state.steps.keys()]);
      case 'resolve':
        return this.#vouchFor(state);
      case 'latest': {
        const obvious = this.#decide(id, state, review);
        return typeof obvious === 'string' ? undefined : { ...obvious, machine: 'latest' };
      }
    }
  }

  #decide(id: LedgerId, state: SagaState, review: Review): DecisionRequest | 'later' | 'stuck' {
    const asked = this.#countOf(review);
    switch (review.reason) {
      case 'unknown_outcome':
      case 'pending_too_long':
        if (this.#unfit.has(review.id))
          return this.#plane.deployed.pinned(state).runs ? 'stuck' : { decision: 'retry' };
        return this.#answerFor(id, state, review.steps) ?? { decision: 'retry' };
      case 'recovery_failed':
        return asked <= 1 ? { decision: 'retry' } : this.#byHand(state, review);
      case 'undo_unavailable':
      case 'human_decision':
        return this.#byHand(state, review);
      case 'cost_ceiling':
        return approval(review);
      case 'held_by_tool':
      case 'after_pivot':
        return { decision: asked <= 1 || state.halt !== undefined ? 'retry' : 'recover' };
      case 'code_drift':
        if (!this.#unfit.has(review.id)) return { decision: 'retry', machine: 'latest' };
        return this.#plane.deployed.pinned(state).runs ? { decision: 'retry' } : 'stuck';
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
    steps: readonly string[],
  ): DecisionRequest | 'later' | undefined {
    for (const name of steps) {
      const step = state.steps.get(name);
      for (const action of [step?.forward, step?.recovery]) {
        if (action !== undefined && isUnresolved(action)) return this.#truth(id, name, action);
      }
    }
    return undefined;
  }

  #lookedAgain(id: LedgerId, request: DecisionRequest): DecisionRequest | 'later' {
    if (request.decision !== 'answer' || request.step === undefined) return request;
    const step = this.#plane.state(id)?.steps.get(request.step);
    const action = [step?.forward, step?.recovery].find((each) => each?.action === request.action);
    if (action === undefined || !isUnresolved(action)) return request;
    const now = this.#truth(id, request.step, action);
    const { machine } = request;
    return now === 'later' || machine === undefined ? now : { ...now, machine };
  }

  #isPending(action: ActionState | undefined): boolean {
    const { correlationId = '' } = action?.attempt ?? {};
    return this.#plane.providers.pending(correlationId) === 'for_now';
  }

  #truth(
    { tenant, sagaId }: LedgerId,
    step: string,
    action: ActionState & { readonly action: Action },
  ): DecisionRequest | 'later' {
    // Seen as accepted and not settled yet: it is neither done nor absent.
    if (this.#isPending(action)) return 'later';
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

  #byHand(state: SagaState, review: Review): DecisionRequest | 'later' {
    const open = review.steps.find((name) => {
      const step = state.steps.get(name);
      return step !== undefined && !isRecovered(step);
    });
    if (open === undefined) return { decision: 'retry' };
    const step = state.steps.get(open);
    if (this.#isPending(step?.forward) || this.#isPending(step?.recovery)) return 'later';
    return this.#undone(open);
  }

  /** A step that may be undone by hand before its turn, and is. */
  #vouchFor(state: SagaState): DecisionRequest | undefined {
    if (state.halt === undefined || pivotInDoubt(state) !== undefined) return undefined;
    const kept = keptSteps(state);
    const open = [...state.steps.values()].find(
      (step) => !kept.has(step.record.name) && this.#isUndoable(step),
    );
    return open === undefined ? undefined : this.#undone(open.record.name);
  }

  #isUndoable(step: StepState): boolean {
    if (isRecovered(step) || step.record.effect === 'irreversible') return false;
    const now = this.#plane.time.now() - SPARE_MS;
    return [step.forward, step.recovery].every((action) => {
      if (action === undefined || !isUnresolved(action)) return true;
      const quietAt = Math.max(settledAt(action), (action.attempt?.leaseUntil ?? 0) + SKEW_MS);
      return now >= quietAt && !this.#isPending(action);
    });
  }

  #undone(step: string): DecisionRequest {
    return { decision: 'resolve', step, evidence: 'undone by hand at the provider' };
  }
}

function approval(review: Review): DecisionRequest {
  const { planHash, maxCost } = review;
  if (planHash === undefined || maxCost === undefined) return { decision: 'retry' };
  return { decision: 'approve', planHash, maxCost };
}

/** The present version, and whether it could take the saga over by what its ledger holds. */
export interface Fit {
  readonly latest: AnySaga | undefined;
  readonly fits: boolean;
}

export function fitOf(plane: SimulatedPlane, id: LedgerId): Fit {
  const events = plane.events(id);
  const [start] = events;
  const latest =
    start?.type === 'saga_started' ? plane.deployed.current.get(start.name) : undefined;
  return { latest, fits: latest !== undefined && whyUnfit(events, latest) === undefined };
}

/**
 * What is wrong with the answer to "go on with the latest version". The saga, or the version, may have
 * moved meanwhile: only what held before and after is held against it.
 */
export function takeoverFinding(
  id: LedgerId,
  refusal: Problem | undefined,
  before: Fit,
  after: Fit,
): string | undefined {
  if (before.latest !== after.latest || before.fits !== after.fits) return undefined;
  if (refusal === undefined && !after.fits)
    return `9: a version that does not fit took over ${id.sagaId}`;
  if (refusal?.detail.includes(UNFIT[0]) === true && after.fits)
    return `12: ${id.sagaId} was refused to a version that fits: ${refusal.detail}`;
  return undefined;
}
