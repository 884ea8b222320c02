/**
 * Appends to the folder in argument 1 until the disk takes no more, then prints what stands. A
 * process of its own, so that its files can be limited.
 */
import { writeSync } from 'node:fs';
import { openEmbeddedStores } from '../../lambdas/stores/embedded/open.ts';

let unhandled = 0;
process.on('unhandledRejection', () => {
  unhandled += 1;
});

const stores = await openEmbeddedStores({ path: process.argv[2] ?? '' });
const ledger = { tenant: 'acme', sagaId: 'saga-1' };
let appended = 0;
let refusal: unknown;
while (refusal === undefined) {
  const seq = appended + 1;
  try {
    const record = { seq, body: 'x'.repeat(100_000), prev: '', hash: '', nonce: `${seq}` };
    await stores.ledger.append(ledger, record);
    appended = seq;
  } catch (error) {
    refusal = error;
  }
}
// Rejections nobody handles are told at the end of a turn.
await new Promise((resolve) => setImmediate(resolve));
const standing = (await stores.ledger.read(ledger)).length;
const name = refusal instanceof Error ? refusal.name : String(refusal);
await stores.close();
writeSync(1, JSON.stringify({ appended, standing, name, unhandled }));
