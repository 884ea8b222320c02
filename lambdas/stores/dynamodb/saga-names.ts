import {
  type AttributeValue,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  type QueryCommandOutput,
} from '@aws-sdk/client-dynamodb';
import { answered } from './errors.ts';
import { namesPartition } from './saga-lists.ts';

/** Names one process remembers; with more tenants than that, some are looked up again. */
const MAX_REMEMBERED = 10_000;

/**
 * What the sagas of a tenant are called: a few names, written once each. With them the lists by name
 * are together the list of all its sagas, and no saga needs an entry in another.
 */
export interface SagaNames {
  /** Resolves once the name is there. @param anew writes it again, whatever is remembered */
  ensure(tenant: string, name: string, anew: boolean): Promise<void>;
  /** Strongly consistent. */
  of(tenant: string): Promise<readonly string[]>;
}

export function sagaNames(client: DynamoDBClient, TableName: string): SagaNames {
  const remembered = new Set<string>();
  const stands = async (Key: Record<string, AttributeValue>): Promise<boolean> => {
    const { Item } = await answered('looking up the name of a saga', () =>
      client.send(new GetItemCommand({ TableName, Key })),
    );
    return Item !== undefined;
  };

  return {
    async ensure(tenant, name, anew) {
      // A tenant holds no "/".
      const known = `${tenant}/${name}`;
      if (remembered.has(known) && !anew) return;
      const Key = { pk: { S: namesPartition(tenant) }, sk: { S: name } };
      if (anew || !(await stands(Key))) {
        await answered('noting the name of a saga', () =>
          client.send(new PutItemCommand({ TableName, Item: Key })),
        );
      }
      if (remembered.size === MAX_REMEMBERED) remembered.clear();
      remembered.add(known);
    },

    async of(tenant) {
      const names: string[] = [];
      let next: Record<string, AttributeValue> | undefined;
      do {
        const ExclusiveStartKey = next;
        const page: QueryCommandOutput = await answered('reading the names of sagas', () =>
          client.send(
            new QueryCommand({
              TableName,
              ConsistentRead: true,
              KeyConditionExpression: 'pk = :pk',
              ExpressionAttributeValues: { ':pk': { S: namesPartition(tenant) } },
              ...(ExclusiveStartKey === undefined ? {} : { ExclusiveStartKey }),
            }),
          ),
        );
        for (const { sk } of page.Items ?? []) if (sk?.S !== undefined) names.push(sk.S);
        next = page.LastEvaluatedKey;
      } while (next !== undefined);
      return names;
    },
  };
}
