import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { type Entropy, systemEntropy } from '../../ports/entropy.ts';
import type { Stores } from '../../ports/stores.ts';
import { type AppendMode, dynamoLedger } from './ledger.ts';
import { dynamoPayloads } from './payloads.ts';
import { dynamoRegistry } from './registry.ts';
import type { TableNames } from './tables.ts';

export interface DynamoOptions {
  readonly client: DynamoDBClient;
  readonly tables: TableNames;
  /** `partiql` on AWS; `conditional-put` where the server does not know PartiQL. */
  readonly mode: AppendMode;
  readonly entropy?: Entropy;
}

/** Stores in three DynamoDB tables. The caller owns the client and destroys it. */
export function dynamoStores(options: DynamoOptions): Stores {
  const { client, tables, mode, entropy = systemEntropy } = options;
  return {
    ledger: dynamoLedger(client, tables.ledger, mode),
    payloads: dynamoPayloads(client, tables.payloads, entropy),
    registry: dynamoRegistry(client, tables.coordination),
  };
}

/**
 * A client for a Lambda with seconds to live: an answer that does not come is given up and asked
 * for again. Without these limits a lost packet would hold an invocation until its own timeout.
 */
export function dynamoClient(config: DynamoDBClientConfig = {}): DynamoDBClient {
  return new DynamoDBClient({
    maxAttempts: 3,
    requestHandler: {
      connectionTimeout: 1_000,
      requestTimeout: 3_000,
      throwOnRequestTimeout: true,
    },
    ...config,
  });
}
