import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Database, open } from 'lmdb';
import type { Entropy } from '../../ports/entropy.ts';

/** Another process works in the data folder, or may do so. */
export class FolderHeld extends Error {
  override readonly name = 'Counterstep.FolderHeld';
  readonly folder: string;
  constructor(folder: string, detail: string) {
    super(`data folder ${folder} is held by ${detail}: stop that process, or open another folder`);
    this.folder = folder;
  }
}

/**
 * Names the holder. A database of its own, written only while opening: a process stopped in the
 * middle of a commit to the stores would keep whoever waits for their write lock waiting too.
 */
type HolderTable = Database<string, string>;

export interface FolderLock {
  /** Call it last, after the stores are closed. The entry stays: its socket is gone, that says it. */
  release(): Promise<void>;
}

const HOLDER = 'holder';

/**
 * Claims the folder for this process, until `release` or its death.
 *
 * The holder listens on a socket file of its own in the folder, and a small database names that file.
 * Whoever comes later connects to it: the kernel answers for as long as the process lives, and
 * refuses from the moment it is gone (also by kill -9; also when its process id serves another by
 * now). A dead holder's entry is replaced by compare-and-swap in one transaction, so of two that
 * find it dead only one takes over. Names are never used twice: nobody unlinks a live socket.
 *
 * @throws FolderHeld
 */
export async function lockFolder(folder: string, entropy: Entropy): Promise<FolderLock> {
  const socket = `holder-${entropy.nonce().slice(0, 8)}.sock`;
  // It must listen before its name can be read, else it would be taken for dead.
  const server = await listen(folder, socket);
  // Nothing in it outlives a power cut anyway, so it need not be synced.
  const holders = open<string, string>({
    path: join(folder, 'lock'),
    noSubdir: false,
    noSync: true,
    encoding: 'string',
  });
  try {
    await claim(folder, holders, socket);
    return { release: () => close(server) };
  } catch (error) {
    await close(server);
    if (error instanceof FolderHeld) throw error;
    throw new Error(`cannot claim data folder ${folder}: check free space and permissions`, {
      cause: error,
    });
  } finally {
    await holders.close();
  }
}

async function claim(folder: string, holders: HolderTable, socket: string): Promise<void> {
  const mine = JSON.stringify({ socket, pid: process.pid });
  for (;;) {
    const seen = currentHolder(holders);
    const holder = parseHolder(seen);
    if (holder !== undefined && (await mayLive(folder, holder.socket))) {
      throw new FolderHeld(folder, `process ${holder.pid}`);
    }
    if (replaceHolder(holders, seen, mine)) {
      if (holder !== undefined) rmSync(join(folder, holder.socket), { force: true });
      return;
    }
  }
}

function currentHolder(holders: HolderTable): string | undefined {
  holders.resetReadTxn();
  return holders.get(HOLDER);
}

/** True where `seen` still stood and was replaced. */
function replaceHolder(holders: HolderTable, seen: string | undefined, by: string): boolean {
  return holders.transactionSync(() => {
    if (holders.get(HOLDER) !== seen) return false;
    holders.putSync(HOLDER, by);
    return true;
  });
}

function parseHolder(text: string | undefined): { socket: string; pid: number } | undefined {
  return text === undefined ? undefined : (JSON.parse(text) as { socket: string; pid: number });
}

function mayLive(folder: string, socket: string): Promise<boolean> {
  return throughShortPath(
    folder,
    socket,
    (path) =>
      new Promise((answer) => {
        const probe = connect({ path });
        probe.once('connect', () => {
          probe.destroy();
          answer(true);
        });
        // Only these two say that nobody listens; anything else leaves it open, so we keep away.
        probe.once('error', (error: NodeJS.ErrnoException) =>
          answer(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT'),
        );
      }),
  );
}

function listen(folder: string, socket: string): Promise<Server> {
  return throughShortPath(
    folder,
    socket,
    (path) =>
      new Promise((done, fail) => {
        const server = createServer((caller) => caller.destroy());
        server.once('error', fail);
        server.listen({ path }, () => {
          server.off('error', fail);
          server.on('error', () => undefined);
          server.unref();
          done(server);
        });
      }),
  );
}

function close(server: Server): Promise<void> {
  return new Promise((done) => {
    server.close(() => done());
  });
}

/** The kernel takes socket paths up to about 100 bytes (104 on macOS): longer ones go by a link. */
async function throughShortPath<T>(
  folder: string,
  socket: string,
  use: (path: string) => Promise<T>,
): Promise<T> {
  const direct = join(resolve(folder), socket);
  if (Buffer.byteLength(direct) <= 100) return use(direct);
  const detour = mkdtempSync(join(tmpdir(), 'cs-'));
  try {
    const link = join(detour, 'f');
    symlinkSync(resolve(folder), link);
    return await use(join(link, socket));
  } finally {
    rmSync(detour, { recursive: true, force: true });
  }
}
