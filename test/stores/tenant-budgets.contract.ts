import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LedgerId } from '../../lambdas/ports/ledger-store.ts';
import type { SagaCharge, TenantBudgets } from '../../lambdas/ports/tenant-budgets.ts';
import { freshTenant, type OpenHarness, type StoreHarness } from './harness.ts';

/** What every store of tenants' budgets must do. */
export function tenantBudgetsContract(name: string, open: OpenHarness): void {
  describe(`tenant budgets: ${name}`, () => {
    let harness: StoreHarness;
    let budgets: TenantBudgets;
    beforeAll(async () => {
      harness = await open();
      budgets = harness.stores.budgets;
    });
    afterAll(() => harness.close());

    const saga = (tenant: string, sagaId: string): LedgerId => ({ tenant, sagaId });
    const costing = (id: LedgerId, costMinor: number, currency = 'EUR'): SagaCharge => ({
      ...id,
      reserve: { costMinor, currency },
    });

    test('a tenant without sagas holds nothing', async () => {
      expect(await budgets.usage(freshTenant())).toEqual({ openSagas: 0, recoveryCostMinor: {} });
    });

    test('a saga is charged once, however often it is asked', async () => {
      const tenant = freshTenant();
      const id = costing(saga(tenant, 's-1'), 30);
      for (let start = 0; start < 3; start += 1) {
        expect(await budgets.charge(id, { openSagas: 1 })).toEqual({ kind: 'charged' });
      }
      expect(await budgets.usage(tenant)).toEqual({
        openSagas: 1,
        recoveryCostMinor: { EUR: 30 },
      });
    });

    test('who is charged is known, by tenant and saga', async () => {
      const tenant = freshTenant();
      const id = saga(tenant, 's-1');
      expect(await budgets.isCharged(id)).toBe(false);
      await budgets.charge(id, {});
      expect(await budgets.isCharged(id)).toBe(true);
      expect(await budgets.isCharged(saga(tenant, 's-2'))).toBe(false);
      expect(await budgets.isCharged(saga(freshTenant(), 's-1'))).toBe(false);
      await budgets.giveBack(id);
      expect(await budgets.isCharged(id)).toBe(false);
    });

    test('a full budget refuses by name, until something is given back', async () => {
      const tenant = freshTenant();
      const budget = { openSagas: 2 };
      await budgets.charge(saga(tenant, 's-1'), budget);
      await budgets.charge(saga(tenant, 's-2'), budget);
      expect(await budgets.charge(saga(tenant, 's-3'), budget)).toEqual({
        kind: 'refused',
        budget: 'open_sagas',
      });
      expect(await budgets.charge(saga(tenant, 's-2'), budget)).toEqual({ kind: 'charged' });
      expect(await budgets.giveBack(saga(tenant, 's-1'))).toBe(true);
      expect(await budgets.charge(saga(tenant, 's-3'), budget)).toEqual({ kind: 'charged' });
      expect((await budgets.usage(tenant)).openSagas).toBe(2);
    });

    test('what a saga may cost is reserved, each currency for itself', async () => {
      const tenant = freshTenant();
      const budget = { recoveryCostMinor: { EUR: 100, USD: 10 } };
      const charge = (id: string, costMinor: number, currency: string) =>
        budgets.charge(costing(saga(tenant, id), costMinor, currency), budget);
      const refused = { kind: 'refused', budget: 'recovery_cost' };
      expect(await charge('a', 60, 'EUR')).toEqual({ kind: 'charged' });
      expect(await charge('b', 41, 'EUR')).toEqual(refused);
      expect(await charge('b', 40, 'EUR')).toEqual({ kind: 'charged' });
      expect(await charge('c', 11, 'USD')).toEqual(refused);
      expect(await charge('c', 10, 'USD')).toEqual({ kind: 'charged' });
      expect(await charge('d', 5_000, 'CHF')).toEqual({ kind: 'charged' });
      expect(await charge('e', 0, 'EUR')).toEqual({ kind: 'charged' });
      expect(await budgets.usage(tenant)).toEqual({
        openSagas: 5,
        recoveryCostMinor: { EUR: 100, USD: 10, CHF: 5_000 },
      });
    });

    test('a refused saga holds nothing', async () => {
      const tenant = freshTenant();
      const budget = { openSagas: 5, recoveryCostMinor: { EUR: 10 } };
      await budgets.charge(costing(saga(tenant, 'a'), 6), budget);
      await budgets.charge(costing(saga(tenant, 'b'), 6), budget);
      expect(await budgets.giveBack(saga(tenant, 'b'))).toBe(false);
      expect(await budgets.usage(tenant)).toEqual({ openSagas: 1, recoveryCostMinor: { EUR: 6 } });
    });

    test('a budget of nothing lets nobody in, also the first', async () => {
      const tenant = freshTenant();
      expect(await budgets.charge(saga(tenant, 'a'), { openSagas: 0 })).toEqual({
        kind: 'refused',
        budget: 'open_sagas',
      });
      const dear = costing(saga(tenant, 'b'), 8);
      expect(await budgets.charge(dear, { recoveryCostMinor: { EUR: 7 } })).toEqual({
        kind: 'refused',
        budget: 'recovery_cost',
      });
      expect((await budgets.usage(tenant)).openSagas).toBe(0);
    });

    test('giving back is done once, and gives back what was charged', async () => {
      const tenant = freshTenant();
      await budgets.charge(costing(saga(tenant, 'a'), 7), {});
      await budgets.charge(costing(saga(tenant, 'b'), 5, 'USD'), {});
      const given = await Promise.all([1, 2, 3].map(() => budgets.giveBack(saga(tenant, 'a'))));
      expect(given.filter(Boolean)).toHaveLength(1);
      expect(await budgets.giveBack(saga(tenant, 'a'))).toBe(false);
      expect(await budgets.giveBack(saga(tenant, 'never'))).toBe(false);
      const usage = await budgets.usage(tenant);
      expect(usage.openSagas).toBe(1);
      expect(usage.recoveryCostMinor.EUR ?? 0).toBe(0);
      expect(usage.recoveryCostMinor.USD).toBe(5);
    });

    test('of many at once, as many are let in as there is room for', async () => {
      const tenant = freshTenant();
      const ids = Array.from({ length: 12 }, (_, at) => saga(tenant, `s-${at % 10}`));
      const answers = await Promise.all(ids.map((id) => budgets.charge(id, { openSagas: 4 })));
      const admitted = new Set(
        ids.filter((_, at) => answers[at]?.kind === 'charged').map(({ sagaId }) => sagaId),
      );
      expect(admitted.size).toBe(4);
      expect((await budgets.usage(tenant)).openSagas).toBe(4);
    });

    test('one tenant knows nothing of another, whatever their names have in common', async () => {
      const tenant = freshTenant();
      const longer = `${tenant}#saga`;
      await budgets.charge(saga(tenant, 'a'), { openSagas: 1 });
      expect(await budgets.charge(saga(longer, 'a'), { openSagas: 1 })).toEqual({
        kind: 'charged',
      });
      expect(await budgets.giveBack(saga(longer, 'a'))).toBe(true);
      expect((await budgets.usage(tenant)).openSagas).toBe(1);
    });

    test.each([
      ['no tenant', () => budgets.usage(''), /tenant is empty/],
      ['no saga', () => budgets.giveBack(saga('t', '')), /sagaId is empty/],
      ['a fraction', () => budgets.charge(costing(saga('t', 's'), 0.5), {}), /is no amount/],
      ['no currency', () => budgets.charge(costing(saga('t', 's'), 5, 'euro'), {}), /is no amount/],
    ])('%s is refused in plain words', async (_, call, message) => {
      await expect(call()).rejects.toThrow(message);
    });
  });
}
