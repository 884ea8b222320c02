import type { StreamRecord } from '../lambdas/outbox/stream.ts';
import type { LedgerId, LedgerRecord } from '../lambdas/ports/ledger-store.ts';
import { ledgerKey } from '../lambdas/ports/ledger-store.ts';
import type { Chance } from './chance.ts';
import type { OutboxStrike } from './outbox-strikes.ts';
import type { VirtualTime } from './virtual-time.ts';

/** A record of the ledgers' stream, on its way. */
export interface Delivery {
  readonly id: LedgerId;
  readonly seq: number;
  readonly record: StreamRecord;
}

export interface StreamOptions {
  readonly time: VirtualTime;
  readonly chance: Chance;
  readonly strikes: readonly OutboxStrike[];
  /** Positions of what is to be handed over again; nothing where the consumer died. */
  hand(batch: readonly Delivery[]): Promise<readonly string[] | undefined>;
  /** It will not come again. */
  lost(delivery: Delivery): void;
}

const MAX_SHARDS = 3;
const MAX_BATCH = 10;
/** A batch that gets no further is given up after so many tries, as the service does it. */
const MAX_TRIES = 12;

/**
 * The stream of the ledger table as Lambda reads it: in shards, each in order but for what is late, in
 * batches, one at a time in a shard. A batch is done up to its first failed record, and handed over again
 * from there; all of it where the consumer died.
 */
export class LedgerStream {
  readonly #options: StreamOptions;
  readonly #shards: Delivery[][];
  readonly #busy = new Set<Delivery[]>();
  readonly #shardOf = new Map<string, Delivery[]>();
  readonly #faults = new Map<number, Extract<OutboxStrike, { kind: 'stream' }>>();
  readonly #batchSize: number;
  readonly #gatherMs: number;
  #appended = 0;
  /** Not yet in a shard. */
  #underWay = 0;
  #positions = 0;

  constructor(options: StreamOptions) {
    this.#options = options;
    const { chance, strikes } = options;
    for (const strike of strikes)
      if (strike.kind === 'stream') this.#faults.set(strike.nth, strike);
    this.#shards = Array.from({ length: chance.between(1, MAX_SHARDS) }, () => []);
    this.#batchSize = chance.between(1, MAX_BATCH);
    this.#gatherMs = chance.pick([20, 300, 1_000, 5_000]);
  }

  /** How many records there were. */
  get records(): number {
    return this.#appended;
  }

  get idle(): boolean {
    return this.#underWay === 0 && this.#busy.size === 0;
  }

  appended(id: LedgerId, record: LedgerRecord): void {
    this.#appended += 1;
    const fault = this.#faults.get(this.#appended);
    const deliver = (): void => this.#deliver(id, record);
    switch (fault?.fault) {
      case undefined:
        deliver();
        break;
      case 'lost':
        this.#options.lost(this.#delivery(id, record));
        break;
      case 'late':
        this.#later(fault.delayMs, deliver);
        break;
      case 'twice':
        deliver();
        this.#later(fault.delayMs, deliver);
    }
  }

  #later(delayMs: number, deliver: () => void): void {
    this.#underWay += 1;
    this.#options.time.world.timer(delayMs, () => {
      this.#underWay -= 1;
      deliver();
    });
  }

  #delivery(id: LedgerId, { seq, body, prev, hash, nonce }: LedgerRecord): Delivery {
    this.#positions += 1;
    const image = { body: { S: body }, prev: { S: prev }, hash: { S: hash }, nonce: { S: nonce } };
    const dynamodb = {
      SequenceNumber: String(this.#positions).padStart(21, '0'),
      ApproximateCreationDateTime: this.#options.time.now() / 1_000,
      Keys: { pk: { S: ledgerKey(id) }, sk: { N: String(seq) } },
      NewImage: image,
    };
    return { id, seq, record: { eventName: 'INSERT', dynamodb } };
  }

  /** All of one saga comes through one shard. */
  #deliver(id: LedgerId, record: LedgerRecord): void {
    const key = ledgerKey(id);
    const shard = this.#shardOf.get(key) ?? this.#options.chance.pick(this.#shards);
    this.#shardOf.set(key, shard);
    shard.push(this.#delivery(id, record));
    if (this.#busy.has(shard)) return;
    this.#busy.add(shard);
    void this.#drain(shard);
  }

  async #drain(shard: Delivery[]): Promise<void> {
    const { time, chance, hand, lost } = this.#options;
    while (shard.length > 0) {
      await time.world.sleep(chance.between(1, this.#gatherMs));
      let batch = shard.splice(0, this.#batchSize);
      for (let tries = 1; batch.length > 0; ) {
        const left = rest(batch, await hand(batch));
        tries = left.length < batch.length ? 1 : tries + 1;
        batch = left;
        if (batch.length === 0) break;
        if (tries > MAX_TRIES) {
          for (const delivery of batch) lost(delivery);
          break;
        }
        await time.world.sleep(chance.between(200, 4_000));
      }
    }
    // At once: what is delivered in the next moment begins anew.
    this.#busy.delete(shard);
  }
}

/** What of a batch is to be handed over again. */
export function rest(
  batch: readonly Delivery[],
  failed: readonly string[] | undefined,
): Delivery[] {
  if (failed === undefined) return [...batch];
  const first = batch.findIndex(({ record }) => failed.includes(positionOf(record)));
  return first === -1 ? [] : batch.slice(first);
}

function positionOf({ dynamodb }: StreamRecord): string {
  return dynamodb?.SequenceNumber ?? '';
}
