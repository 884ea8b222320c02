import { tenantFault } from '../access.ts';
import type { Problem } from '../language/problems.ts';
import type { SagaPlan } from '../plan/plan.ts';
import type { Cost } from './events.ts';

/** What the sagas of one tenant may hold at once. What is not named is not limited. */
export interface TenantBudget {
  /** Sagas that are not final yet. */
  readonly openSagas?: number;
  /**
   * What recovery of all open sagas together may cost, in minor units by currency (ISO 4217). Each saga
   * reserves its share when it starts and keeps it to its end. A currency not named is not limited.
   */
  readonly recoveryCostMinor?: Readonly<Record<string, number>>;
}

/** Budgets by tenant. `*` is for every tenant that is not named. */
export type TenantBudgetBook = Readonly<Record<string, TenantBudget>>;

/** The key of a {@link TenantBudgetBook} for every tenant that has none of its own. */
export const EVERY_TENANT = '*';

/** What a tenant's open sagas hold by now. */
export interface TenantUsage {
  readonly openSagas: number;
  readonly recoveryCostMinor: Readonly<Record<string, number>>;
}

export const NO_USAGE: TenantUsage = { openSagas: 0, recoveryCostMinor: {} };

export const TENANT_BUDGETS = ['open_sagas', 'recovery_cost'] as const;
export type TenantBudgetName = (typeof TENANT_BUDGETS)[number];

export function budgetOfTenant(book: TenantBudgetBook, tenant: string): TenantBudget | undefined {
  return Object.hasOwn(book, tenant) ? book[tenant] : book[EVERY_TENANT];
}

/** Which budget one saga more would exceed, or nothing. */
export function exceeded(
  usage: TenantUsage,
  reserve: Cost | undefined,
  budget: TenantBudget,
): TenantBudgetName | undefined {
  if (budget.openSagas !== undefined && usage.openSagas + 1 > budget.openSagas) return 'open_sagas';
  if (reserve === undefined || reserve.costMinor === 0) return undefined;
  const limit = limitIn(budget, reserve.currency);
  if (limit === undefined) return undefined;
  const reserved = usage.recoveryCostMinor[reserve.currency] ?? 0;
  return reserved + reserve.costMinor > limit ? 'recovery_cost' : undefined;
}

export function limitIn(budget: TenantBudget, currency: string): number | undefined {
  const limits = budget.recoveryCostMinor ?? {};
  return Object.hasOwn(limits, currency) ? limits[currency] : undefined;
}

/**
 * What a saga sets aside for its recovery when it starts: the estimates of all its steps, though never
 * more than recovery may spend without a person.
 */
export function recoveryReserve(plan: SagaPlan): Cost | undefined {
  const estimates = plan.steps.flatMap(({ estimate }) =>
    estimate === undefined ? [] : [estimate],
  );
  const currency = estimates[0]?.currency;
  if (currency === undefined) return undefined;
  const sum = estimates.reduce((total, estimate) => total + estimate.costMinor, 0);
  const costMinor = Math.min(sum, plan.ceiling?.costMinor ?? sum);
  return costMinor === 0 ? undefined : { costMinor, currency };
}

/** What keeps a book from being used. Types are not trusted: it may come from plain JavaScript. */
export function bookProblems(book: TenantBudgetBook): Problem[] {
  return Object.entries(book).flatMap(([tenant, budget]) => {
    const place = `the budget of tenant ${JSON.stringify(tenant)}`;
    const fault = tenantFault(tenant);
    const named: Problem[] =
      fault === undefined
        ? []
        : [
            {
              place,
              problem: `the tenant's name ${fault}`,
              remedy: 'Give the tenant another name',
            },
          ];
    return [...named, ...budgetProblems(budget, place)];
  });
}

function budgetProblems(budget: TenantBudget, place: string): Problem[] {
  const { openSagas, recoveryCostMinor = {}, ...rest } = budget;
  const problems: Problem[] = [];
  const add = (problem: string, remedy: string): void => {
    problems.push({ place, problem, remedy });
  };
  const whole = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 0;
  if (openSagas !== undefined && !whole(openSagas)) {
    add(`openSagas is ${JSON.stringify(openSagas)}`, 'Use a whole number, 0 or more');
  }
  for (const [currency, limit] of Object.entries(recoveryCostMinor)) {
    if (/^[A-Z]{3}$/.test(currency) && whole(limit)) continue;
    add(
      `recoveryCostMinor has ${JSON.stringify(currency)}: ${JSON.stringify(limit)}`,
      'Use `{ EUR: <whole cents, 0 or more> }` with ISO 4217 codes',
    );
  }
  for (const name of Object.keys(rest)) {
    add(`it limits ${JSON.stringify(name)}`, 'Use `openSagas` and `recoveryCostMinor`');
  }
  return problems;
}
