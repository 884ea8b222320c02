import { allowedMinor, owedMinor, spentOnRecovery } from './recovery-gate.ts';
import type { SagaState } from './state.ts';
import { isDone } from './view.ts';

/** What undoing costs, in the minor unit of the saga's one currency. */
export interface RecoveryCost {
  /** As providers told; what one told nothing of counts as estimated. */
  readonly spentMinor: number;
  /** Set aside for what is still to be undone. */
  readonly reservedMinor: number;
  /** By the ceiling, or by a person's approval. Absent: no limit was set. */
  readonly limitMinor?: number;
  /** What was spent beyond that limit. */
  readonly overLimitMinor?: number;
  readonly currency: string;
}

/** Nothing where no recovery is planned, or none of it costs anything. */
export function recoveryCostOf(state: SagaState): RecoveryCost | undefined {
  const spentMinor = spentOnRecovery(state);
  const currency = state.plan?.currency ?? currencySpent(state);
  if (state.plan === undefined || currency === undefined) return undefined;
  const limitMinor = allowedMinor(state);
  const over = limitMinor === undefined ? 0 : spentMinor - limitMinor;
  return {
    spentMinor,
    reservedMinor: owedMinor(state),
    ...(limitMinor === undefined ? {} : { limitMinor }),
    ...(over > 0 ? { overLimitMinor: over } : {}),
    currency,
  };
}

function currencySpent(state: SagaState): string | undefined {
  for (const { recovery } of state.steps.values()) {
    if (!isDone(recovery)) continue;
    const cost = recovery?.reserved ?? recovery?.commit?.cost;
    if (cost !== undefined) return cost.currency;
  }
  return undefined;
}
