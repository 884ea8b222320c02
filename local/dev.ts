import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { serve } from '@hono/node-server';
import { createApp } from '../lambdas/api/app.ts';
import type { Log } from '../lambdas/ports/log.ts';
import { type Principal, ROLES } from '../lambdas/service/principal.ts';
import { Problem } from '../lambdas/service/problems.ts';
import { SagaService } from '../lambdas/service/service.ts';
import { openEmbeddedStores } from '../lambdas/stores/embedded/open.ts';
import { authOf, type LocalConfig, loadConfig } from './config.ts';
import { lineLog } from './console-log.ts';
import { type Engine, startEngine } from './engine.ts';
import { Tokens } from './tokens.ts';

export const DEFAULT_PORT = 4570;
export const DEFAULT_DATA_DIR = '.counterstep';

export interface PlaneOptions extends LocalConfig {
  /** Where ledgers live. */
  readonly dataDir: string;
  /** 0: any free port. */
  readonly port: number;
  readonly log?: Log;
}

export interface LocalPlane {
  /** Where the HTTP API answers. */
  readonly url: string;
  readonly engine: Engine;
  readonly service: SagaService;
  /** Finishes what runs, notes the lists, frees the folder. */
  close(): Promise<void>;
}

/** Who asks on a laptop: one tenant, every role. Only this machine can reach the port. */
export const LOCAL_PRINCIPAL: Principal = { tenant: 'local', id: 'developer', roles: ROLES };

const LOCAL_NAMES = ['127.0.0.1', 'localhost', '[::1]'];

/**
 * Whoever reaches the port may do everything, so a page in a browser must not: a name that somebody
 * else's DNS points at this machine is refused.
 */
function localPrincipal(request: Request): Principal {
  const host = request.headers.get('host') ?? '';
  const name = host.replace(/:\d+$/, '');
  if (LOCAL_NAMES.includes(name)) return LOCAL_PRINCIPAL;
  throw new Problem(
    'forbidden',
    'the local plane answers only under the names of this machine',
    `call it as ${LOCAL_NAMES.join(' or ')}`,
    { at: 'host' },
  );
}

/**
 * The whole plane in one process: embedded stores, the compiled machines, the handlers, the sweep and
 * the HTTP API. Sagas that an earlier process left unfinished go on with their next epoch.
 * @throws FolderHeld where another process works in the data folder
 * @throws ConfigInvalid where `auth` is no mode there is
 */
export async function openLocalPlane(options: PlaneOptions): Promise<LocalPlane> {
  const authenticate = authenticateBy(options);
  const stores = await openEmbeddedStores({ path: options.dataDir });
  // The port before the engine: where it is taken, no saga has been moved.
  let answer: Fetch = async () => new Response('starting\n', { status: 503, headers: RETRY_SOON });
  let server: Listening | undefined;
  let engine: Engine | undefined;
  try {
    server = await listen((request) => answer(request), options.port);
    engine = await startEngine({
      sagas: options.sagas,
      tools: options.tools,
      stores,
      heads: stores.openHeads(),
      ledgers: () => stores.ledger.ledgers(),
      ...(options.log === undefined ? {} : { log: options.log }),
    });
    const service = serviceOf(engine, options);
    const app = createApp({ service, authenticate });
    answer = async (request) => app.fetch(request);
    const parts = [server, engine, stores] as const;
    return {
      url: server.url,
      engine,
      service,
      close: async () => {
        for (const part of parts) await part.close();
      },
    };
  } catch (error) {
    await server?.close();
    await engine?.close();
    await stores.close();
    throw error;
  }
}

type Fetch = (request: Request) => Promise<Response>;

const RETRY_SOON = { 'retry-after': '1' } as const;

function serviceOf(engine: Engine, options: PlaneOptions): SagaService {
  return new SagaService({
    host: engine.host,
    ledger: engine.ledger,
    sagas: options.sagas,
    index: engine.projection,
    ...(options.tenants === undefined ? {} : { tenants: options.tenants }),
    machineOf: (saga) => engine.machines.machineOf(saga),
  });
}

function authenticateBy(options: PlaneOptions): (request: Request) => Promise<Principal> {
  if (authOf(options) === 'open') return async (request) => localPrincipal(request);
  const tokens = Tokens.open(options.dataDir);
  return (request) => tokens.authenticate(request);
}

interface Listening {
  readonly url: string;
  close(): Promise<void>;
}

async function listen(
  fetch: (request: Request) => Response | Promise<Response>,
  port: number,
): Promise<Listening> {
  return new Promise((resolvePromise, reject) => {
    const server = serve({ fetch, port, hostname: '127.0.0.1' }, (address: AddressInfo) => {
      resolvePromise({
        url: `http://127.0.0.1:${address.port}`,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed());
            if ('closeAllConnections' in server) server.closeAllConnections();
          }),
      });
    });
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        error.code === 'EADDRINUSE'
          ? new Error(
              `port ${port} is taken: stop what listens there, or choose another with --port`,
            )
          : error,
      );
    });
  });
}

/** Where `counterstep dev` keeps its ledgers by that configuration. @throws ConfigInvalid */
export async function dataDirOf(config?: string): Promise<string> {
  return dataDirIn(await loadConfig(config));
}

function dataDirIn(config: LocalConfig & { readonly folder: string }): string {
  return resolve(config.folder, config.dataDir ?? DEFAULT_DATA_DIR);
}

export interface DevOptions {
  /** Path of the configuration file. Default: `counterstep.config.ts` (or `.js`, `.mjs`) here. */
  readonly config?: string;
  readonly port?: number;
  readonly dataDir?: string;
  readonly log?: (line: string) => void;
}

/** What `counterstep dev` does. @throws ConfigInvalid @throws FolderHeld */
export async function runDev(
  options: DevOptions,
): Promise<{ url: string; close(): Promise<void> }> {
  const config = await loadConfig(options.config);
  const log = options.log === undefined ? undefined : lineLog(options.log, Date.now);
  return openLocalPlane({
    ...config,
    dataDir: options.dataDir ?? dataDirIn(config),
    port: options.port ?? config.port ?? DEFAULT_PORT,
    ...(log === undefined ? {} : { log }),
  });
}
