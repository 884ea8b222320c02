import { expect, test } from 'vitest';
import { memoryStores } from '../../lambdas/stores/memory/open.ts';
import { breakerLedgerContract } from './breaker-ledger.contract.ts';
import type { StoreHarness } from './harness.ts';
import { headsContract } from './heads.contract.ts';
import { ledgerStoreContract } from './ledger-store.contract.ts';
import { payloadStoreContract } from './payload-store.contract.ts';
import { registryContract } from './registry.contract.ts';
import { tenantBudgetsContract } from './tenant-budgets.contract.ts';

async function open(): Promise<StoreHarness> {
  const stores = memoryStores();
  return {
    stores,
    async damagePayload({ tenant, sagaId }, digest) {
      const ofSaga = stores.held.payloads.get(`${tenant}/${sagaId}`);
      const payload = ofSaga?.get(digest);
      if (payload?.kind !== 'kept') throw new Error('nothing to damage');
      ofSaga?.set(digest, { ...payload, text: payload.text.replace('4', '9') });
    },
    async close() {},
  };
}

ledgerStoreContract('memory', open);
payloadStoreContract('memory', open);
registryContract('memory', open);
tenantBudgetsContract('memory', open);
breakerLedgerContract('memory', open);
headsContract('memory', async () => ({ heads: memoryStores().openHeads(), close: async () => {} }));

test('a run repeats under the same entropy', async () => {
  const run = async (): Promise<string[]> => {
    let drawn = 0;
    const entropy = {
      nonce: () => {
        drawn += 1;
        return `nonce-${drawn}`;
      },
      fraction: () => 0,
    };
    const { payloads } = memoryStores({ entropy });
    const ledger = { tenant: 't', sagaId: 's' };
    return [await payloads.put(ledger, 'a'), await payloads.put(ledger, 'a')].map(
      (ref) => ref.digest,
    );
  };
  expect(await run()).toEqual(await run());
});
