import { randomUUID } from 'node:crypto';
import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
} from '@aws-sdk/client-dynamodb';
import type { CallRecord } from '../records.ts';
import type { PartnerStore, Tx } from '../store.ts';
import { type Changes, Draft, Rows } from './draft.ts';

export interface DynamoPartnerStore {
  /** The caller owns it and destroys it. */
  readonly client: DynamoDBClient;
  /** With partition key `pk` (text) and sort key `sk` (number). */
  readonly table: string;
  now(): number;
  /** Default {@link CALL_LIFE_MS}. */
  readonly callLifeMs?: number;
  /** Names one write, and never another. Default: random. */
  readonly nonce?: () => string;
}

/** The one partition: all transactions, in order. */
export const JOURNAL = 'journal';

/** A call that is undecided for longer was left so by a process that died. */
export const CALL_LIFE_MS = 40_000;

/** Each conflict means that another writer got through, so this many never follow by chance. */
const MAX_TRIES = 100;

const NOBODY_WAS_FASTER = 'attribute_not_exists(pk)';

/**
 * The store in a DynamoDB table, for any number of writers at once.
 *
 * The table is a journal: transaction `n` is one item that holds every row it changed, and is put only if no
 * item has that number. So one conditional write is the whole transaction, its order, and what keeps an
 * idempotency key to one effect. Rows are a fold over the journal, kept in memory and read on from there;
 * a process that starts reads all of it.
 */
export function openDynamoStore(options: DynamoPartnerStore): PartnerStore {
  const journal = new Journal(options);
  // One after the other within this process, so that only other processes are met as conflicts.
  let before: Promise<unknown> = Promise.resolve();
  return {
    transact(work) {
      const turn = before.then(() => journal.transact(work));
      before = turn.catch(() => {});
      return turn;
    },
    close: async () => {},
  };
}

class Journal {
  readonly #options: DynamoPartnerStore;
  readonly #nonce: () => string;
  readonly #rows = new Rows();
  /** Number of the last transaction in the rows. */
  #last = 0;

  constructor(options: DynamoPartnerStore) {
    this.#options = options;
    this.#nonce = options.nonce ?? randomUUID;
  }

  async transact<T>(work: (tx: Tx) => T): Promise<T> {
    for (let attempt = 1; attempt <= MAX_TRIES; attempt += 1) {
      await this.#catchUp();
      const draft = new Draft(this.#rows);
      for (const call of this.#abandoned()) draft.putCall(call);
      const marked = draft.changes();
      const answer = work(draft);
      const changes = draft.changes();
      // To look at the records marks what is shown, and writes nothing.
      if (changes === undefined || JSON.stringify(changes) === JSON.stringify(marked)) {
        return answer;
      }
      if (await this.#append(changes)) return answer;
    }
    throw new Error(`${MAX_TRIES} other transactions were faster: let fewer callers in at once`);
  }

  #abandoned(): CallRecord[] {
    const { callLifeMs = CALL_LIFE_MS } = this.#options;
    const now = this.#options.now();
    return [...this.#rows.calls.values()]
      .filter(({ outcome, at }) => outcome === 'open' && now - at > callLifeMs)
      .map((call) => ({ ...call, outcome: 'interrupted', finishedAt: now }));
  }

  async #catchUp(): Promise<void> {
    const { client, table } = this.#options;
    for (let more = true; more; ) {
      const page = await client.send(
        new QueryCommand({
          TableName: table,
          KeyConditionExpression: 'pk = :journal AND sk > :last',
          ExpressionAttributeValues: {
            ':journal': { S: JOURNAL },
            ':last': { N: String(this.#last) },
          },
          ConsistentRead: true,
        }),
      );
      for (const { sk, changes } of page.Items ?? []) {
        this.#rows.apply(JSON.parse(changes?.S ?? '') as Changes);
        this.#last = Number(sk?.N);
      }
      more = page.LastEvaluatedKey !== undefined;
    }
  }

  /** Whether it stands now as the next transaction. */
  async #append(changes: Changes): Promise<boolean> {
    const { client, table, now } = this.#options;
    const key = { pk: { S: JOURNAL }, sk: { N: String(this.#last + 1) } };
    const nonce = this.#nonce();
    const item = {
      ...key,
      at: { S: new Date(now()).toISOString() },
      nonce: { S: nonce },
      changes: { S: JSON.stringify(changes) },
    };
    try {
      await client.send(
        new PutItemCommand({
          TableName: table,
          Item: item,
          ConditionExpression: NOBODY_WAS_FASTER,
        }),
      );
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw error;
      // The client may have sent again what had been written: then the item is ours.
      const { Item } = await client.send(
        new GetItemCommand({ TableName: table, Key: key, ConsistentRead: true }),
      );
      if (Item?.nonce?.S !== nonce) return false;
    }
    this.#rows.apply(changes);
    this.#last += 1;
    return true;
  }
}
