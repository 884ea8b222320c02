import {
  type AttributeDefinition,
  CreateTableCommand,
  type DynamoDBClient,
  type KeySchemaElement,
  ResourceInUseException,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';

/** Names of the three tables, as deployed. */
export interface TableNames {
  readonly ledger: string;
  readonly payloads: string;
  readonly coordination: string;
}

/**
 * Keys of the tables. `pk` and `sk` in each:
 * - ledger: `tenant/sagaId`, `seq` (number); `body`, `prev`, `hash`, `nonce`
 * - payloads: `tenant/sagaId`, digest; `text` and `salt`, or `erased`
 * - coordination: `registry#<shard>`, `<zero-padded dueAt>#tenant/sagaId`; other kinds of items
 *   have partitions of their own
 */
export const SORT_KEY_TYPES = { ledger: 'N', payloads: 'S', coordination: 'S' } as const;

/** Makes the tables where they are missing and waits until they serve. For tests and emulators. */
export async function createTables(client: DynamoDBClient, names: TableNames): Promise<void> {
  for (const kind of ['ledger', 'payloads', 'coordination'] as const) {
    const TableName = checkedTableName(names[kind]);
    await client
      .send(
        new CreateTableCommand({
          TableName,
          BillingMode: 'PAY_PER_REQUEST',
          KeySchema: KEY_SCHEMA,
          AttributeDefinitions: attributes(SORT_KEY_TYPES[kind]),
        }),
      )
      .catch((error: unknown) => {
        if (!(error instanceof ResourceInUseException)) throw error;
      });
    await waitUntilTableExists(
      { client, maxWaitTime: 60, minDelay: 0.05, maxDelay: 2 },
      { TableName },
    );
  }
}

/** A name that can stand in a PartiQL statement between quotes as it is. */
export function checkedTableName(name: string): string {
  if (typeof name !== 'string' || !/^[\w.-]{3,255}$/.test(name)) {
    throw new Error(
      `${JSON.stringify(name)} is no DynamoDB table name: pass 3 to 255 of a-z, A-Z, 0-9, "_", "-", "."`,
    );
  }
  return name;
}

const KEY_SCHEMA: KeySchemaElement[] = [
  { AttributeName: 'pk', KeyType: 'HASH' },
  { AttributeName: 'sk', KeyType: 'RANGE' },
];

function attributes(sortKeyType: 'N' | 'S'): AttributeDefinition[] {
  return [
    { AttributeName: 'pk', AttributeType: 'S' },
    { AttributeName: 'sk', AttributeType: sortKeyType },
  ];
}
