/**
 * Appends to the folder in argument 1 until it is killed, from several writers at once, and prints
 * one line per acknowledged append. A process of its own, for tests that end it the hard way.
 */
import { writeSync } from 'node:fs';
import { openEmbeddedStores } from '../../lambdas/stores/embedded/open.ts';

const stores = await openEmbeddedStores({ path: process.argv[2] ?? '' });
const heads = stores.openHeads();
writeSync(1, 'open\n');

async function write(writer: number): Promise<void> {
  const ledger = { tenant: 'acme', sagaId: `saga-${writer}` };
  let seq = (await stores.ledger.head(ledger))?.seq ?? 0;
  for (;;) {
    seq += 1;
    const { digest } = await stores.payloads.put(ledger, `payload ${writer} ${seq}`);
    await stores.registry.add({ ...ledger, dueAt: seq });
    const record = { seq, body: digest, prev: `${seq - 1}`, hash: `${seq}`, nonce: `${writer}` };
    await stores.ledger.append(ledger, record);
    void heads.set([{ ...ledger, seq, hash: `${seq}`, json: '{}' }]);
    writeSync(1, `${writer} ${seq} ${digest}\n`);
  }
}

await Promise.all([write(1), write(2), write(3), write(4)]);
