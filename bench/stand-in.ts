import type { Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';

/** Request units that DynamoDB would bill, on demand. */
export interface Units {
  readonly writes: number;
  readonly reads: number;
}

/** DynamoDB's stand-in in this process, which says of each request what it would consume. */
export interface StandIn {
  /** A client of its own for each user, so that their units are told apart. */
  client(): Metered;
  close(): Promise<void>;
}

export interface Metered {
  readonly client: DynamoDBClient;
  units(): Units;
}

type Dynalite = (options: { readonly createTableMs: number }) => Server;

/** CommonJS without types; loaded on the first call only. */
const load = createRequire(import.meta.url);

export async function standIn(): Promise<StandIn> {
  const server = (load('dynalite') as Dynalite)({ createTableMs: 0 });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const clients: DynamoDBClient[] = [];
  return {
    client: () => {
      const metered = meteredClient(port);
      clients.push(metered.client);
      return metered;
    },
    close: async () => {
      for (const client of clients) client.destroy();
      await new Promise<void>((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      });
    },
  };
}

interface Consuming {
  readonly ConsumedCapacity?: { readonly CapacityUnits?: number };
}

function isConsistent(input: object): boolean {
  return 'ConsistentRead' in input && input.ConsistentRead === true;
}

const WRITES = new Set(['PutItemCommand', 'UpdateItemCommand', 'DeleteItemCommand']);
const READS = new Set(['GetItemCommand', 'QueryCommand']);

function meteredClient(port: number): Metered {
  const client = new DynamoDBClient({
    endpoint: `http://127.0.0.1:${port}`,
    region: 'us-east-1',
    credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' },
  });
  let writes = 0;
  let reads = 0;
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        const isWrite = WRITES.has(commandName);
        if (!isWrite && !READS.has(commandName)) return next(args);
        const input = { ...args.input, ReturnConsumedCapacity: 'TOTAL' };
        const result = await next({ ...args, input });
        const { ConsumedCapacity: consumed } = result.output as Consuming;
        if (consumed?.CapacityUnits === undefined) {
          throw new Error(`the stand-in does not say what ${commandName} consumes`);
        }
        if (isWrite) writes += consumed.CapacityUnits;
        // Asking costs, whatever is found; the stand-in counts what a query found.
        else reads += Math.max(consumed.CapacityUnits, isConsistent(args.input) ? 1 : 0.5);
        return result;
      },
    { step: 'initialize' },
  );
  return { client, units: () => ({ writes, reads }) };
}
