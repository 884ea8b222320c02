import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import dynalite from 'dynalite';
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
  const server = dynalite({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 });
  const endpoint = await listenLocally(server);
  const client = localClient(endpoint);
  await createTables(client, TABLES);
  return {
    endpoint,
    client,
    tables: TABLES,
    async close() {
      client.destroy();
      await closeServer(server);
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
