import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { openLocalPlane } from 'counterstep/local';
import { failureMatrix } from 'counterstep/testing';
import { booked, bookSeatTool, trip } from './trip.js';

/**
 * One saga that completes and one that is undone, over the API; writes their ledgers to files. Then a part
 * of its failure matrix.
 */
const options = { sagas: [trip], tools: [bookSeatTool], dataDir: 'data', port: 0 };
const plane = await openLocalPlane(options);
try {
  assert.equal(await play('good', { out: 'a', back: 'b' }), 'completed');
  assert.deepEqual([...booked], ['a', 'b']);
  assert.equal(await play('bad', { out: 'c', back: 'full' }), 'compensated');
  assert.deepEqual([...booked], ['a', 'b']);
} finally {
  await plane.close();
}

const { cells } = await failureMatrix(trip, { only: 'back: ' });
assert.ok(cells.length > 10);

async function play(key, input) {
  const started = await fetch(`${plane.url}/v1/sagas/trip`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify(input),
  });
  assert.equal(started.status, 202);
  const { id } = await started.json();
  for (;;) {
    const { state } = await (await fetch(`${plane.url}/v1/sagas/${id}`)).json();
    if (['completed', 'compensated', 'incident', 'needs_review'].includes(state)) {
      const ledger = await fetch(`${plane.url}/v1/sagas/${id}/ledger?format=ndjson`);
      await writeFile(`${key}.ndjson`, await ledger.text());
      return state;
    }
    await sleep(50);
  }
}
