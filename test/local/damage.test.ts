import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineSaga, defineTool } from 'counterstep';
import { implementTool } from 'counterstep/lambda';
import { LOCAL_PRINCIPAL, openLocalPlane } from 'counterstep/local';
import { open } from 'lmdb';
import { afterEach, beforeEach, expect, test } from 'vitest';
import * as z from 'zod/mini';
import { systemClock } from '../../lambdas/ports/clock.ts';
import { recordKey } from '../../lambdas/stores/embedded/keys.ts';
import { openEmbeddedStores } from '../../lambdas/stores/embedded/open.ts';
import { TABLE_FORMAT } from '../../lambdas/stores/embedded/table.ts';
import { startEngine } from '../../local/engine.ts';

const call = { dedupe: 'none', timeoutMs: 1_000, settleMs: 0 } as const;
const send = defineTool({
  name: 'send',
  description: 'Sends something that cannot be called back.',
  effect: 'irreversible',
  input: z.object({ to: z.string() }),
  output: z.object({ sent: z.string() }),
  forward: call,
});
const saga = defineSaga(
  { name: 'letter', version: '1', input: z.object({ to: z.string() }) },
  (b) => b.step('send', send, { input: ({ input }) => ({ to: input.to }) }),
);

let folder: string;
let sent: string[];
const tool = implementTool(send, {
  forward: ({ to }) => {
    sent.push(to);
    return { sent: to };
  },
});

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'counterstep-damage-'));
  sent = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const plane = () => openLocalPlane({ sagas: [saga], tools: [tool], dataDir: folder, port: 0 });

/** Runs one saga to its end and closes the plane. */
async function completed(): Promise<string> {
  const running = await plane();
  const { id } = await running.service.start(LOCAL_PRINCIPAL, 'letter', 'k-1', '{"to":"x"}');
  await expect
    .poll(async () => (await running.service.get(LOCAL_PRINCIPAL, id)).state)
    .toBe('completed');
  await running.close();
  return id;
}

type Table = {
  remove(key: Buffer): Promise<boolean>;
  put(key: Buffer, value: string): Promise<boolean>;
};

/** What somebody with access to the files could do. */
async function tamper(change: (table: Table) => Promise<unknown>): Promise<void> {
  const root = open({ path: folder, noSubdir: false, maxDbs: 8, overlappingSync: false });
  await change(root.openDB({ name: 'ledger', ...TABLE_FORMAT }) as unknown as Table);
  await root.close();
}

const key = (id: string, seq: number): Buffer => recordKey(`local/${id}`, seq) as unknown as Buffer;

test('a saga whose tail was cut is not moved, whoever asks, and the verdict says so', async () => {
  const id = await completed();
  await tamper(async (table) => {
    for (const seq of [2, 3, 4]) await table.remove(key(id, seq));
  });
  const stores = await openEmbeddedStores({ path: folder });
  await stores.registry.add({ tenant: 'local', sagaId: id, dueAt: 1 });
  const later = { ...systemClock, now: () => Date.now() + 3_600_000 };
  const engine = await startEngine({
    sagas: [saga],
    tools: [tool],
    stores,
    heads: stores.openHeads(),
    ledgers: () => stores.ledger.ledgers(),
    clock: later,
  });
  expect(engine.damaged).toEqual([{ tenant: 'local', sagaId: id }]);
  expect((await engine.sweep.run()).damaged).toHaveLength(1);
  const ledger = { tenant: 'local', sagaId: id };
  const refused = engine.ledger.write(ledger, { kind: 'resume' }, { actor: 'test' });
  await expect(refused).rejects.toThrow('the ledger had 4 records');
  expect(await stores.ledger.read(ledger)).toHaveLength(1);
  await engine.close();
  await stores.close();

  const again = await plane();
  await expect(again.service.resume(LOCAL_PRINCIPAL, id, Buffer.from('{}'))).rejects.toThrow();
  const verdict = await again.service.verification(LOCAL_PRINCIPAL, id);
  expect(verdict).toMatchObject({ verdict: 'invalid', problem: 'cut_tail' });
  await again.close();
  expect(sent).toEqual(['x']);
});

test('one unreadable record leaves the plane up, and is named', async () => {
  const id = await completed();
  await tamper((table) => table.put(key(id, 4), '[1'));
  const running = await plane();
  await expect(running.service.get(LOCAL_PRINCIPAL, id)).rejects.toThrow('record 4');
  expect(await running.service.verification(LOCAL_PRINCIPAL, id)).toMatchObject({
    verdict: 'invalid',
    seq: 4,
  });
  const other = await running.service.start(LOCAL_PRINCIPAL, 'letter', 'k-2', '{"to":"y"}');
  await expect
    .poll(async () => (await running.service.get(LOCAL_PRINCIPAL, other.id)).state)
    .toBe('completed');
  await running.close();
});

test('a ledger that is wholly gone is not begun again under the same key', async () => {
  const id = await completed();
  await tamper(async (table) => {
    for (const seq of [1, 2, 3, 4]) await table.remove(key(id, seq));
  });
  const running = await plane();
  const again = running.service.start(LOCAL_PRINCIPAL, 'letter', 'k-1', '{"to":"x"}');
  await expect(again).rejects.toThrow('it is gone');
  await running.close();
  expect(sent).toEqual(['x']);
});
