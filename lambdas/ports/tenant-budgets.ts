import type { Cost } from '../../statemachines/rules/events.ts';
import type {
  TenantBudget,
  TenantBudgetName,
  TenantUsage,
} from '../../statemachines/rules/tenant-budget.ts';
import type { LedgerId } from './ledger-store.ts';

/**
 * What each tenant's open sagas hold. Charged once for a saga, however often its start is repeated.
 * Provided by the same three stores; contract: `test/stores/tenant-budgets.contract.ts`.
 */
export interface TenantBudgets {
  /**
   * Charges the saga if its tenant's budget allows, and only once: charging it again answers `charged`.
   * Of many at once, no more are charged than the budget allows. Durable before it resolves.
   * @throws StoreUnavailable when it may or may not be charged: charge again
   */
  charge(charge: SagaCharge, budget: TenantBudget): Promise<ChargeAnswer>;
  /**
   * Gives back what the saga holds. Safe to repeat, and for sagas that were never charged.
   * @returns whether it held anything
   * @throws StoreUnavailable
   */
  giveBack(saga: LedgerId): Promise<boolean>;
  /** Whether the saga is charged by now. */
  isCharged(saga: LedgerId): Promise<boolean>;
  /** What the tenant holds by now. May be a moment old: only `charge` decides. */
  usage(tenant: string): Promise<TenantUsage>;
}

export interface SagaCharge extends LedgerId {
  /** What its recovery may cost. */
  readonly reserve?: Cost;
}

export type ChargeAnswer =
  | { readonly kind: 'charged' }
  | { readonly kind: 'refused'; readonly budget: TenantBudgetName };
