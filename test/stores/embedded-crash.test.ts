import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { open } from 'lmdb';
import { afterAll, afterEach, expect, test } from 'vitest';
import { openEmbeddedStores } from '../../lambdas/stores/embedded/open.ts';
import { recordAt } from './harness.ts';

const scratch = mkdtempSync(join(tmpdir(), 'counterstep-crash-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const children = new Set<ChildProcess>();
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
});

interface Appender {
  readonly child: ChildProcess;
  /** Acknowledged appends so far, as `writer seq digest`. */
  readonly acked: string[];
  /** Resolves when that many are acknowledged; 0 when the folder is open. */
  reached(count: number): Promise<void>;
  /** kill -9, then everything it had printed. */
  kill(): Promise<void>;
}

function nodeArguments(script: string, folder: string): string[] {
  const path = fileURLToPath(new URL(script, import.meta.url));
  return ['--conditions=counterstep-source', '--import', 'tsx', path, folder];
}

function startAppender(folder: string): Appender {
  const child = spawn(process.execPath, nodeArguments('./append-forever.ts', folder), {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.add(child);
  const lines = createInterface({ input: child.stdout });
  const ended = once(lines, 'close');
  const acked: string[] = [];
  let isOpen = false;
  const waiting = new Set<() => void>();
  lines.on('line', (line) => {
    if (line === 'open') isOpen = true;
    else acked.push(line);
    for (const check of waiting) check();
  });
  return {
    child,
    acked,
    reached: (count) =>
      new Promise((done, fail) => {
        const check = (): void => {
          if (!isOpen || acked.length < count) return;
          waiting.delete(check);
          done();
        };
        waiting.add(check);
        child.once('exit', () => fail(new Error('the appender ended by itself')));
        check();
      }),
    async kill() {
      child.kill('SIGKILL');
      await ended;
      children.delete(child);
    },
  };
}

test('after kill -9 every acknowledged write stands, without a gap, and the folder opens', async () => {
  const folder = join(scratch, 'killed');
  const acked: string[] = [];
  for (const target of [200, 60, 120]) {
    const appender = startAppender(folder);
    await appender.reached(target);
    await appender.kill();
    acked.push(...appender.acked);

    const stores = await openEmbeddedStores({ path: folder });
    try {
      const ledgers = new Map<string, readonly { seq: number; body: string }[]>();
      for (const ledger of stores.ledger.ledgers()) {
        const records = await stores.ledger.read(ledger);
        ledgers.set(ledger.sagaId, records);
        expect(records.map((record) => record.seq)).toEqual(records.map((_, at) => at + 1));
        const head = stores.openHeads().get(ledger);
        expect(head?.seq ?? 0).toBeLessThanOrEqual(records.length);
      }
      const due = await stores.registry.due(Number.MAX_SAFE_INTEGER, 1_000_000);
      const registered = new Set(due.entries.map(({ sagaId, dueAt }) => `${sagaId} ${dueAt}`));
      for (const line of acked) {
        const [writer, seq, digest = ''] = line.split(' ');
        const sagaId = `saga-${writer}`;
        expect(ledgers.get(sagaId)?.[Number(seq) - 1]?.body).toBe(digest);
        expect(registered.has(`${sagaId} ${seq}`)).toBe(true);
        expect(await stores.payloads.get({ tenant: 'acme', sagaId }, digest)).toEqual({
          kind: 'found',
          text: `payload ${writer} ${seq}`,
        });
      }
    } finally {
      await stores.close();
    }
  }
});

test('a folder in use is refused by name, with the holder and the remedy', async () => {
  const folder = join(scratch, 'held');
  const appender = startAppender(folder);
  await appender.reached(0);
  await expect(openEmbeddedStores({ path: folder })).rejects.toMatchObject({
    name: 'Counterstep.FolderHeld',
    folder,
    message: `data folder ${folder} is held by process ${appender.child.pid}: stop that process, or open another folder`,
  });
  // The refused opening left the holder alone.
  await appender.reached(appender.acked.length + 20);
  await appender.kill();
  await (await openEmbeddedStores({ path: folder })).close();
});

test('a holder that stopped answering but lives still holds the folder', async () => {
  const folder = join(scratch, 'stopped');
  const appender = startAppender(folder);
  await appender.reached(0);
  appender.child.kill('SIGSTOP');
  await expect(openEmbeddedStores({ path: folder })).rejects.toThrow(/is held by process/);
  await appender.kill();
  await (await openEmbeddedStores({ path: folder })).close();
});

test('the process id of a dead holder means nothing', async () => {
  const folder = join(scratch, 'reused');
  const appender = startAppender(folder);
  await appender.reached(4);
  await appender.kill();
  // Its entry still stands. As if its process id now served a living process: ours.
  const holders = open<string, string>({
    path: join(folder, 'lock'),
    noSubdir: false,
    noSync: true,
    encoding: 'string',
  });
  const dead = JSON.parse(holders.get('holder') ?? '') as { socket: string; pid: number };
  expect(dead.pid).toBe(appender.child.pid);
  await holders.put('holder', JSON.stringify({ ...dead, pid: process.pid }));
  await holders.close();
  await (await openEmbeddedStores({ path: folder })).close();
});

test('of many that open a dead holder’s folder at once, one gets it', async () => {
  const folder = join(scratch, 'contended');
  const appender = startAppender(folder);
  await appender.reached(0);
  await appender.kill();
  for (let round = 0; round < 5; round += 1) {
    const openings = await Promise.allSettled(
      Array.from({ length: 8 }, () => openEmbeddedStores({ path: folder })),
    );
    const opened = openings.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    const refused = openings.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
    expect(opened).toHaveLength(1);
    for (const reason of refused) expect(reason).toMatchObject({ name: 'Counterstep.FolderHeld' });
    for (const stores of opened) {
      await stores.ledger.append({ tenant: 't', sagaId: `round-${round}` }, recordAt(1));
      await stores.close();
    }
  }
  // Nobody leaves socket files behind.
  expect(readdirSync(folder).filter((name) => name.endsWith('.sock'))).toEqual([]);
});

test('a folder with a path too long for a socket is guarded all the same', async () => {
  const folder = join(scratch, 'deep'.repeat(20), 'deeper'.repeat(20));
  mkdirSync(folder, { recursive: true });
  const appender = startAppender(folder);
  await appender.reached(0);
  await expect(openEmbeddedStores({ path: folder })).rejects.toThrow(/is held by process/);
  await appender.kill();
  await (await openEmbeddedStores({ path: folder })).close();
});

test('a full disk refuses the write, ends nothing, and loses nothing', async () => {
  const folder = join(scratch, 'full');
  // Limits every file of that process to about 2 MB, which the data file then meets.
  const limited = ['-c', 'ulimit -f 2000; exec "$0" "$@"', process.execPath];
  const { stdout } = await promisify(execFile)('bash', [
    ...limited,
    ...nodeArguments('./append-until-full.ts', folder),
  ]);
  const { appended, standing, name, unhandled } = JSON.parse(stdout) as Record<string, unknown>;
  expect(name).toBe('Counterstep.StoreUnavailable');
  expect(unhandled).toBe(0);
  expect(appended).toBeGreaterThan(0);
  expect(standing).toBe(appended);
  // With room again, it goes on where it stood.
  const stores = await openEmbeddedStores({ path: folder });
  const ledger = { tenant: 'acme', sagaId: 'saga-1' };
  expect(await stores.ledger.read(ledger)).toHaveLength(Number(appended));
  expect((await stores.ledger.append(ledger, recordAt(Number(appended) + 1))).kind).toBe(
    'appended',
  );
  await stores.close();
});
