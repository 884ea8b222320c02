import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { createTables, type TableNames } from '../../lambdas/stores/dynamodb/tables.ts';

export interface Dynalite {
  readonly endpoint: string;
  readonly client: DynamoDBClient;
  readonly tables: TableNames;
  close(): Promise<void>;
}

const TABLES: TableNames = {
  ledger: 'counterstep-ledger',
  payloads: 'counterstep-payloads',
  coordination: 'counterstep-coordination',
};

/** A DynamoDB look-alike in memory on a free port, with the three tables made. */
export async function startDynalite(): Promise<Dynalite> {
  const script = fileURLToPath(new URL('./dynalite-server.mjs', import.meta.url));
  const server = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(server, 'exit');
  const [port] = await Promise.race([
    once(createInterface({ input: server.stdout }), 'line'),
    ended.then(([code]) => {
      throw new Error(`dynalite ended with code ${code} before it listened`);
    }),
  ]);
  const endpoint = `http://127.0.0.1:${port}`;
  const client = localClient(endpoint);
  await createTables(client, TABLES);
  return {
    endpoint,
    client,
    tables: TABLES,
    async close() {
      client.destroy();
      server.stdin.end();
      await ended;
    },
  };
}

/** A client for a local server: no real credentials, few and quick retries. */
export function localClient(endpoint: string, maxAttempts = 3): DynamoDBClient {
  return new DynamoDBClient({
    endpoint,
    region: 'eu-central-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    maxAttempts,
  });
}

export function listenLocally(server: Server): Promise<string> {
  return new Promise((done, fail) => {
    server.once('error', fail);
    server.listen(0, '127.0.0.1', () => {
      done(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    });
  });
}

export function closeServer(server: Server): Promise<void> {
  return new Promise((done) => {
    server.close(() => done());
    server.closeAllConnections();
  });
}
