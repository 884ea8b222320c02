import { adoptedSteps } from './endings.ts';
import {
  type Actions,
  type Event,
  type Ledgered,
  nonceOf,
  number,
  SKEW_MS,
  stepsOf,
  undoOf,
} from './records.ts';
import { standsAtOnce } from './recovery.ts';

/** Claims and outcomes of each step and action: invariants 4, 5, 6, 7 and 9. */
export function attempts(events: readonly Event[], found: string[]): Actions {
  const actions: Actions = new Map();
  let before: Event | undefined;
  for (const event of events) {
    const action = actionOf(actions, event);
    if (action !== undefined) {
      if (event.type === 'step_claimed') claimed(event, before, action, actions, events, found);
      else if (event.type === 'review_decided') answered(event, action, found);
      else outcome(event, action, found);
    }
    before = event;
  }
  return actions;
}

function actionOf(actions: Actions, event: Event): Ledgered | undefined {
  const { step, action } = event;
  if (typeof step !== 'string' || typeof action !== 'string') return undefined;
  // A claim that was not made is no attempt, and nothing becomes of it.
  if (event.type === 'step_deferred') return undefined;
  const name = `${step}/${action}`;
  const known = actions.get(name);
  if (known !== undefined) return known;
  const fresh = {
    step,
    action,
    claims: [],
    outcomes: new Map<string, Event>(),
    committed: undefined,
    correlationId: undefined,
  };
  actions.set(name, fresh);
  return fresh;
}

function claimed(
  event: Event,
  before: Event | undefined,
  action: Ledgered,
  actions: Actions,
  events: readonly Event[],
  found: string[],
): void {
  const name = `claim ${event.seq} of ${action.step}/${action.action}`;
  const last = action.claims.at(-1);
  if (before?.drive !== 'running' || before.epoch !== event.epoch) {
    found.push(`7: ${name} by a drive that does not run`);
  }
  if (action.committed !== undefined) found.push(`4: ${name}, which had committed`);
  if (adoptedSteps(events).has(action.step)) found.push(`4: ${name}, which was adopted`);
  if (event.attempt !== action.claims.length + 1)
    found.push(`7: ${name} counts ${String(event.attempt)}`);
  if (number(event.leaseUntil) <= number(event.deadlineAt))
    found.push(`7: ${name} has no lease beyond its call`);
  if (action.correlationId !== undefined && action.correlationId !== event.correlationId) {
    found.push(`9: ${name} has another correlation id than the first`);
  }
  action.correlationId = String(event.correlationId);
  if (last !== undefined) {
    const over = action.outcomes.get(nonceOf(last));
    const leased = number(last.leaseUntil) + SKEW_MS;
    if (over === undefined && event.at < leased)
      found.push(`7: ${name} while attempt ${String(last.attempt)} lives`);
    round(event, last, action, events, name, found);
  } else if (event.round !== 1) {
    // Only a person's retry of a refusal that came before any claim.
    const refused = events.some(
      (each) => each.seq < event.seq && each.type === 'step_failed' && each.step === action.step,
    );
    if (!refused) found.push(`9: ${name} begins with round ${String(event.round)}`);
  }
  if (action.action === 'forward') forwardClaim(event, events, name, found);
  else {
    undoClaim(action, actions, name, found);
    pivotFirst(action, actions, events, name, found);
  }
  action.claims.push(event);
}

/** Invariant 5: once a terminal fact stands nothing goes forward, unless the pivot proved to be done. */
function forwardClaim(event: Event, events: readonly Event[], name: string, found: string[]): void {
  const fact = events.find((each) => each.seq < event.seq && standsAtOnce(each, events));
  if (fact === undefined) return;
  const pivots = pivotsOf(events);
  const pivotal = events.some(
    (each) =>
      each.seq < event.seq &&
      pivots.has(String(each.step)) &&
      each.action === 'forward' &&
      (each.type === 'step_committed' || each.answer === 'committed'),
  );
  if (!pivotal) found.push(`5: ${name} after the terminal fact ${fact.seq}`);
}

function pivotsOf(events: readonly Event[]): ReadonlySet<string> {
  const pivots = stepsOf(events).filter((step) => step.effect === 'irreversible');
  return new Set(pivots.map((step) => step.name));
}

/** The pivot decides: while nobody knows whether it is done, nothing else is undone. */
function pivotFirst(
  action: Ledgered,
  actions: Actions,
  events: readonly Event[],
  name: string,
  found: string[],
): void {
  for (const pivot of pivotsOf(events)) {
    const forward = actions.get(`${pivot}/forward`);
    const last = forward?.claims.at(-1);
    if (forward === undefined || last === undefined || pivot === action.step) continue;
    const over = forward.outcomes.get(nonceOf(last));
    const known = over?.type === 'step_failed' || over?.answer === 'absent';
    const resolved = events.some(
      (each) => each.decision === 'resolve' && each.step === pivot && each.seq > last.seq,
    );
    if (forward.committed === undefined && !known && !resolved)
      found.push(`10: ${name} while ${pivot} is in doubt`);
  }
}

/** Invariant 9: the same key until it is known that the call did not happen. */
function round(
  event: Event,
  last: Event,
  action: Ledgered,
  events: readonly Event[],
  name: string,
  found: string[],
): void {
  const same = event.round === last.round;
  if (same !== (event.key === last.key)) found.push(`9: ${name} has key and round apart`);
  if (same) {
    const over = action.outcomes.get(nonceOf(last));
    const surely = over?.type === 'step_failed';
    if (!surely && event.dedupe !== 'key')
      found.push(`4: ${name} sends again what may have happened`);
    return;
  }
  const between = events.filter((each) => each.seq > last.seq && each.seq < event.seq);
  const absent = between.some(
    (each) =>
      each.step === action.step &&
      each.action === action.action &&
      each.answer === 'absent' &&
      each.at >= number(last.settleUntil),
  );
  const refusal = between.some((each) => each.type === 'step_failed' && each.step === action.step);
  const person = between.some(
    (each) =>
      each.type === 'review_decided' || (each.type === 'drive_granted' && each.reason === 'resume'),
  );
  if (!absent && !(refusal && person)) found.push(`9: ${name} raises the round without knowing`);
}

function undoClaim(action: Ledgered, actions: Actions, name: string, found: string[]): void {
  const forward = actions.get(`${action.step}/forward`);
  if (forward?.committed === undefined) {
    const beyond = [...(forward?.outcomes.values() ?? [])].some(
      (each) => each.failure === 'irreversible_incident',
    );
    if (!(action.action === 'contain' && beyond))
      found.push(`5: ${name}, whose forward call is not known to have committed`);
    return;
  }
  const undo = undoOf(forward.committed);
  const missing = undo === undefined || ['unavailable', 'skipped'].includes(String(undo.kind));
  if (action.action === 'compensate' && missing) found.push(`6: ${name} without stored arguments`);
}

/** The earliest moment at which "absent" may be believed of the last attempt. */
function settledAt(action: Ledgered): number {
  return number(action.claims.at(-1)?.settleUntil) + SKEW_MS;
}

function outcome(event: Event, action: Ledgered, found: string[]): void {
  const nonce = nonceOf(event);
  const known = action.claims.some((claim) => nonceOf(claim) === nonce);
  const mark =
    event.type === 'step_committed' && event.attempt === 0 && action.action !== 'forward';
  const unclaimed = event.type === 'step_failed' && event.attempt === 0;
  if (!known && !mark && !unclaimed)
    found.push(`9: outcome ${event.seq} of an attempt nobody claimed`);
  if (event.type === 'late_evidence') return;
  const last = action.claims.at(-1);
  if (
    event.type !== 'step_committed' &&
    !unclaimed &&
    last !== undefined &&
    nonceOf(last) !== nonce
  )
    found.push(`7: outcome ${event.seq} of an older attempt speaks for a newer one`);
  if (event.type === 'step_committed') {
    if (action.committed !== undefined)
      found.push(`4: ${action.step}/${action.action} commits twice`);
    action.committed = event;
  }
  if (event.type === 'step_reconciled' && event.answer === 'absent') {
    if (action.claims.length > 0 && event.at < settledAt(action)) {
      found.push(`3: "absent" at ${event.seq} is believed inside the settle window`);
    }
  }
  action.outcomes.set(nonce, event);
}

function answered(event: Event, action: Ledgered, found: string[]): void {
  if (event.decision !== 'answer') return;
  const last = action.claims.at(-1);
  if (last !== undefined) action.outcomes.set(nonceOf(last), event);
  if (event.answer === 'committed') action.committed = event;
  if (event.answer === 'absent' && last !== undefined && event.at < settledAt(action)) {
    found.push(`3: a person's "absent" at ${event.seq} is taken inside the settle window`);
  }
}
