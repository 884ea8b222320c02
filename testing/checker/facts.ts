import {
  type CostFact,
  type Event,
  type Ids,
  number,
  SKEW_MS,
  type StepFact,
  stepsOf,
  undoOf,
} from './records.ts';
import { isTerminal, type PlanFact } from './recovery.ts';

/** What is known of one call: made, surely not made, or neither. */
export type Known = 'idle' | 'running' | 'retrying' | 'waiting' | 'in_doubt' | 'done' | 'failed';

export interface ActionFacts {
  readonly action: string;
  known: Known;
  attempts: number;
  round: number;
  claim: Event | undefined;
  /** The last attempt surely did nothing, though an earlier one may have. */
  spent: boolean;
  /** Until then an earlier attempt of this round may still land. */
  suspectUntil: number | undefined;
  reserved: CostFact | undefined;
  ids: Ids;
  commit: Event | undefined;
  failure: { readonly class: string; readonly code: string } | undefined;
}

export interface StepFacts extends StepFact {
  readonly tool: string;
  readonly adopted: boolean;
  readonly forward: ActionFacts;
  recovery: ActionFacts | undefined;
  resolved: { readonly by: string; readonly evidence: string } | undefined;
  readonly late: Ids[];
}

export interface HaltFacts {
  readonly reason: string;
  readonly step: unknown;
  readonly budget: unknown;
  readonly everything: boolean;
  readonly afterPivot: boolean;
}

/** A saga as its events tell it up to one of them. Read once, from the first on. */
export class SagaFacts {
  readonly first: Event;
  head: Event;
  readonly steps: ReadonlyMap<string, StepFacts>;
  halt: HaltFacts | undefined;
  plan: PlanFact | undefined;
  approval: { readonly planHash: unknown; readonly maxCost: CostFact } | undefined;

  constructor(first: Event) {
    this.first = first;
    this.head = first;
    this.steps = new Map(
      (stepsOf([first]) as readonly (StepFact & { readonly tool: string })[]).map((step) => {
        const adopted = adoptedIds(first, step.name);
        const forward = freshAction('forward');
        if (adopted !== undefined) Object.assign(forward, { known: 'done', ids: adopted });
        const rest = { recovery: undefined, resolved: undefined, late: [] };
        return [step.name, { ...step, adopted: adopted !== undefined, forward, ...rest }];
      }),
    );
  }

  apply(event: Event): void {
    this.head = event;
    const step = this.steps.get(String(event.step));
    switch (event.type) {
      case 'step_claimed':
        if (step !== undefined) claimed(actionOf(step, event.action), event);
        break;
      case 'step_committed':
        if (step !== undefined) this.#committed(step, event);
        break;
      case 'step_failed':
        if (step !== undefined) this.#failed(actionOf(step, event.action), event);
        break;
      case 'step_deferred':
        if (step !== undefined) deferred(actionOf(step, event.action));
        break;
      case 'step_in_doubt':
        if (step !== undefined) {
          const failure = { class: 'ambiguous', code: String(event.code) };
          Object.assign(actionOf(step, event.action), { known: 'in_doubt', failure });
        }
        break;
      case 'step_reconciled':
        if (step !== undefined) reconciled(actionOf(step, event.action), event);
        break;
      case 'late_evidence':
        step?.late.push((event.externalIds ?? {}) as Ids);
        break;
      case 'saga_halted':
        this.#halt(String(event.reason), event);
        break;
      case 'cancel_requested':
        this.#halt('cancelled', { everything: event.everything });
        break;
      case 'recovery_planned':
        this.plan = event.plan as PlanFact;
        break;
      case 'drive_granted':
        if (event.reason === 'resume') this.#reopen();
        break;
      case 'review_decided':
        this.#decided(event);
    }
  }

  /** Behind the point of no return: the pivot is done, or failed so that nothing takes it back. */
  pivotStands(): boolean {
    return [...this.steps.values()].some((step) => step.effect === 'irreversible' && stands(step));
  }

  #committed(step: StepFacts, event: Event): void {
    const action = actionOf(step, event.action);
    Object.assign(action, {
      known: 'done',
      attempts: Math.max(action.attempts, number(event.attempt) || 0),
      ids: { ...action.ids, ...(event.externalIds as object | undefined) },
      suspectUntil: undefined,
      commit: event,
    });
    if (event.action !== 'forward') return;
    step.resolved = undefined;
    if (step.effect === 'irreversible') this.#pivotKnown();
    if (event.defect !== undefined) this.#halt('output_refused', { step: step.name });
  }

  /** What failed before the pivot was known to be done is void, unless something was undone by then. */
  #pivotKnown(): void {
    const steps = [...this.steps.values()];
    const undone = steps.some(
      ({ recovery, resolved }) =>
        (recovery?.attempts ?? 0) > 0 || recovery?.known === 'done' || resolved !== undefined,
    );
    if (undone || this.halt === undefined || this.halt.afterPivot) return;
    this.plan = undefined;
    if (steps.some(({ forward }) => forward.commit?.defect !== undefined)) {
      this.halt = { ...this.halt, afterPivot: true };
      return;
    }
    this.halt = undefined;
    for (const { forward } of steps) reopen(forward);
  }

  #failed(action: ActionFacts, event: Event): void {
    const failure = { class: String(event.failure), code: String(event.code) };
    const passes = event.failure === 'retryable';
    const { claim, suspectUntil } = action;
    const early = suspectUntil !== undefined && claim !== undefined;
    if (early && (passes || claim.at < suspectUntil + SKEW_MS)) {
      Object.assign(action, { known: 'in_doubt', spent: true, failure });
      return;
    }
    const known = passes ? 'retrying' : 'failed';
    Object.assign(action, { known, suspectUntil: undefined, failure });
    if (isTerminal(event)) this.#halt(String(event.reason ?? 'step_failed'), event);
  }

  #halt(reason: string, of: { readonly [member: string]: unknown }): void {
    this.halt ??= {
      reason,
      step: of.step,
      budget: of.budget,
      everything: of.everything === true,
      afterPivot: this.pivotStands(),
    };
  }

  #decided(event: Event): void {
    const step = this.steps.get(String(event.step));
    switch (event.decision) {
      case 'retry':
        this.#reopen();
        break;
      case 'recover':
        this.#halt('person', { everything: event.everything });
        break;
      case 'approve':
        this.approval = { planHash: event.planHash, maxCost: event.maxCost as CostFact };
        break;
      case 'resolve':
        if (step !== undefined)
          step.resolved = { by: String(event.actor), evidence: String(event.evidence ?? '') };
        break;
      case 'answer': {
        const action = step === undefined ? undefined : actionOf(step, event.action);
        if (step === undefined || action?.claim === undefined || action.known === 'done') return;
        if (event.answer === 'committed') this.#committed(step, event);
        else reconciled(action, event);
      }
    }
  }

  #reopen(): void {
    for (const { forward, recovery } of this.steps.values()) {
      if (recovery !== undefined) reopen(recovery);
      // What was refused stays refused; a hold was only a question.
      if (this.halt === undefined || forward.failure?.class === 'terminal_hold') reopen(forward);
    }
  }
}

/** All that the events tell. Nothing where there are none. */
export function factsOf(events: readonly Event[]): SagaFacts | undefined {
  const [first, ...rest] = events;
  if (first === undefined) return undefined;
  const facts = new SagaFacts(first);
  for (const event of rest) facts.apply(event);
  return facts;
}

function adoptedIds(first: Event, step: string): Ids | undefined {
  const adopted = (first.adopted ?? []) as readonly {
    readonly step: string;
    readonly externalIds: Ids;
  }[];
  return adopted.find((each) => each.step === step)?.externalIds;
}

function freshAction(action: string): ActionFacts {
  return {
    action,
    known: 'idle',
    attempts: 0,
    round: 1,
    claim: undefined,
    spent: false,
    suspectUntil: undefined,
    reserved: undefined,
    ids: {},
    commit: undefined,
    failure: undefined,
  };
}

function actionOf(step: StepFacts, action: unknown): ActionFacts {
  if (action === 'forward') return step.forward;
  if (step.recovery?.action !== action) step.recovery = freshAction(String(action));
  return step.recovery ?? freshAction(String(action));
}

function claimed(action: ActionFacts, event: Event): void {
  const same = action.round === event.round;
  const { claim, suspectUntil } = action;
  const doubtful = isOpen(action) && claim !== undefined && !action.spent;
  // Sent again over one whose outcome nobody knows: that one may land yet.
  const until = doubtful ? Math.max(suspectUntil ?? 0, number(claim.settleUntil)) : suspectUntil;
  Object.assign(action, {
    known: 'running',
    attempts: number(event.attempt),
    round: number(event.round),
    claim: event,
    spent: false,
    suspectUntil: same ? until : undefined,
    reserved: (event.reserved as CostFact | undefined) ?? action.reserved,
  });
}

function reconciled(action: ActionFacts, event: Event): void {
  if (event.answer === 'absent') {
    const round = action.round + 1;
    Object.assign(action, { known: 'retrying', round, suspectUntil: undefined, ids: {} });
    return;
  }
  const ids = { ...action.ids, ...(event.externalIds as object | undefined) };
  Object.assign(action, { known: event.answer === 'pending' ? 'waiting' : 'in_doubt', ids });
}

function deferred(action: ActionFacts): void {
  if (!isOpen(action)) action.known = 'retrying';
}

/** A person lets it be tried again. Beyond repair is no refusal: what became of it is asked first. */
function reopen(action: ActionFacts): void {
  if (action.known !== 'failed') return;
  if (action.failure?.class === 'irreversible_incident') {
    action.known = 'in_doubt';
    return;
  }
  action.known = 'retrying';
  action.round += 1;
  action.ids = {};
}

/** It may have happened, and nothing says whether it did. */
export function isOpen({ known }: ActionFacts): boolean {
  return known === 'running' || known === 'waiting' || known === 'in_doubt';
}

/** Its own tool says that no word of the provider takes it back. */
export function isBeyondRepair({ forward }: StepFacts): boolean {
  return forward.known === 'failed' && forward.failure?.class === 'irreversible_incident';
}

export function stands(step: StepFacts): boolean {
  return step.forward.known === 'done' || (step.effect === 'irreversible' && isBeyondRepair(step));
}

/** Why its contract says that there is nothing to undo. */
export function skippedWhy(step: StepFacts): string | undefined {
  const undo = undoOf(step.forward.commit);
  return undo?.kind === 'skipped' ? String((undo as { why?: unknown }).why) : undefined;
}

/** Where its recovery is: as a call goes, or not begun, or not owed. */
export function recoveryOf(step: StepFacts): Known | 'resolved' | 'pending' | 'not_owed' {
  if (step.effect === 'read_only') return 'not_owed';
  if (step.resolved !== undefined) return 'resolved';
  const { recovery } = step;
  if (recovery !== undefined && recovery.known !== 'idle') return recovery.known;
  return stands(step) && skippedWhy(step) === undefined ? 'pending' : 'not_owed';
}

/** Something of it must still be undone, or may have to be. */
export function owes(step: StepFacts): boolean {
  if (isOpen(step.forward) && step.resolved === undefined) return true;
  return !['done', 'resolved', 'not_owed'].includes(recoveryOf(step));
}
