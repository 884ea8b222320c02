import { owes, type SagaFacts } from './facts.ts';
import type { CostFact } from './records.ts';

/** What undoing has cost and will cost, in the minor unit of the saga's one currency. */
export interface Spending {
  readonly spentMinor: number;
  /** The estimates of all that is still owed by the plan. */
  readonly owedMinor: number;
  /** By the ceiling, or by what a person allowed for this very plan. Absent: there is no limit. */
  readonly limitMinor: number | undefined;
  readonly currency: string | undefined;
}

export function spendingOf(facts: SagaFacts): Spending {
  const { plan } = facts;
  let spentMinor = 0;
  let paid: CostFact | undefined;
  for (const { recovery } of facts.steps.values()) {
    if (recovery?.known !== 'done') continue;
    const cost = recovery.commit?.cost as CostFact | undefined;
    // Where nobody told what it cost, or told it in other money, it cost what was said before.
    const { reserved = cost } = recovery;
    paid ??= reserved;
    const told = cost?.currency === reserved?.currency ? cost : reserved;
    spentMinor += told?.costMinor ?? 0;
  }
  let owedMinor = 0;
  for (const { step, estimate } of plan?.entries ?? []) {
    const named = facts.steps.get(step);
    if (named !== undefined && owes(named)) owedMinor += estimate?.costMinor ?? 0;
  }
  const currency = plan?.currency ?? paid?.currency;
  return { spentMinor, owedMinor, limitMinor: limitOf(facts), currency };
}

function limitOf({ first, plan, approval }: SagaFacts): number | undefined {
  const ceiling = first.ceiling as CostFact | undefined;
  if (ceiling === undefined || plan === undefined) return undefined;
  const sameMoney = plan.currency === undefined || plan.currency === ceiling.currency;
  const byItself = sameMoney ? ceiling.costMinor : 0;
  const allowed = approval?.planHash === plan.hash ? approval.maxCost.costMinor : 0;
  return Math.max(byItself, allowed);
}
