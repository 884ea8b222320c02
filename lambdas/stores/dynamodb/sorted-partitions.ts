import { type AttributeValue, type DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb';
import { answered } from './errors.ts';

export type Item = Readonly<Record<string, AttributeValue>>;

export interface PartitionRange {
  readonly client: DynamoDBClient;
  readonly table: string;
  readonly partitions: readonly string[];
  /** Sort keys from `from` up to `to`, both inclusive. */
  readonly from: string;
  readonly to: string;
  /** Attributes wanted beside the sort key. */
  readonly attributes?: readonly string[];
  /** Items asked of one partition at a time. */
  readonly pageSize: number;
  /** For messages: `reading the registry`. */
  readonly doing: string;
}

/**
 * The items of several partitions as one sequence by sort key, strongly consistent, read page by page
 * as far as they are taken. Keys that stand in two partitions come twice, one behind the other.
 */
export async function* sortedItems(range: PartitionRange): AsyncGenerator<Item> {
  if (range.from > range.to) return;
  const open = range.partitions.map((partition) => openPartition(range, partition));
  await Promise.all(open.map((partition) => partition.fill()));
  for (;;) {
    const first = open.reduce<Partition | undefined>(
      (a, b) => (a === undefined || before(b.first(), a.first()) ? b : a),
      undefined,
    );
    const item = first?.first();
    if (first === undefined || item === undefined) return;
    yield item;
    first.shift();
    await first.fill();
  }
}

interface Partition {
  /** Reads the next page where the last one is used up. */
  fill(): Promise<void>;
  first(): Item | undefined;
  shift(): void;
}

function openPartition(range: PartitionRange, partition: string): Partition {
  const attributes = ['sk', ...(range.attributes ?? [])];
  let page: readonly Item[] = [];
  let at = 0;
  let next: Record<string, AttributeValue> | undefined;
  let ended = false;

  const read = async (): Promise<void> => {
    const answer = await answered(range.doing, () =>
      range.client.send(
        new QueryCommand({
          TableName: range.table,
          ConsistentRead: true,
          KeyConditionExpression: 'pk = :pk AND sk BETWEEN :from AND :to',
          ExpressionAttributeValues: {
            ':pk': { S: partition },
            ':from': { S: range.from },
            ':to': { S: range.to },
          },
          ProjectionExpression: attributes.map((name) => `#${name}`).join(', '),
          ExpressionAttributeNames: Object.fromEntries(
            attributes.map((name) => [`#${name}`, name]),
          ),
          Limit: range.pageSize,
          ...(next === undefined ? {} : { ExclusiveStartKey: next }),
        }),
      ),
    );
    page = answer.Items ?? [];
    at = 0;
    next = answer.LastEvaluatedKey;
    ended = next === undefined;
  };

  return {
    async fill() {
      while (at >= page.length && !ended) await read();
    },
    first: () => page[at],
    shift() {
      at += 1;
    },
  };
}

/** By bytes, as DynamoDB orders; `undefined` comes last. */
function before(a: Item | undefined, b: Item | undefined): boolean {
  if (a === undefined || b === undefined) return a !== undefined;
  return Buffer.compare(Buffer.from(a.sk?.S ?? ''), Buffer.from(b.sk?.S ?? '')) < 0;
}
