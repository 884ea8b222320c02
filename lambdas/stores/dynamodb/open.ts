import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { type Entropy, systemEntropy } from '../../ports/entropy.ts';
import type { Stores } from '../../ports/stores.ts';
import type { TenantBudgets } from '../../ports/tenant-budgets.ts';
import { dynamoBreakers } from './breakers.ts';
import { dynamoBudgets } from './budgets.ts';
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
  const { client, tables, mode } = options;
  const budgets = dynamoBudgets(client, tables.coordination, mode);
  return { ...dynamoToolStores(options), budgets };
}

/** For the function of a tool: its role reaches no budget, and its bundle need not hold them. */
export function dynamoToolStores(options: DynamoOptions): Stores {
  const { client, tables, mode, entropy = systemEntropy } = options;
  return {
    ledger: dynamoLedger(client, tables.ledger, mode),
    payloads: dynamoPayloads(client, tables.payloads, entropy),
    registry: dynamoRegistry(client, tables.coordination),
    budgets: OUT_OF_REACH,
    breakers: dynamoBreakers(client, tables.coordination),
  };
}

const outOfReach = async (): Promise<never> => {
  throw new Error('the function of a tool starts and ends no saga, so it reaches no budget');
};
const OUT_OF_REACH: TenantBudgets = {
  charge: outOfReach,
  giveBack: outOfReach,
  isCharged: outOfReach,
  usage: outOfReach,
};

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
