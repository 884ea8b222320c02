import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** A running partner service under supervision. */
export interface Partners {
  /** Stays the same over restarts. */
  readonly url: string;
  /** Of the process that runs now. */
  readonly pid: number;
  /** How often a dead process was replaced. */
  readonly restarts: number;
  /** Resolves while a process listens; rejects where it cannot be brought back. */
  ready(): Promise<void>;
  /** Kills the process without warning; the supervisor brings it back. Resolves once it is dead. */
  kill(): Promise<void>;
  /** `kill`, then waits until the next process listens. */
  restart(): Promise<void>;
  /** Ends it for good. */
  stop(): Promise<void>;
}

export interface StartPartnersOptions {
  /** Folder of its records: another start with the same folder goes on where this one ended. */
  readonly dataDir: string;
  /** Default: a free one. */
  readonly port?: number;
}

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url));
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** A process that dies this often without ever listening has a bug, not an injected crash. */
const MAX_FAILED_STARTS = 5;
const POLL_MS = 50;

interface Running {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly url: string;
}

/**
 * Starts the partner systems as a process and keeps it running on the same port until `stop`.
 * @throws Error with the process's own words where it does not come up
 */
export async function startPartners(options: StartPartnersOptions): Promise<Partners> {
  let stopped = false;
  let restarts = 0;
  let running = await launch(options.dataDir, options.port ?? 0);
  let up: Promise<void> = Promise.resolve();
  const { url } = running;
  const port = Number(new URL(url).port);

  const watch = (): void => {
    running.child.once('exit', () => {
      if (!stopped) up = revive();
      up.catch(() => {});
    });
  };
  const revive = async (): Promise<void> => {
    for (let failed = 1; ; failed += 1) {
      try {
        running = await launch(options.dataDir, port);
        restarts += 1;
        break;
      } catch (error) {
        if (failed === MAX_FAILED_STARTS || stopped) throw error;
      }
    }
    if (stopped) await dead(running.child, 'SIGKILL');
    else watch();
  };
  watch();

  const killAtExit = (): void => void running.child.kill('SIGKILL');
  process.once('exit', killAtExit);

  const kill = async (): Promise<void> => {
    await up;
    await dead(running.child, 'SIGKILL');
  };
  // A process that has just crashed may not have been noticed yet: only its answer proves it is up.
  const ready = async (): Promise<void> => {
    for (;;) {
      await up;
      const answers = await fetch(`${url}/health`).then(
        (response) => response.ok,
        () => false,
      );
      if (answers || stopped) return;
      await sleep(POLL_MS);
    }
  };
  return {
    url,
    get pid() {
      return running.pid;
    },
    get restarts() {
      return restarts;
    },
    ready,
    kill,
    restart: async () => {
      await kill();
      await ready();
    },
    stop: async () => {
      stopped = true;
      await up.catch(() => {});
      await dead(running.child, 'SIGTERM');
      process.removeListener('exit', killAtExit);
    },
  };
}

async function launch(dataDir: string, port: number): Promise<Running> {
  const child = spawn(
    process.execPath,
    [
      ...['--conditions=counterstep-source', '--import', 'tsx', MAIN],
      ...['--data', dataDir, '--port', String(port), '--end-with-stdin'],
    ],
    // tsx is looked up from the working folder.
    { cwd: ROOT, stdio: ['pipe', 'pipe', 'pipe'] },
  );
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-4_000);
  });
  const lines = createInterface({ input: child.stdout });
  const line = await Promise.race([
    once(lines, 'line').then(([text]) => String(text)),
    once(child, 'exit').then(() => undefined),
  ]);
  const { pid } = child;
  if (line === undefined || pid === undefined) {
    throw new Error(
      `the partner service did not come up: ${complaint.trim() || 'no reason given'}`,
    );
  }
  const { url } = JSON.parse(line) as { url: string };
  return { child, pid, url };
}

async function dead(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}
