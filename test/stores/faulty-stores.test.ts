import { expect, test } from 'vitest';
import { StoreUnavailable } from '../../lambdas/ports/ledger-store.ts';
import { memoryStores } from '../../lambdas/stores/memory/open.ts';
import { faultyStores, type StoreCall } from '../../testing/faulty-stores.ts';
import { recordAt } from './harness.ts';
import { ledgerStoreContract } from './ledger-store.contract.ts';

const ledger = { tenant: 'acme', sagaId: 'saga-1' };

ledgerStoreContract('memory behind a plan without faults', async () => ({
  stores: faultyStores(memoryStores(), { onCall: () => undefined }),
  damagePayload: async () => undefined,
  close: async () => undefined,
}));

test('every operation is seen before and after, and counted once', async () => {
  const seen: StoreCall[] = [];
  const stores = faultyStores(memoryStores(), { onCall: (call) => void seen.push(call) });
  await stores.ledger.append(ledger, recordAt(1));
  await stores.ledger.read(ledger);
  await stores.ledger.head(ledger);
  const { digest } = await stores.payloads.put(ledger, 'x');
  await stores.payloads.get(ledger, digest);
  await stores.payloads.erase(ledger);
  await stores.registry.add({ ...ledger, dueAt: 1 });
  await stores.registry.due(1, 1);
  await stores.registry.remove({ ...ledger, dueAt: 1 });
  expect(stores.calls()).toBe(9);
  expect(seen.map((call) => `${call.index} ${call.store}.${call.operation} ${call.phase}`)).toEqual(
    [
      'ledger.append',
      'ledger.read',
      'ledger.head',
      'payloads.put',
      'payloads.get',
      'payloads.erase',
      'registry.add',
      'registry.due',
      'registry.remove',
    ].flatMap((call, at) => [`${at + 1} ${call} before`, `${at + 1} ${call} after`]),
  );
  expect(seen[0]?.args).toEqual([ledger, recordAt(1)]);
});

test.each([
  ['before', 0],
  ['after', 1],
] as const)('a fault %s the effect leaves %i records', async (phase, standing) => {
  const plain = memoryStores();
  const stores = faultyStores(plain, {
    async onCall(call) {
      if (call.index === 1 && call.phase === phase) throw new StoreUnavailable('planned');
    },
  });
  await expect(stores.ledger.append(ledger, recordAt(1))).rejects.toThrow('planned');
  expect(await plain.ledger.read(ledger)).toHaveLength(standing);
  expect(await stores.ledger.read(ledger)).toHaveLength(standing);
});
