import { describe, expect, it } from 'vitest';
import {
  bookProblems,
  budgetOfTenant,
  exceeded,
  NO_USAGE,
  recoveryReserve,
  type TenantBudgetBook,
} from '../../statemachines/rules/tenant-budget.ts';
import { sagaOf } from '../support/saga-builder.ts';

const eur = (costMinor: number) => ({ costMinor, currency: 'EUR' });

describe("a tenant's budget", () => {
  it('is its own, else that of every tenant, else none', () => {
    const own = { openSagas: 1 };
    const rest = { openSagas: 9 };
    expect(budgetOfTenant({ acme: own, '*': rest }, 'acme')).toBe(own);
    expect(budgetOfTenant({ acme: own, '*': rest }, 'umbra')).toBe(rest);
    expect(budgetOfTenant({ acme: own }, 'umbra')).toBeUndefined();
    expect(budgetOfTenant({}, 'constructor')).toBeUndefined();
  });

  it('is exceeded by the saga that is one too many', () => {
    const usage = { openSagas: 2, recoveryCostMinor: { EUR: 90 } };
    expect(exceeded(usage, undefined, { openSagas: 3 })).toBeUndefined();
    expect(exceeded(usage, undefined, { openSagas: 2 })).toBe('open_sagas');
    expect(exceeded(usage, eur(10), { recoveryCostMinor: { EUR: 100 } })).toBeUndefined();
    expect(exceeded(usage, eur(11), { recoveryCostMinor: { EUR: 100 } })).toBe('recovery_cost');
    expect(exceeded(usage, eur(11), { recoveryCostMinor: { USD: 0 } })).toBeUndefined();
    expect(exceeded(usage, eur(0), { recoveryCostMinor: { EUR: 0 } })).toBeUndefined();
    expect(exceeded(NO_USAGE, undefined, { openSagas: 0 })).toBe('open_sagas');
    expect(exceeded(usage, eur(1_000_000), {})).toBeUndefined();
  });
});

describe('what a saga reserves for its recovery', () => {
  const costly = (ceiling?: number) =>
    sagaOf(
      [
        { name: 'a', effect: 'reversible_with_cost', costMinor: 300 },
        { name: 'b', effect: 'reversible_with_cost', costMinor: 200 },
        { name: 'c' },
      ],
      ceiling === undefined ? {} : { recovery: { ceiling: eur(ceiling) } },
    ).plan;

  it('is what all its recoveries are estimated at', () => {
    expect(recoveryReserve(costly())).toEqual(eur(500));
  });

  it('is no more than recovery may spend without a person', () => {
    expect(recoveryReserve(costly(350))).toEqual(eur(350));
    expect(recoveryReserve(costly(9_000))).toEqual(eur(500));
    expect(recoveryReserve(costly(0))).toBeUndefined();
  });

  it('is nothing where recovery costs nothing', () => {
    expect(recoveryReserve(sagaOf([{ name: 'a' }]).plan)).toBeUndefined();
  });
});

describe('a book of budgets', () => {
  it('is checked as a whole, each problem with its remedy', () => {
    const book = {
      'a/b': { openSagas: 1 },
      acme: { openSagas: -1, recoveryCostMinor: { euro: 5, USD: 0.5 } },
      umbra: { sagas: 4 },
      '*': { openSagas: 0, recoveryCostMinor: { EUR: 0 } },
    } as unknown as TenantBudgetBook;
    expect(bookProblems(book).map(({ place, problem }) => `${place}: ${problem}`)).toEqual([
      'the budget of tenant "a/b": the tenant\'s name holds a "/"',
      'the budget of tenant "acme": openSagas is -1',
      'the budget of tenant "acme": recoveryCostMinor has "euro": 5',
      'the budget of tenant "acme": recoveryCostMinor has "USD": 0.5',
      'the budget of tenant "umbra": it limits "sagas"',
    ]);
    expect(bookProblems({ acme: { openSagas: 5 }, '*': {} })).toEqual([]);
  });
});
