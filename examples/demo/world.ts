import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type MailSink, startMailSink } from '../mail/sink.ts';
import type { FaultRequest } from '../partners/faults.ts';
import type { SystemName, SystemRecords } from '../partners/records.ts';
import { type Partners, startPartners } from '../partners/start.ts';
import { PlaneClient } from './plane-client.ts';

const PLANE = fileURLToPath(new URL('./plane.ts', import.meta.url));
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Everything a scenario touches: the plane and the outside systems, each in a process of its own. */
export interface World {
  readonly mail: MailSink;
  plane(): PlaneClient;
  /** Kills the plane without warning and starts it again on the same data. */
  killAndRestart(): Promise<void>;
  fault(request: FaultRequest): Promise<void>;
  mend(): Promise<void>;
  records(system: SystemName, orderId: string): Promise<SystemRecords>;
  close(): Promise<void>;
}

interface RunningPlane {
  readonly child: ChildProcess;
  readonly client: PlaneClient;
}

export async function openWorld(): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'counterstep-demo-'));
  const mail = await startMailSink({ file: join(folder, 'mail.ndjson') });
  const partners = await startPartners({ dataDir: join(folder, 'partners') });
  const launch = (): Promise<RunningPlane> =>
    startPlane(join(folder, 'plane'), { PARTNERS_URL: partners.url, SMTP_URL: mail.url });
  let plane = await launch();
  return {
    mail,
    plane: () => plane.client,
    killAndRestart: async () => {
      await end(plane.child, 'SIGKILL');
      plane = await launch();
    },
    fault: (request) => send(partners, 'POST', request),
    mend: () => send(partners, 'DELETE'),
    records: async (system, orderId) => {
      const url = `${partners.url}/${system}/records?orderId=${encodeURIComponent(orderId)}`;
      return (await (await fetch(url)).json()) as SystemRecords;
    },
    close: async () => {
      await end(plane.child, 'SIGTERM');
      await partners.stop();
      await mail.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function startPlane(
  dataDir: string,
  environment: Record<string, string>,
): Promise<RunningPlane> {
  const child = spawn(
    process.execPath,
    ['--conditions=counterstep-source', '--import', 'tsx', PLANE, dataDir],
    {
      cwd: ROOT,
      env: { ...process.env, ...environment },
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  const lines = createInterface({ input: child.stdout });
  const line = await Promise.race([
    once(lines, 'line').then(([text]) => String(text)),
    once(child, 'exit').then(() => undefined),
  ]);
  if (line === undefined) throw new Error('the plane did not come up');
  return { child, client: new PlaneClient((JSON.parse(line) as { url: string }).url) };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}

async function send(partners: Partners, method: string, body?: FaultRequest): Promise<void> {
  await partners.ready();
  const response = await fetch(`${partners.url}/faults`, {
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  if (!response.ok) throw new Error(`the partners refused a fault: ${await response.text()}`);
}
