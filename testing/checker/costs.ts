import { owes, SagaFacts } from './facts.ts';
import {
  type Actions,
  type CostFact,
  canonical,
  type Event,
  number,
  type PartnerFacts,
} from './records.ts';
import type { PlanFact } from './recovery.ts';
import { spendingOf } from './spending.ts';

/**
 * Invariant 13, as far as it is about money: recovery spends no more than its ceiling, or than a person
 * allowed for the plan that runs; what each undo cost is on record as the partner took it.
 */
export function costs(
  events: readonly Event[],
  actions: Actions,
  partners: readonly PartnerFacts[] | undefined,
  found: string[],
): void {
  const [first, ...rest] = events;
  // Most sagas have nothing to undo, and no price.
  if (first === undefined || !rest.some(isAboutMoney)) return;
  const facts = new SagaFacts(first);
  for (const event of rest) {
    switch (event.type) {
      case 'recovery_planned':
        planned(event, facts, events, partners, found);
        break;
      case 'step_claimed':
        if (event.action !== 'forward') reserved(event, facts, found);
        break;
      case 'step_committed':
        overshot(event, facts, found);
        break;
      case 'review_opened':
        asked(event, facts, found);
        break;
      case 'review_decided':
        if (event.decision === 'approve') approved(event, facts, found);
    }
    facts.apply(event);
  }
  if (partners !== undefined) charged(events, actions, partners, found);
}

function isAboutMoney(event: Event): boolean {
  return event.type === 'recovery_planned' || event.cost !== undefined;
}

/** A plan counts what each of its undos is said to cost, and leaves no call out that a contract declares. */
function planned(
  event: Event,
  { steps }: SagaFacts,
  events: readonly Event[],
  partners: readonly PartnerFacts[] = [],
  found: string[],
): void {
  const { entries, estimateMinor } = event.plan as PlanFact;
  const sum = entries.reduce((all, { estimate }) => all + (estimate?.costMinor ?? 0), 0);
  if (sum !== estimateMinor)
    found.push(`13: plan ${event.seq} costs ${sum}, and says ${String(estimateMinor)}`);
  // Later code may have other contracts than the partners knew at first.
  if (events.some((each) => each.planDigest !== undefined && each.seq > 1)) return;
  for (const { step, action, mark, estimate } of entries) {
    const { recovery } = partners.find(({ name }) => name === steps.get(step)?.tool) ?? {};
    if (recovery === undefined || action === 'person' || action === 'none') continue;
    if (mark === true)
      found.push(`13: plan ${event.seq} only marks ${step}, which has a call for its ${action}`);
    const should = textOf(recovery.estimate);
    if (textOf(estimate) !== should)
      found.push(
        `13: plan ${event.seq} sets ${textOf(estimate)} aside for ${step}, whose ${action} costs ${should}`,
      );
  }
}

/** Nothing that costs is undone but within what recovery may spend, the shares of all others left aside. */
function reserved(event: Event, facts: SagaFacts, found: string[]): void {
  const { seq, reserved: own, costLimit } = event;
  const step = String(event.step);
  const estimate = facts.plan?.entries.find((entry) => entry.step === step)?.estimate;
  if (textOf(own) !== textOf(estimate))
    found.push(
      `13: claim ${seq} sets ${textOf(own)} aside for ${step}, its plan ${textOf(estimate)}`,
    );
  const { spentMinor, owedMinor, limitMinor } = spendingOf(facts);
  if (estimate === undefined || limitMinor === undefined) {
    if (costLimit !== undefined)
      found.push(`13: claim ${seq} of ${step} names a limit, where there is none`);
    return;
  }
  const allMinor = spentMinor + owedMinor;
  if (allMinor > limitMinor && estimate.costMinor > 0)
    found.push(
      `13: ${step} is recovered at ${seq}, all for up to ${allMinor}, and ${limitMinor} is allowed`,
    );
  const othersMinor = owedMinor - estimate.costMinor;
  const costMinor = Math.max(0, limitMinor - spentMinor - othersMinor);
  const limit = textOf({ costMinor, currency: estimate.currency });
  if (textOf(costLimit) !== limit)
    found.push(`13: claim ${seq} of ${step} may cost ${textOf(costLimit)}, and ${limit} is left`);
}

/** What an undo cost beyond what was set aside for it is said so, and no other amount. */
function overshot(event: Event, { steps }: SagaFacts, found: string[]): void {
  const recovery = steps.get(String(event.step))?.recovery;
  const aside = recovery?.action === event.action ? recovery?.reserved : undefined;
  const cost = event.cost as CostFact | undefined;
  let over: CostFact | undefined;
  if (aside !== undefined && cost !== undefined) {
    const covered = cost.currency === aside.currency ? aside.costMinor : 0;
    if (cost.costMinor > covered)
      over = { costMinor: cost.costMinor - covered, currency: cost.currency };
  }
  if (textOf(over) !== textOf(event.overshoot))
    found.push(
      `13: commit ${event.seq} of ${String(event.step)} overshoots by ${textOf(over)}, and says ${textOf(event.overshoot)}`,
    );
}

/** A person is asked about the plan that runs, and told what it costs in all. */
function asked(event: Event, facts: SagaFacts, found: string[]): void {
  const { spentMinor, owedMinor, limitMinor } = spendingOf(facts);
  const allMinor = spentMinor + owedMinor;
  const maxCost = event.maxCost as CostFact | undefined;
  if (maxCost !== undefined && maxCost.costMinor !== allMinor)
    found.push(`13: review ${event.seq} names ${maxCost.costMinor}, and ${allMinor} is needed`);
  if (event.planHash !== facts.plan?.hash)
    found.push(`13: review ${event.seq} is not about the plan that runs`);
  if (event.reason !== 'cost_ceiling') return;
  if (maxCost === undefined) found.push(`13: review ${event.seq} names no cost`);
  if (limitMinor === undefined || allMinor <= limitMinor)
    found.push(`13: review ${event.seq} asks about ${allMinor}, which is allowed`);
}

function approved(event: Event, facts: SagaFacts, found: string[]): void {
  const { spentMinor, owedMinor } = spendingOf(facts);
  const { costMinor } = event.maxCost as CostFact;
  if (event.planHash !== facts.plan?.hash)
    found.push(`13: approval ${event.seq} is not for the plan that runs`);
  if (costMinor < spentMinor + owedMinor)
    found.push(`13: approval ${event.seq} does not cover ${spentMinor + owedMinor}`);
}

/** What the ledger says a call cost is what the partner took for it. */
function charged(
  events: readonly Event[],
  actions: Actions,
  partners: readonly PartnerFacts[],
  found: string[],
): void {
  for (const event of events) {
    if (event.type !== 'step_committed' || event.via === 'person') continue;
    const action = actions.get(`${String(event.step)}/${String(event.action)}`);
    if (action === undefined || !(number(event.attempt) > 0)) continue;
    const made = partners.flatMap(({ effects }) =>
      effects.filter((each) => each.correlationId === action.correlationId),
    );
    const noted = made.filter(({ cost }) => cost !== undefined);
    if (noted.length === 0) continue;
    const says = textOf(event.cost);
    if (!noted.some(({ cost }) => textOf(cost) === says))
      found.push(
        `13: commit ${event.seq} of ${action.step}/${action.action} cost ${says}, and its partner took ${textOf(noted[0]?.cost)}`,
      );
  }
}

function textOf(cost: unknown): string {
  return cost === undefined || cost === null ? 'nothing' : canonical(cost);
}

/**
 * What a contract can contain is contained by the time a saga that failed is called an incident. One that
 * went its way, and is an incident for an effect heard of late, has nothing to contain. Invariant 10.
 */
export function contained(
  events: readonly Event[],
  partners: readonly PartnerFacts[],
  found: string[],
): void {
  const end = events.find((event) => event.type === 'incident_opened');
  const [first] = events;
  if (first === undefined || end === undefined || end.reason === 'damaged') return;
  const facts = new SagaFacts(first);
  for (const event of events.slice(1)) if (event.seq <= end.seq) facts.apply(event);
  // What the pivot made void is no failure: then the plan of it counts for nothing either.
  if (facts.halt === undefined && end.reason === 'late_evidence') return;
  for (const step of facts.steps.values()) {
    const { recovery } = partners.find(({ name }) => name === step.tool) ?? {};
    if (step.effect !== 'irreversible' || recovery === undefined) continue;
    const called = (step.recovery?.attempts ?? 0) > 0 || step.resolved !== undefined;
    if (owes(step) || !called)
      if (step.forward.known === 'done')
        found.push(`10: incident at ${end.seq}, and ${step.name} was never contained`);
  }
}
