import type { Cost } from '../../../statemachines/rules/events.ts';
import { exceeded, type TenantUsage } from '../../../statemachines/rules/tenant-budget.ts';
import type { TenantBudgets } from '../../ports/tenant-budgets.ts';
import { checkedReserve, checkedTenant, ledgerKey } from '../checks.ts';

/** What each open saga holds, by tenant, then by saga id. */
export type MemoryBudgets = Map<string, Map<string, Cost | undefined>>;

export function memoryBudgets(charged: MemoryBudgets): TenantBudgets {
  return {
    async charge(charge, budget) {
      ledgerKey(charge);
      const { tenant, sagaId } = charge;
      const reserve = checkedReserve(charge.reserve);
      const held = charged.get(tenant) ?? new Map<string, Cost | undefined>();
      if (held.has(sagaId)) return { kind: 'charged' };
      const spent = exceeded(usageOf(held.values()), reserve, budget);
      if (spent !== undefined) return { kind: 'refused', budget: spent };
      held.set(sagaId, reserve);
      charged.set(tenant, held);
      return { kind: 'charged' };
    },

    async giveBack(saga) {
      ledgerKey(saga);
      return charged.get(saga.tenant)?.delete(saga.sagaId) ?? false;
    },

    async isCharged(saga) {
      ledgerKey(saga);
      return charged.get(saga.tenant)?.has(saga.sagaId) ?? false;
    },

    async usage(tenant) {
      return usageOf(charged.get(checkedTenant(tenant))?.values() ?? []);
    },
  };
}

function usageOf(held: Iterable<Cost | undefined>): TenantUsage {
  let openSagas = 0;
  const recoveryCostMinor: Record<string, number> = {};
  for (const reserve of held) {
    openSagas += 1;
    if (reserve === undefined) continue;
    const { currency, costMinor } = reserve;
    recoveryCostMinor[currency] = (recoveryCostMinor[currency] ?? 0) + costMinor;
  }
  return { openSagas, recoveryCostMinor };
}
