import { keptSteps } from './endings.ts';
import {
  type Actions,
  canonical,
  type EffectFact,
  type Event,
  isRecovered,
  type Ledgered,
  number,
  type PartnerFacts,
  SKEW_MS,
  stepsOf,
  undoOf,
} from './records.ts';
import { repeats } from './repeats.ts';

/** What the partners did, against what the ledger says: invariants 2, 4, 5, 6, 9 and 10. */
export function effects(
  events: readonly Event[],
  actions: Actions,
  partners: readonly PartnerFacts[],
  found: string[],
): void {
  const claims = events.filter((event) => event.type === 'step_claimed');
  for (const partner of partners) {
    calls(partner, claims, actions, found);
    repeats(partner, events, found);
  }
  const all = partners.flatMap((partner) => partner.effects);
  for (const action of actions.values()) actionEffects(action, events, actions, all, found);
  for (const effect of all) {
    if (effect.byHand === true) continue;
    const claim = claims.find((each) => each.correlationId === effect.correlationId);
    if (claim === undefined) found.push(`9: effect ${effect.id} has no claim`);
  }
}

/** A claim stands before its call, and an undo is called with what the commit keeps for it. */
function calls(
  partner: PartnerFacts,
  claims: readonly Event[],
  actions: Actions,
  found: string[],
): void {
  for (const call of partner.calls) {
    if (!call.writes) continue;
    const claim = claims.findLast(
      (each) =>
        each.key === call.key &&
        each.correlationId === call.correlationId &&
        // The claim is dated by a writer whose clock may be ahead.
        each.at <= call.at + SKEW_MS,
    );
    if (claim === undefined) {
      found.push(`9: ${partner.name} was called (${call.operation}) before a claim stood`);
      continue;
    }
    if (call.at > number(claim.deadlineAt) + SKEW_MS)
      found.push(`7: ${partner.name} was called (${call.operation}) after the claim's deadline`);
    const told = canonical(call.costLimit ?? null);
    const limits = claims.filter((each) => each.key === call.key).map((each) => each.costLimit);
    if (call.costLimit !== undefined && !limits.some((each) => canonical(each ?? null) === told))
      found.push(`13: ${partner.name} was told of the limit ${told}, which no claim names`);
    if (call.args === undefined) continue;
    const kept = undoOf(actions.get(`${String(claim.step)}/forward`)?.committed);
    const undoes = claim.action === 'compensate' || claim.action === 'supersede';
    if (undoes && kept?.kind === 'inline' && canonical(kept.value) !== canonical(call.args)) {
      found.push(
        `6: ${partner.name} was told to undo ${String(claim.step)} with other arguments than stored`,
      );
    }
  }
}

function actionEffects(
  action: Ledgered,
  events: readonly Event[],
  actions: Actions,
  all: readonly EffectFact[],
  found: string[],
): void {
  const last = events.at(-1);
  const made = all.filter((effect) => effect.correlationId === action.correlationId);
  const name = `${action.step}/${action.action}`;
  const visible =
    last?.state === 'incident' || events.some((event) => event.type === 'late_evidence');
  if (made.length > 1 && !visible) found.push(`4: ${name} took effect ${made.length} times`);
  if (made.length === 1) needless(action, events, found);
  if (action.action === 'compensate' && made.some((each) => each.reverses === undefined))
    found.push(`5: ${name} undid what had never happened`);
  if (action.action !== 'forward' || last === undefined) {
    recorded(action, made, found);
    return;
  }
  const { effect } = stepsOf(events).find((step) => step.name === action.step) ?? {};
  if (effect === 'read_only') return;
  recorded(action, made, found);
  const end = events.find((event) => event.state === 'compensated') ?? last;
  const kept = keptSteps(events, end).has(action.step);
  for (const each of made) {
    const undone = all.some((other) => other.reverses === each.id);
    const settled =
      effect === 'supersede' || isRecovered(action.step, last.seq + 1, events, actions);
    const reversed = undone || (settled && action.committed !== undefined);
    if (last.state === 'compensated' && !kept && !reversed) {
      found.push(`2: compensated, but ${each.id} of ${action.step} stands`);
    }
    if (last.state === 'compensated' && effect === 'irreversible') {
      found.push(`10: compensated, but ${each.id} of ${action.step} cannot be undone`);
    }
    if (last.state === 'completed' && undone) found.push(`3: completed, but ${each.id} was undone`);
  }
}

/** Nobody is called for a second effect where the one on record is all there is. */
function needless(
  { step, action, committed }: Ledgered,
  events: readonly Event[],
  found: string[],
): void {
  if (committed?.type !== 'step_committed' || committed.via === 'person') return;
  const late = events.find(
    (event) => event.type === 'late_evidence' && event.step === step && event.action === action,
  );
  if (late !== undefined)
    found.push(`4: ${step}/${action} took effect once, and ${late.seq} tells of a second effect`);
}

/** What the ledger calls done was done by somebody. */
function recorded(action: Ledgered, made: readonly EffectFact[], found: string[]): void {
  const { committed } = action;
  if (committed === undefined || committed.attempt === 0 || made.length > 0) return;
  if (committed.type === 'step_committed' && number(committed.attempt) > 0) {
    found.push(`5: ${action.step}/${action.action} is on record, but no partner made it`);
  }
}
