import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open as openLmdb } from 'lmdb';
import { afterAll, describe, expect, test } from 'vitest';
import { type EmbeddedStores, openEmbeddedStores } from '../../lambdas/stores/embedded/open.ts';
import { breakerLedgerContract } from './breaker-ledger.contract.ts';
import { type OpenHarness, recordAt } from './harness.ts';
import { headsContract } from './heads.contract.ts';
import { ledgerStoreContract } from './ledger-store.contract.ts';
import { payloadStoreContract } from './payload-store.contract.ts';
import { registryContract } from './registry.contract.ts';
import { tenantBudgetsContract } from './tenant-budgets.contract.ts';

const scratch = mkdtempSync(join(tmpdir(), 'counterstep-embedded-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

let folders = 0;
function freshFolder(): string {
  folders += 1;
  return join(scratch, `data.${folders}`);
}

const openHarness: OpenHarness = async () => {
  const path = freshFolder();
  const stores = await openEmbeddedStores({ path });
  return {
    stores,
    async damagePayload({ tenant, sagaId }, digest) {
      // lmdb admits a second opening of the same file, past our lock.
      const root = openLmdb({ path, noSubdir: false, overlappingSync: false, maxDbs: 8 });
      const table = root.openDB<string, Buffer>({
        name: 'payloads',
        encoding: 'string',
        keyEncoding: 'binary',
      });
      const key = Buffer.from(`${tenant}/${sagaId}\u0000${digest}`);
      const stored = table.get(key) ?? '';
      const at = stored.indexOf('\n') + 3;
      await table.put(key, `${stored.slice(0, at)}!${stored.slice(at + 1)}`);
      await root.close();
    },
    close: () => stores.close(),
  };
};

ledgerStoreContract('embedded', openHarness);
payloadStoreContract('embedded', openHarness);
registryContract('embedded', openHarness);
tenantBudgetsContract('embedded', openHarness);
breakerLedgerContract('embedded', openHarness);
headsContract('embedded', async () => {
  const stores = await openEmbeddedStores({ path: freshFolder() });
  return { heads: stores.openHeads(), close: () => stores.close() };
});

describe('embedded stores', () => {
  const ledger = { tenant: 'acme', sagaId: 'saga-1' };

  const within = async <T>(
    path: string,
    use: (stores: EmbeddedStores) => Promise<T>,
  ): Promise<T> => {
    const stores = await openEmbeddedStores({ path });
    try {
      return await use(stores);
    } finally {
      await stores.close();
    }
  };

  test('everything is there again after closing and opening', async () => {
    const path = freshFolder();
    const entry = { ...ledger, dueAt: 5 };
    const head = { ...ledger, seq: 1, hash: 'hash-1', json: '{}' };
    const digest = await within(path, async (stores) => {
      await stores.ledger.append(ledger, recordAt(1));
      await stores.registry.add(entry);
      await stores.openHeads().set([head]);
      return (await stores.payloads.put(ledger, 'kept')).digest;
    });
    await within(path, async (stores) => {
      expect(await stores.ledger.read(ledger)).toEqual([recordAt(1)]);
      expect(await stores.registry.due(10, 10)).toEqual({ entries: [entry] });
      expect(stores.openHeads().get(ledger)).toEqual(head);
      expect(await stores.payloads.get(ledger, digest)).toEqual({ kind: 'found', text: 'kept' });
    });
  });

  test('closing finishes what was begun, also heads nobody waits for', async () => {
    const path = freshFolder();
    const stores = await openEmbeddedStores({ path });
    const heads = stores.openHeads();
    const appends = [1, 2, 3, 3].map((seq) => stores.ledger.append(ledger, recordAt(seq)));
    for (let seq = 1; seq <= 50; seq += 1) {
      void heads.set([{ ...ledger, seq, hash: `hash-${seq}`, json: '{}' }]);
    }
    await Promise.all([stores.close(), stores.close()]);
    expect((await Promise.all(appends)).map((result) => result.kind)).toEqual([
      'appended',
      'appended',
      'appended',
      'conflict',
    ]);
    await within(path, async (again) => {
      expect(await again.ledger.read(ledger)).toHaveLength(3);
      expect(again.openHeads().get(ledger)?.seq).toBe(50);
    });
  });

  test('closing right after heads were set keeps them', async () => {
    const path = freshFolder();
    const stores = await openEmbeddedStores({ path });
    const heads = stores.openHeads();
    const head = (seq: number) => ({ ...ledger, seq, hash: `hash-${seq}`, json: '{}' });
    const writes = [heads.set([head(1)])];
    await new Promise((resolve) => setImmediate(resolve));
    for (let seq = 2; seq <= 9; seq += 1) writes.push(heads.set([head(seq)]));
    await stores.close();
    await Promise.all(writes);
    await within(path, async (again) => expect(again.openHeads().get(ledger)).toEqual(head(9)));
  });

  test('after closing, calls say so', async () => {
    const path = freshFolder();
    const stores = await openEmbeddedStores({ path });
    const heads = stores.openHeads();
    await stores.close();
    const closed = new RegExp(`stores in ${path} were closed: open them again`);
    await expect(stores.ledger.append(ledger, recordAt(1))).rejects.toThrow(closed);
    await expect(stores.ledger.read(ledger)).rejects.toThrow(closed);
    await expect(stores.registry.due(1, 1)).rejects.toThrow(closed);
    await expect(stores.payloads.put(ledger, 'x')).rejects.toThrow(closed);
    expect(() => heads.get(ledger)).toThrow(closed);
    expect(() => stores.openHeads()).toThrow(closed);
    expect(() => [...stores.ledger.ledgers()]).toThrow(closed);
  });

  test('all ledgers are listed once, in order, however long they are', async () => {
    await within(freshFolder(), async (stores) => {
      expect([...stores.ledger.ledgers()]).toEqual([]);
      const ids = ['a/x', 'a/x/', 'a/x1', 'a/y', 'aa/x', 'b/é', 'b/😀'];
      for (const id of [...ids].reverse()) {
        const [tenant = '', ...rest] = id.split('/');
        const of = { tenant, sagaId: rest.join('/') };
        for (const seq of [1, 2, 300]) await stores.ledger.append(of, recordAt(seq));
      }
      expect([...stores.ledger.ledgers()].map((id) => `${id.tenant}/${id.sagaId}`)).toEqual(ids);
    });
  });

  test('dropping the heads leaves the ledger alone', async () => {
    await within(freshFolder(), async (stores) => {
      await stores.ledger.append(ledger, recordAt(1));
      const heads = stores.openHeads();
      expect(stores.openHeads()).toBe(heads);
      await heads.set([{ ...ledger, seq: 1, hash: 'h', json: '{}' }]);
      await heads.clear();
      expect(await stores.ledger.head(ledger)).toEqual(recordAt(1));
    });
  });
});
