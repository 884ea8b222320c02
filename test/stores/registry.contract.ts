import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Registry, RegistryEntry } from '../../lambdas/ports/registry.ts';
import type { OpenHarness, StoreHarness } from './harness.ts';

/** Sets the pace of the slowest store; the others do the same in a moment. */
const MANY = 300;

const LATEST_MS = 8_640_000_000_000_000;

/** What every registry must do. A registry has no partition per test, so each test has its own. */
export function registryContract(name: string, open: OpenHarness): void {
  describe(`registry: ${name}`, () => {
    let harness: StoreHarness;
    let registry: Registry;
    beforeEach(async () => {
      harness = await open();
      registry = harness.stores.registry;
    });
    afterEach(() => harness.close());

    const entry = (dueAt: number, sagaId = 'saga', tenant = 'acme'): RegistryEntry => ({
      tenant,
      sagaId,
      dueAt,
    });

    /** All pages; fails where a page is over the limit, or a cursor follows an empty page. */
    const allDue = async (untilMs: number, limit: number): Promise<RegistryEntry[]> => {
      const found: RegistryEntry[] = [];
      let cursor: string | undefined;
      do {
        const page = await registry.due(untilMs, limit, cursor);
        expect(page.entries.length).toBeLessThanOrEqual(limit);
        if (page.cursor !== undefined) expect(page.entries.length).toBeGreaterThan(0);
        found.push(...page.entries);
        cursor = page.cursor;
      } while (cursor !== undefined);
      return found;
    };

    const named = (entries: readonly RegistryEntry[]): string[] =>
      entries.map(({ tenant, sagaId, dueAt }) => `${dueAt} ${tenant}/${sagaId}`).sort();

    test('nothing is due in an empty registry', async () => {
      expect(await registry.due(LATEST_MS, 10)).toEqual({ entries: [] });
    });

    test('what is due now is found, what is due later is not', async () => {
      await registry.add(entry(1_000, 'early'));
      await registry.add(entry(2_000, 'now'));
      await registry.add(entry(2_001, 'later'));
      expect(named(await allDue(2_000, 10))).toEqual(['1000 acme/early', '2000 acme/now']);
      expect(await allDue(999, 10)).toEqual([]);
      expect(await allDue(-5, 10)).toEqual([]);
      expect(await allDue(Number.POSITIVE_INFINITY, 10)).toHaveLength(3);
    });

    test('due times order as numbers, over all shards', async () => {
      const times = [0, 5, 9, 10, 99, 100, 1e9, 1.7e12, 1.8e12, LATEST_MS];
      for (const [at, dueAt] of times.entries()) await registry.add(entry(dueAt, `saga-${at}`));
      const found = await allDue(LATEST_MS, 3);
      expect(found.map(({ dueAt }) => dueAt)).toEqual(times);
    });

    test('adding twice is one entry; two due times of a saga are two', async () => {
      await Promise.all([registry.add(entry(5)), registry.add(entry(5)), registry.add(entry(5))]);
      await registry.add(entry(7));
      expect(named(await allDue(10, 10))).toEqual(['5 acme/saga', '7 acme/saga']);
    });

    test('removing takes that entry and no other; removing nothing is fine', async () => {
      await registry.add(entry(5));
      await registry.add(entry(7));
      await registry.add(entry(5, 'saga', 'other'));
      await registry.remove(entry(5));
      await registry.remove(entry(5));
      await registry.remove(entry(6));
      expect(named(await allDue(10, 10))).toEqual(['5 other/saga', '7 acme/saga']);
      await registry.add(entry(5));
      expect(named(await allDue(10, 10))).toHaveLength(3);
    });

    test('many entries of one moment are all paged through once', async () => {
      const entries = Array.from({ length: MANY }, (_, at) =>
        entry(42, `saga-${at % 100}`, `t${at}`),
      );
      await inWidth(20, [...entries, ...entries.slice(0, 50)], (each) => registry.add(each));
      const found = await allDue(42, 37);
      expect(found).toHaveLength(MANY);
      expect(named(found)).toEqual(named(entries));
    });

    test('one saga with many due times fills a page by itself', async () => {
      const entries = Array.from({ length: 70 }, (_, at) => entry(at));
      await inWidth(20, [...entries, entry(35, 'other')], (each) => registry.add(each));
      const first = await registry.due(1_000, 50);
      expect(first.entries.map(({ dueAt }) => dueAt)).toEqual(
        [...entries.slice(0, 49), entry(35)].map(({ dueAt }) => dueAt).sort((a, b) => a - b),
      );
      const second = await registry.due(1_000, 50, first.cursor);
      expect(second.entries).toEqual(entries.slice(49));
      expect(second.cursor).toBeUndefined();
    });

    test('paging goes on while entries are removed behind it', async () => {
      const entries = Array.from({ length: 60 }, (_, at) => entry(at, `saga-${at}`));
      await inWidth(20, entries, (each) => registry.add(each));
      const seen: RegistryEntry[] = [];
      let cursor: string | undefined;
      do {
        const page = await registry.due(1_000, 7, cursor);
        seen.push(...page.entries);
        for (const each of page.entries) await registry.remove(each);
        cursor = page.cursor;
      } while (cursor !== undefined);
      expect(seen.map(({ dueAt }) => dueAt)).toEqual(entries.map(({ dueAt }) => dueAt));
      expect(await registry.due(1_000, 7)).toEqual({ entries: [] });
    });

    test('a page that ends with the last entry has no cursor', async () => {
      for (let at = 0; at < 6; at += 1) await registry.add(entry(at, `saga-${at}`));
      const first = await registry.due(10, 3);
      expect(first.entries).toHaveLength(3);
      const second = await registry.due(10, 3, first.cursor);
      expect(second.entries).toHaveLength(3);
      expect(second.cursor).toBeUndefined();
    });

    test('ids come back as they went in', async () => {
      const entries = [
        entry(1, 'a/b#c', 'tenant#1'),
        entry(1, '😀', 'Ü'),
        entry(1, 's'.repeat(450), 't'.repeat(449)),
      ];
      for (const each of entries) await registry.add(each);
      expect(named(await allDue(1, 1))).toEqual(named(entries));
    });

    test.each([
      ['an empty tenant', () => registry.add(entry(1, 's', '')), /tenant is empty/],
      ['an empty saga id', () => registry.remove(entry(1, '')), /sagaId is empty/],
      ['a due time before 1970', () => registry.add(entry(-1)), /dueAt is -1/],
      ['a fraction of a millisecond', () => registry.add(entry(1.5)), /dueAt is 1.5/],
      ['no due time', () => registry.add(entry(Number.NaN)), /dueAt is NaN/],
      ['no moment', () => registry.due(Number.NaN, 1), /untilMs is NaN/],
      ['limit 0', () => registry.due(1, 0), /limit is 0/],
      ['a made-up cursor', () => registry.due(1, 1, 'abc'), /cursor is damaged/],
      ['an empty cursor', () => registry.due(1, 1, ''), /cursor is damaged/],
    ])('%s is refused in plain words', async (_, call, message) => {
      await expect(call()).rejects.toThrow(message);
    });
  });
}

async function inWidth<T>(
  width: number,
  items: readonly T[],
  run: (item: T) => Promise<unknown>,
): Promise<void> {
  for (let at = 0; at < items.length; at += width) {
    await Promise.all(items.slice(at, at + width).map(run));
  }
}
