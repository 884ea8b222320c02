import { type DynamoDBClient, PutItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FaultRow } from '../../examples/partners/faults.ts';
import { clearFaults, faultSchema, takeFault } from '../../examples/partners/faults.ts';
import type { CallRecord, EffectRow } from '../../examples/partners/records.ts';
import type { PartnerStore, Tx } from '../../examples/partners/store.ts';
import { JOURNAL, openDynamoStore } from '../../examples/partners/stores/dynamodb.ts';
import { openLmdbStore } from '../../examples/partners/stores/lmdb.ts';
import { type Dynalite, startDynalite } from '../support/dynalite.ts';
import { freshPartnerTable } from './partner-tables.ts';
import { folder } from './support.ts';

let dynalite: Dynalite;
beforeAll(async () => {
  dynalite = await startDynalite();
});
afterAll(() => dynalite.close());

interface Harness {
  readonly store: PartnerStore;
  /** Opens the same records again, as another process would. */
  reopen(now?: () => number): Promise<PartnerStore>;
  close(): Promise<void>;
}

const AT = 1_000;

const HARNESSES: Readonly<Record<string, () => Promise<Harness>>> = {
  'on disk': async () => {
    const { path, remove } = folder();
    let store = openLmdbStore(path, () => AT);
    return {
      store,
      reopen: async (now = () => AT) => {
        await store.close();
        store = openLmdbStore(path, now);
        return store;
      },
      close: async () => {
        await store.close();
        remove();
      },
    };
  },
  'in a table': async () => {
    const table = await freshPartnerTable(dynalite.client);
    const open = (now: () => number): PartnerStore =>
      openDynamoStore({ client: dynalite.client, table, now });
    return {
      store: open(() => AT),
      reopen: async (now = () => AT) => open(now),
      close: async () => {},
    };
  },
};

function call(seq: number, over: Partial<CallRecord> = {}): CallRecord {
  return {
    seq,
    system: 'stock',
    operation: 'reserve',
    correlationId: 'c-1',
    idempotencyKey: null,
    orderId: 'O-1',
    at: AT,
    finishedAt: null,
    outcome: 'open',
    status: null,
    code: null,
    fault: null,
    effect: null,
    ...over,
  };
}

function effect(seq: number, over: Partial<EffectRow> = {}): EffectRow {
  return {
    seq,
    system: 'stock',
    operation: 'reserve',
    externalId: `RES-${seq}`,
    reverses: null,
    reversedBy: [],
    correlationId: 'c-1',
    idempotencyKey: null,
    orderId: 'O-1',
    call: 1,
    at: AT,
    settlesAt: null,
    settlesAs: 'settled',
    amountMinor: null,
    currency: null,
    costMinor: null,
    document: { text: 'Grüße 🙂' },
    ...over,
  };
}

function fault(id: string, over: object = {}): FaultRow {
  const named = { system: 'stock', operation: 'reserve', fault: 'refuse', ...over };
  return { ...faultSchema.parse(named), id };
}

describe.each(Object.entries(HARNESSES))('the partners’ store %s', (_name, open) => {
  let harness: Harness;
  let store: PartnerStore;
  beforeAll(async () => {
    harness = await open();
    ({ store } = harness);
  });
  afterAll(() => harness.close());
  const inStore = <T>(work: (tx: Tx) => T): Promise<T> => store.transact(work);

  it('counts from 1, each counter by itself', async () => {
    expect(await inStore((tx) => [tx.next('a'), tx.next('a'), tx.next('b')])).toEqual([1, 2, 1]);
    expect(await inStore((tx) => tx.next('a'))).toBe(3);
  });

  it('shows a transaction its own writes', async () => {
    const seen = await inStore((tx) => {
      tx.putEffect(effect(1));
      tx.putEffect({ ...effect(1), reversedBy: ['REL-1'] });
      return [tx.effect('RES-1'), tx.effects().length, tx.effectsOf('stock', 'c-1').length];
    });
    expect(seen).toEqual([{ ...effect(1), reversedBy: ['REL-1'] }, 1, 1]);
  });

  it('keeps nothing of a transaction that throws', async () => {
    const failing = inStore((tx) => {
      tx.putEffect(effect(900));
      tx.putKey('stock', 'k-900', { externalId: 'x', fingerprint: '', status: 201, spoil: null });
      throw new Error('a bug');
    });
    await expect(failing).rejects.toThrow('a bug');
    const rows = await inStore((tx) => [tx.effect('RES-900'), tx.key('stock', 'k-900')]);
    expect(rows).toEqual([undefined, undefined]);
  });

  it('finds keys by system, effects by correlation id, and lists in order of their numbers', async () => {
    const row = { externalId: 'RES-2', fingerprint: 'f', status: 201, spoil: null };
    await inStore((tx) => {
      tx.putKey('stock', 'k', row);
      tx.putEffect(effect(2, { correlationId: 'c-2' }));
      tx.putEffect(effect(10, { correlationId: 'c-2' }));
      tx.putEffect(effect(11, { correlationId: 'c-2', system: 'erp' }));
      for (const seq of [1, 2, 10]) tx.putCall(call(seq));
    });
    await inStore((tx) => tx.putCall(call(2, { outcome: 'committed' })));
    expect(await inStore((tx) => [tx.key('stock', 'k'), tx.key('erp', 'k')])).toEqual([
      row,
      undefined,
    ]);
    const found = await inStore((tx) => tx.effectsOf('stock', 'c-2').map(({ seq }) => seq));
    expect(found).toEqual([2, 10]);
    expect(await inStore((tx) => tx.calls().map(({ seq, outcome }) => [seq, outcome]))).toEqual([
      [1, 'open'],
      [2, 'committed'],
      [10, 'open'],
    ]);
  });

  it('takes faults in the order they came, counts them down, and clears them', async () => {
    await inStore((tx) => {
      tx.putFault(fault('F-1', { times: 2, skip: 1 }));
      tx.putFault(fault('F-2', { operation: 'release' }));
    });
    const taken = [];
    for (let n = 0; n < 4; n += 1) {
      taken.push((await inStore((tx) => takeFault(tx, call(20 + n))))?.id);
    }
    expect(taken).toEqual([undefined, 'F-1', 'F-1', undefined]);
    expect(await inStore((tx) => tx.faults().map(({ id }) => id))).toEqual(['F-2']);
    await inStore(clearFaults);
    expect(await inStore((tx) => tx.faults())).toEqual([]);
  });

  it('answers the same to the next process, which marks calls that a dead one left', async () => {
    const before = await inStore((tx) => ({ effects: tx.effects(), key: tx.key('stock', 'k') }));
    store = await harness.reopen(() => AT + 60_000);
    const after = await inStore((tx) => ({ effects: tx.effects(), key: tx.key('stock', 'k') }));
    expect(after).toEqual(before);
    const calls = await inStore((tx) => tx.calls().map(({ seq, outcome }) => [seq, outcome]));
    expect(calls).toEqual([
      [1, 'interrupted'],
      [2, 'committed'],
      [10, 'interrupted'],
    ]);
    expect(await inStore((tx) => tx.next('a'))).toBe(4);
  });
});

describe('many processes over one table', () => {
  const opened = (table: string, client: DynamoDBClient = dynalite.client): PartnerStore =>
    openDynamoStore({ client, table, now: () => AT });

  it('take turns: no number is given twice, and nothing is lost', async () => {
    const table = await freshPartnerTable(dynalite.client);
    const stores = Array.from({ length: 6 }, () => opened(table));
    const numbers = await Promise.all(
      stores.flatMap((store) =>
        Array.from({ length: 5 }, () => store.transact((tx) => tx.next('n'))),
      ),
    );
    expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, n) => n + 1));
    expect(await opened(table).transact((tx) => tx.next('n'))).toBe(31);
  });

  it('one of many makes the effect of a key', async () => {
    const table = await freshPartnerTable(dynalite.client);
    const stores = Array.from({ length: 6 }, () => opened(table));
    const ids = await Promise.all(
      stores.map((store, n) =>
        store.transact((tx) => {
          const known = tx.key('stock', 'k');
          if (known !== undefined) return known.externalId;
          const externalId = `RES-${n}`;
          tx.putEffect(effect(tx.next('seq'), { externalId }));
          tx.putKey('stock', 'k', { externalId, fingerprint: '', status: 201, spoil: null });
          return externalId;
        }),
      ),
    );
    expect(new Set(ids).size).toBe(1);
    expect(await opened(table).transact((tx) => tx.effects())).toHaveLength(1);
  });

  it('to look at the records writes nothing, not even what is found abandoned', async () => {
    const table = await freshPartnerTable(dynalite.client);
    await opened(table).transact((tx) => tx.putCall(call(1)));
    const later = openDynamoStore({ client: dynalite.client, table, now: () => AT + 60_000 });
    expect(await later.transact((tx) => tx.calls())).toMatchObject([{ outcome: 'interrupted' }]);
    const { Count } = await dynalite.client.send(
      new QueryCommand({
        TableName: table,
        KeyConditionExpression: 'pk = :journal',
        ExpressionAttributeValues: { ':journal': { S: JOURNAL } },
      }),
    );
    expect(Count).toBe(1);
  });

  it('a write whose answer was lost, and which the client sent again, counts once', async () => {
    const table = await freshPartnerTable(dynalite.client);
    let doubled = 0;
    // As the SDK does where the first answer never came: the same request a second time.
    const doubting = new Proxy(dynalite.client, {
      get(target, name) {
        if (name !== 'send') return Reflect.get(target, name) as unknown;
        return async (command: PutItemCommand) => {
          if (command instanceof PutItemCommand) {
            await target.send(command);
            doubled += 1;
          }
          return target.send(command);
        };
      },
    });
    const store = opened(table, doubting);
    expect(await store.transact((tx) => tx.next('n'))).toBe(1);
    expect(await store.transact((tx) => tx.next('n'))).toBe(2);
    expect(doubled).toBe(2);
  });
});
