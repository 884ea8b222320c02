import type { AnySaga } from '../../statemachines/language/saga.ts';
import {
  budgetOfTenant,
  exceeded,
  limitIn,
  recoveryReserve,
  type TenantBudget,
  type TenantBudgetName,
} from '../../statemachines/rules/tenant-budget.ts';
import type { LedgerId } from '../ports/ledger-store.ts';
import type { SagaCharge } from '../ports/tenant-budgets.ts';
import type { WriteOptions } from '../runtime/saga-ledger.ts';
import type { Parts } from './parts.ts';
import { Problem } from './problems.ts';

/** How one start is charged to its tenant's budget, where the tenant has one. */
export interface Admission {
  /** Refuses a start that finds no room, before anything is written. @throws Problem `budget-spent` */
  look(): Promise<void>;
  /** For event 1. */
  readonly event: { readonly charged?: true };
  /** For the writer of event 1: charges the saga. @throws Problem `budget-spent` */
  readonly options: Pick<WriteOptions, 'admit'>;
}

const OPEN_TO_ALL: Admission = { look: async () => {}, event: {}, options: {} };

/** Sagas end in seconds or in days; somebody who asks again this soon does no harm. */
const ASK_AGAIN_MS = 10_000;

/** Charged once, by saga id: a start that is repeated is charged no second time. */
export function admissionOf(parts: Parts, { tenant, sagaId }: LedgerId, saga: AnySaga): Admission {
  const budget = budgetOfTenant(parts.tenants ?? {}, tenant);
  if (budget === undefined) return OPEN_TO_ALL;
  const { budgets } = parts.host.stores;
  const reserve = recoveryReserve(saga.plan);
  const charge: SagaCharge = { tenant, sagaId, ...(reserve === undefined ? {} : { reserve }) };
  const refused = (name: TenantBudgetName): Problem =>
    budgetSpent(name, budget, charge, parts.host.clock.now() + ASK_AGAIN_MS);
  return {
    look: async () => {
      const spent = exceeded(await budgets.usage(tenant), reserve, budget);
      // A start whose answer was lost may hold the very place that is missing.
      if (spent !== undefined && !(await budgets.isCharged(charge))) throw refused(spent);
    },
    event: { charged: true },
    options: {
      admit: async () => {
        const answer = await budgets.charge(charge, budget);
        if (answer.kind === 'refused') throw refused(answer.budget);
      },
    },
  };
}

function budgetSpent(
  name: TenantBudgetName,
  budget: TenantBudget,
  { reserve }: SagaCharge,
  until: number,
): Problem {
  switch (name) {
    case 'open_sagas':
      return new Problem(
        'budget-spent',
        `the tenant has as many open sagas as its budget allows (${budget.openSagas ?? 0})`,
        'send the same request again once others have ended; if that is too few, ask for a larger budget (openSagas)',
        { at: 'openSagas', until },
      );
    case 'recovery_cost': {
      const currency = reserve?.currency ?? '';
      const limit = limitIn(budget, currency) ?? 0;
      return new Problem(
        'budget-spent',
        `recovery of this saga may cost ${reserve?.costMinor ?? 0}, and with the tenant's open sagas more than its budget allows (${limit} ${currency}, minor units)`,
        'send the same request again once others have ended; if that is too little, ask for a larger budget (recoveryCostMinor)',
        { at: `recoveryCostMinor.${currency}`, until },
      );
    }
  }
}
