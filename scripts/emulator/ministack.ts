import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CACHE, pythonWith } from './python.ts';

export interface Emulator {
  /** For `AWS_ENDPOINT_URL`. */
  readonly endpoint: string;
  readonly pid: number;
  /** Its own, gone when it ends: what it stores, and its functions' code. */
  readonly folder: string;
  /** What it wrote, kept after it ended. */
  readonly logFile: string;
  /** Resolves when the process is gone, by `stop` or by itself. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

export interface EmulatorOptions {
  /** Default: a free one. */
  readonly port?: number;
  readonly say?: (line: string) => void;
}

const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt');
const LAUNCH = join(import.meta.dirname, 'launch.py');
const PATIENCE_MS = 60_000;
const POLL_MS = 100;

/**
 * Starts MiniStack on this machine, with its Python environment made first where it is missing. All
 * that it holds is gone when it ends.
 * @throws Error that says what to do, where Python or its packages are missing, or it does not come up
 */
export async function startMinistack(options: EmulatorOptions = {}): Promise<Emulator> {
  const say = options.say ?? (() => {});
  const python = pythonWith(REQUIREMENTS, say);
  const port = options.port ?? (await freePort());
  const endpoint = `http://127.0.0.1:${port}`;
  const folder = mkdtempSync(join(tmpdir(), 'counterstep-ministack-'));
  mkdirSync(CACHE, { recursive: true });
  const logFile = join(CACHE, `ministack-${port}.log`);
  const log = openSync(logFile, 'w');
  const child = spawn(python, [LAUNCH], {
    env: { ...inherited(), ...settings(port, folder) },
    // Its own group: the Lambda processes it starts end with it, even where it dies first.
    detached: true,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const ended = once(child, 'exit').then(() => {});
  const killAtExit = (): void => endGroup(child, 'SIGKILL');
  process.once('exit', killAtExit);
  const stop = async (): Promise<void> => {
    endGroup(child, 'SIGTERM');
    await Promise.race([ended, sleep(5_000, undefined, { ref: false })]);
    endGroup(child, 'SIGKILL');
    await ended;
    process.removeListener('exit', killAtExit);
    rmSync(folder, { recursive: true, force: true });
  };
  if (child.pid === undefined || !(await answers(child, endpoint))) {
    await stop();
    const words = readFileSync(logFile, 'utf8').trim().split('\n').slice(-5).join('\n');
    throw new Error(`MiniStack did not come up on port ${port}:\n${words}`);
  }
  return { endpoint, pid: child.pid, folder, logFile, ended, stop };
}

/** Variables of ours that speak of AWS would reach the functions it runs. */
function inherited(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(?:AWS_|NODE_)/.test(name)),
  );
}

function settings(port: number, folder: string): NodeJS.ProcessEnv {
  return {
    GATEWAY_PORT: String(port),
    BIND_HOST: '127.0.0.1',
    // Its functions' code and logs; without it, files of several emulators would mix.
    TMPDIR: folder,
    STATE_DIR: join(folder, 'state'),
    S3_DATA_DIR: join(folder, 's3'),
    // Each invocation at a time is a process of its own: a burst would start hundreds. Beyond this callers
    // are answered with 429.
    LAMBDA_ACCOUNT_CONCURRENCY: '48',
    // It loses the names of errors, so what is never retried on AWS is retried here: with shorter
    // pauses between tries. The definitions have no Wait states that this could shorten.
    SFN_WAIT_SCALE: '0.1',
    LOG_LEVEL: process.env.LOG_LEVEL ?? 'INFO',
  };
}

async function answers(child: ChildProcess, endpoint: string): Promise<boolean> {
  const giveUpAt = Date.now() + PATIENCE_MS;
  while (child.exitCode === null && child.signalCode === null && Date.now() < giveUpAt) {
    if (await isMinistack(endpoint)) return true;
    await sleep(POLL_MS);
  }
  return false;
}

/** Whether what listens there is MiniStack. */
export async function isMinistack(endpoint: string): Promise<boolean> {
  return fetch(`${endpoint}/_ministack/health`, { signal: AbortSignal.timeout(2_000) }).then(
    (response) => response.ok,
    () => false,
  );
}

function endGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // Nobody is left in the group.
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port is free');
  return address.port;
}
