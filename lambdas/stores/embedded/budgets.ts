import type { Cost } from '../../../statemachines/rules/events.ts';
import {
  exceeded,
  NO_USAGE,
  type TenantUsage,
} from '../../../statemachines/rules/tenant-budget.ts';
import type { ChargeAnswer, TenantBudgets } from '../../ports/tenant-budgets.ts';
import { checkedReserve, checkedTenant, ledgerKey } from '../checks.ts';
import { nameKey } from './keys.ts';
import { durable, type OpenTable, type Table } from './table.ts';

/** Under `tenant/sagaId` what the saga holds, under `tenant/` the sum: no saga id is empty. */
export function embeddedBudgets(open: OpenTable): TenantBudgets {
  return {
    async charge(charge, budget) {
      const key = nameKey(ledgerKey(charge));
      const reserve = checkedReserve(charge.reserve);
      return open.during((table) =>
        durable(
          table.transaction((): ChargeAnswer => {
            if (table.get(key) !== undefined) return { kind: 'charged' };
            const usage = usageOf(table, charge.tenant);
            const spent = exceeded(usage, reserve, budget);
            if (spent !== undefined) return { kind: 'refused', budget: spent };
            table.put(key, JSON.stringify(reserve ?? null));
            table.put(sumKey(charge.tenant), JSON.stringify(changed(usage, reserve, 1)));
            return { kind: 'charged' };
          }),
        ),
      );
    },

    async giveBack(saga) {
      const key = nameKey(ledgerKey(saga));
      return open.during(async (table) => {
        // Most sagas hold nothing, and a transaction is a write even where it changes nothing.
        if (table.get(key) === undefined) return false;
        return durable(
          table.transaction(() => {
            const held = table.get(key);
            if (held === undefined) return false;
            const reserve = (JSON.parse(held) as Cost | null) ?? undefined;
            const usage = usageOf(table, saga.tenant);
            table.remove(key);
            table.put(sumKey(saga.tenant), JSON.stringify(changed(usage, reserve, -1)));
            return true;
          }),
        );
      });
    },

    async isCharged(saga) {
      return open.now().get(nameKey(ledgerKey(saga))) !== undefined;
    },

    async usage(tenant) {
      return usageOf(open.now(), checkedTenant(tenant));
    },
  };
}

function usageOf(table: Table, tenant: string): TenantUsage {
  const sum = table.get(sumKey(tenant));
  return sum === undefined ? NO_USAGE : (JSON.parse(sum) as TenantUsage);
}

function changed(usage: TenantUsage, reserve: Cost | undefined, by: 1 | -1): TenantUsage {
  const { openSagas, recoveryCostMinor } = usage;
  if (reserve === undefined) return { openSagas: openSagas + by, recoveryCostMinor };
  const { currency, costMinor } = reserve;
  const held = (recoveryCostMinor[currency] ?? 0) + by * costMinor;
  return {
    openSagas: openSagas + by,
    recoveryCostMinor: { ...recoveryCostMinor, [currency]: held },
  };
}

function sumKey(tenant: string): Buffer {
  return nameKey(`${tenant}/`);
}
