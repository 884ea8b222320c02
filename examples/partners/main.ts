/**
 * The partner systems as a process of their own:
 * `node --conditions=counterstep-source --import tsx examples/partners/main.ts --data DIR --port 0`.
 * Prints one line of JSON with its URL once it listens.
 */
import { mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type HttpBindings, serve } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { createPartnersApp, type FallSilent } from './app.ts';
import { openLmdbStore } from './stores/lmdb.ts';

/** Exit code of an injected crash, so that a supervisor can tell it from a bug. */
const CRASHED = 86;

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    port: { type: 'string', default: '0' },
    /** Ends when its standard input closes, so that it never outlives the process that started it. */
    'end-with-stdin': { type: 'boolean', default: false },
  },
});
const port = Number(values.port);
if (values.data === undefined || !Number.isInteger(port) || port < 0 || port > 65_535) {
  console.error('usage: main.ts --data DIR [--port 0..65535]');
  process.exit(2);
}

mkdirSync(values.data, { recursive: true });
const now = (): number => Date.now();
const store = openLmdbStore(values.data, now);

/** Nothing is sent: a connection is cut by us, or by the caller who gives up. */
const closeConnection: FallSilent<{ Bindings: HttpBindings }> = async (c, how) => {
  const { socket } = c.env.incoming;
  if (how.kind === 'drop') socket.destroy();
  else await new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return RESPONSE_ALREADY_SENT;
};

const app = createPartnersApp(
  { store, now, sleep: (ms) => sleep(ms), die: () => process.exit(CRASHED) },
  closeConnection,
);

const server = serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, (info) => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${info.port}`, pid: process.pid }));
});
server.on('error', (error) => {
  console.error(`cannot listen on port ${port}: ${error.message}`);
  process.exit(1);
});

async function end(): Promise<void> {
  await store.close();
  process.exit(0);
}
process.on('SIGTERM', () => void end());
process.on('SIGINT', () => void end());
if (values['end-with-stdin']) {
  process.stdin.on('end', () => void end());
  process.stdin.resume();
}
