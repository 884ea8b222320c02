import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { pythonWith } from '../../scripts/emulator/python.ts';

export interface MotoServer {
  readonly endpoint: string;
  stop(): Promise<void>;
}

const PATIENCE_MS = 60_000;

/**
 * moto's server with its interpreter of state machines turned on; it sends invocations of functions
 * to the port given.
 * @throws Error with what the server wrote, where it does not come up
 */
export async function startMoto(lambdaPort: number): Promise<MotoServer> {
  const python = pythonWith('scripts/requirements.txt', (line) =>
    process.stdout.write(`${line}\n`),
  );
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const child = spawn(
    python,
    ['-c', 'from moto.server import main; main()', '-H', '127.0.0.1', '-p', String(port)],
    {
      env: { PATH: process.env.PATH, MOTO_PORT: String(lambdaPort), SF_EXECUTION_HISTORY_TYPE: '' },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  let wrote = '';
  child.stderr?.on('data', (data: Buffer) => {
    wrote = (wrote + data.toString()).slice(-4_000);
  });
  const killAtExit = (): void => void child.kill('SIGKILL');
  process.once('exit', killAtExit);
  const stop = async (): Promise<void> => {
    process.removeListener('exit', killAtExit);
    await ended(child);
  };
  try {
    await turnOn(endpoint, child);
  } catch (cause) {
    await stop();
    throw new Error(`moto did not come up; it wrote:\n${wrote}`, { cause });
  }
  return { endpoint, stop };
}

/** Without it moto only pretends that executions run. */
async function turnOn(endpoint: string, child: ChildProcess): Promise<void> {
  const body = JSON.stringify({ stepfunctions: { execute_state_machine: true } });
  for (let left = PATIENCE_MS; left > 0 && child.exitCode === null; left -= 100) {
    const answer = await fetch(`${endpoint}/moto-api/config`, { method: 'POST', body }).catch(
      () => undefined,
    );
    if (answer?.status === 201) return;
    await sleep(100);
  }
  throw new Error(child.exitCode === null ? 'no answer in time' : `exit code ${child.exitCode}`);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
