import { type Actions, type Event, isRecovered, nonceOf, number, stepsOf } from './records.ts';

/** What a plan says, as its event holds it. */
export interface PlanFact {
  readonly hash: string;
  readonly checkpoint?: string;
  readonly currency?: string;
  readonly estimateMinor?: number;
  readonly entries: readonly {
    readonly step: string;
    readonly action: string;
    readonly after: readonly string[];
    readonly mark?: true;
    readonly estimate?: { readonly costMinor: number; readonly currency: string };
  }[];
}

/** Invariant 13: recoveries follow the plan in the ledger, and there is none without a terminal fact. */
export function recoveryOrder(events: readonly Event[], actions: Actions, found: string[]): void {
  let plan: PlanFact['entries'] = [];
  for (const event of events) {
    if (event.type === 'recovery_planned') {
      plan = (event.plan as PlanFact).entries;
      if (!events.some((each) => each.seq < event.seq && isTerminal(each)))
        found.push(`13: recovery is planned at ${event.seq} without a terminal fact`);
    }
    if (event.type === 'saga_halted') halt(event, events, actions, found);
    const mark = event.type === 'step_committed' && event.attempt === 0;
    if (event.type !== 'step_claimed' && !mark) continue;
    if (event.action === 'forward') continue;
    const entry = plan.find((each) => each.step === event.step);
    if (entry === undefined || entry.action !== event.action) {
      found.push(
        `13: ${String(event.action)} of ${String(event.step)} at ${event.seq} is not planned`,
      );
      continue;
    }
    if (mark && entry.mark !== true) {
      const what = `its ${entry.action} was to be called`;
      found.push(`13: ${String(event.step)} is only marked at ${event.seq}, where ${what}`);
    }
    if (minorOf(event.reserved) > minorOf(event.costLimit)) {
      found.push(`13: ${String(event.step)} is recovered at ${event.seq} beyond its cost limit`);
    }
    for (const name of entry.after) {
      if (!isRecovered(name, event.seq, events, actions)) {
        found.push(`13: ${String(event.step)} is recovered at ${event.seq} before ${name}`);
      }
    }
  }
}

/** Nothing where the event names no cost: no reservation, or no limit to it. */
function minorOf(cost: unknown): number {
  return number((cost as { readonly costMinor?: unknown } | undefined)?.costMinor);
}

/** What lets recovery begin. A hold, a lost answer or a caught error is none. */
export function isTerminal(event: Event): boolean {
  switch (event.type) {
    case 'step_failed':
      if (event.action !== 'forward') return false;
      return event.failure === 'terminal_compensate' || event.failure === 'irreversible_incident';
    case 'step_committed':
      return event.defect !== undefined;
    case 'saga_halted':
    case 'cancel_requested':
      return true;
    case 'review_decided':
      // A plan that is rejected leaves everything as it was: the person is asked again.
      return event.decision === 'recover';
    default:
      return false;
  }
}

/**
 * A terminal fact that stands at once. A refusal does not speak for an earlier attempt of its round that
 * may have taken effect: it counts only once that one can no longer land.
 */
export function standsAtOnce(event: Event, events: readonly Event[]): boolean {
  if (!isTerminal(event)) return false;
  if (event.type !== 'step_failed') return true;
  const ofStep = events.filter(
    (each) => each.seq < event.seq && each.step === event.step && each.action === 'forward',
  );
  const claims = ofStep.filter((each) => each.type === 'step_claimed');
  const own = claims.find((each) => nonceOf(each) === nonceOf(event));
  return claims.every(
    (claim) =>
      claim === own ||
      claim.round !== own?.round ||
      ofStep.some((each) => each.type === 'step_failed' && nonceOf(each) === nonceOf(claim)),
  );
}

/** A budget is spent by attempts that surely did nothing; a deadline has really passed. */
function halt(event: Event, events: readonly Event[], actions: Actions, found: string[]): void {
  if (event.reason === 'deadline_passed') {
    if (event.at < number(events[0]?.deadlineAt))
      found.push(`13: halted at ${event.seq} before the deadline`);
    return;
  }
  // These are facts of their own: nobody halts a saga by asserting them.
  if (['step_failed', 'cancelled', 'person'].includes(String(event.reason)))
    found.push(`13: halted at ${event.seq} as ${String(event.reason)}, which no event shows`);
  if (event.reason !== 'attempts_spent') return;
  const step = stepsOf(events).find((each) => each.name === event.step);
  if (step === undefined || step.effect === 'read_only') return;
  const before = events.filter((each) => each.seq < event.seq && each.step === step.name);
  const last = before.findLast((each) => each.type === 'step_claimed');
  const over = before.findLast(
    (each) => each.type !== 'step_claimed' && last !== undefined && nonceOf(each) === nonceOf(last),
  );
  const surely = over?.type === 'step_failed' || over?.answer === 'absent';
  if (actions.has(`${step.name}/forward`) && !surely)
    found.push(`3: halted at ${event.seq} although ${step.name} is not known to have failed`);
}
