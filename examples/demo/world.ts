import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { SagaType } from 'counterstep';
import { type MailSink, startMailSink } from '../mail/sink.ts';
import type { FaultRequest } from '../partners/faults.ts';
import type { SystemName, SystemRecords } from '../partners/records.ts';
import { type Partners, startPartners } from '../partners/start.ts';
import { PlaneClient } from './plane-client.ts';

const PLANE = fileURLToPath(new URL('./plane.ts', import.meta.url));
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Everything a scenario touches: the plane and the outside systems. */
export interface World {
  readonly mail: MailSink;
  /** How many times longer calls take here than in one process on a laptop. */
  readonly pace: number;
  plane(): PlaneClient;
  /**
   * Kills what runs for the plane without warning, and lets it go on over the same data. Where tools
   * run in processes of their own, only the one that is named.
   */
  killAndRestart(tool?: string): Promise<void>;
  fault(request: FaultRequest): Promise<void>;
  mend(): Promise<void>;
  records(system: SystemName, orderId: string): Promise<SystemRecords>;
  close(): Promise<void>;
}

/** A plane that serves the example sagas, wherever it runs. */
export interface RunningPlane {
  readonly client: PlaneClient;
  /** As in {@link World.killAndRestart}. Answers what runs from then on. */
  killAndRestart(tool?: string): Promise<RunningPlane>;
  stop(): Promise<void>;
}

/** What the example sagas are told of the outside, by the names that their functions read. */
export interface Addresses {
  readonly PARTNERS_URL: string;
  readonly SMTP_URL: string;
  readonly AWS_ENDPOINT_URL_SESV2: string;
}

/** Brings a plane up. `folder` is its own, and gone when the world closes. */
export type LaunchPlane = (addresses: Addresses, folder: string) => Promise<RunningPlane>;

export interface WorldOptions {
  /** Default: the local plane in a process of its own. */
  readonly launch?: LaunchPlane;
  /** Of the outside systems, where deployed functions look for them. Default: free ones. */
  readonly ports?: { readonly partners: number; readonly mail: number };
  /** Default 1. */
  readonly pace?: number;
}

/** Starts the outside systems, the partners in a process of their own, and a plane before them. */
export async function openWorld(options: WorldOptions = {}): Promise<World> {
  const { launch = localPlane, ports } = options;
  const folder = mkdtempSync(join(tmpdir(), 'counterstep-demo-'));
  const mail = await startMailSink({
    file: join(folder, 'mail.ndjson'),
    ...(ports === undefined ? {} : { sesPort: ports.mail }),
  });
  const partners = await startPartners({
    dataDir: join(folder, 'partners'),
    ...(ports === undefined ? {} : { port: ports.partners }),
  });
  const addresses = {
    PARTNERS_URL: partners.url,
    SMTP_URL: mail.url,
    AWS_ENDPOINT_URL_SESV2: mail.sesUrl,
  };
  const stopOutside = async (): Promise<void> => {
    await partners.stop();
    await mail.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  let plane: RunningPlane;
  try {
    plane = await launch(addresses, join(folder, 'plane'));
  } catch (error) {
    await stopOutside();
    throw error;
  }
  return {
    mail,
    pace: options.pace ?? 1,
    plane: () => plane.client,
    killAndRestart: async (tool) => {
      plane = await plane.killAndRestart(tool);
    },
    fault: (request) => send(partners, 'POST', request),
    mend: () => send(partners, 'DELETE'),
    records: async (system, orderId) => {
      const url = `${partners.url}/${system}/records?orderId=${encodeURIComponent(orderId)}`;
      return (await (await fetch(url)).json()) as SystemRecords;
    },
    close: async () => {
      await plane.stop();
      await stopOutside();
    },
  };
}

export interface LocalPlaneOptions {
  /** Of the machines that the sagas are made for. Default `STANDARD`. */
  readonly sagaType?: SagaType;
  /**
   * What the plane's own client sends with each request, made from the data folder. With it the plane asks
   * everybody for a token, without it nobody.
   */
  readonly credentials?: (dataDir: string) => Promise<Readonly<Record<string, string>>>;
}

/** The local plane in a process of its own, which is killed as a whole. */
export async function localPlane(
  addresses: Addresses,
  dataDir: string,
  options: LocalPlaneOptions = {},
): Promise<RunningPlane> {
  const { sagaType, credentials } = options;
  const auth = credentials === undefined ? 'open' : 'tokens';
  const child = spawn(
    process.execPath,
    ['--conditions=counterstep-source', '--import', 'tsx', PLANE, dataDir, auth],
    {
      cwd: ROOT,
      env: {
        ...process.env,
        ...addresses,
        ...(sagaType === undefined ? {} : { SAGA_TYPE: sagaType }),
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  );
  const lines = createInterface({ input: child.stdout });
  const line = await Promise.race([
    once(lines, 'line').then(([text]) => String(text)),
    once(child, 'exit').then(() => undefined),
  ]);
  if (line === undefined) throw new Error('the plane did not come up');
  const { url } = JSON.parse(line) as { url: string };
  return {
    client: new PlaneClient(
      url,
      credentials === undefined ? {} : { headers: await credentials(dataDir) },
    ),
    killAndRestart: async () => {
      await end(child, 'SIGKILL');
      return localPlane(addresses, dataDir, options);
    },
    stop: () => end(child, 'SIGTERM'),
  };
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
