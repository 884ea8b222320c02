import { beforeEach, describe, expect, test } from 'vitest';
import type { LedgerId, LedgerRecord } from '../../lambdas/ports/ledger-store.ts';
import { StoreUnavailable } from '../../lambdas/ports/ledger-store.ts';
import { ALL_STORIES, inserted, ledgerOf, modified, removed } from './ledgers.ts';
import { MemoryProjection, NOW, OutboxWorld } from './world.ts';

let world: OutboxWorld;
beforeEach(() => {
  world = new OutboxWorld();
});

const id: LedgerId = { tenant: 'acme', sagaId: 'saga-a' };
const all = (records: readonly LedgerRecord[], of = id) =>
  records.map((record) => inserted(of, record));
const at = (records: readonly LedgerRecord[], seq: number): LedgerRecord => {
  const record = records[seq - 1];
  if (record === undefined) throw new Error(`no record ${seq}`);
  return record;
};

describe('what is published', () => {
  test.each([
    ['completed', ['started', 'completed']],
    ['undone', ['started', 'compensating', 'compensated']],
    ['cancelled', ['started', 'compensating', 'compensated']],
    ['expired', ['started', 'compensating', 'compensated']],
    ['undo failed', ['started', 'compensating', 'needs_review']],
    ['reviewed', ['started', 'needs_review', 'completed']],
    ['failed behind the pivot', ['started', 'compensating', 'incident']],
    ['known late', ['started', 'compensating', 'compensated', 'incident']],
  ] as const)('of a saga that is %s', async (story, types) => {
    await world.take(...all(ledgerOf(story, id)));
    expect(world.bus.types('saga-a')).toEqual(types);
    expect(world.bus.taken).toHaveLength(types.length);
  });

  test('says why, in words of closed lists', async () => {
    const reasons: (string | undefined)[] = [];
    for (const story of ALL_STORIES) {
      const bus = new OutboxWorld();
      await bus.take(...all(ledgerOf(story, id)));
      for (const { detail } of bus.bus.taken) if ('reason' in detail) reasons.push(detail.reason);
    }
    expect(reasons).toEqual([
      'step_failed',
      'cancelled',
      'deadline_passed',
      'step_failed',
      'recovery_failed',
      'unknown_outcome',
      'step_failed',
      'pivot_committed',
      'step_failed',
      'late_evidence',
    ]);
  });

  test('names the event’s own place, time and state, and nothing that anybody wrote', async () => {
    await world.take(...all(ledgerOf('reviewed', id)));
    const review = world.bus.taken[1];
    expect(review).toEqual({
      type: 'counterstep.saga.needs_review',
      at: 1_001_000,
      detail: {
        id: 'acme/saga-a/6',
        tenant: 'acme',
        sagaId: 'saga-a',
        name: 'sample',
        version: '1',
        state: 'needs_review',
        seq: 6,
        at: '1970-01-01T00:16:41.000Z',
        reason: 'unknown_outcome',
        review: 'saga-1.6',
      },
    });
    const text = JSON.stringify(world.bus.taken);
    for (const word of ['ada@example.com', 'no answer', 'shop', 'key-1']) {
      expect(text).not.toContain(word);
    }
  });
});

describe('order', () => {
  test('records in order are passed on without a look at the ledger', async () => {
    for (const record of ledgerOf('undone', id)) await world.take(inserted(id, record));
    expect(world.bus.types('saga-a')).toEqual(['started', 'compensating', 'compensated']);
    expect(world.ledgerReads).toBe(0);
  });

  test('a batch that came in disorder is put in order', async () => {
    await world.take(...all(ledgerOf('undone', id)).reverse());
    expect(world.bus.types('saga-a')).toEqual(['started', 'compensating', 'compensated']);
    expect(world.ledgerReads).toBe(0);
  });

  test('a gap is filled from the ledger, and the records that come late change nothing', async () => {
    const records = ledgerOf('undone', id);
    await world.append(id, records);
    await world.take(inserted(id, at(records, 9)));
    expect(world.bus.types('saga-a')).toEqual(['started', 'compensating', 'compensated']);
    expect((await world.projection.noted(id))?.row).toMatchObject({ state: 'compensated', seq: 9 });
    await world.take(...all(records));
    await world.take(...all(records).reverse());
    expect(world.bus.taken).toHaveLength(3);
    expect(world.ledgerReads).toBe(1);
  });

  test('sagas of one batch do not mix', async () => {
    const ids = [1, 2, 3].flatMap((n) => [
      { tenant: 'acme', sagaId: `s${n}` },
      { tenant: 'beta', sagaId: `s${n}` },
    ]);
    const batch = ids.flatMap((each, n) =>
      all(ledgerOf(n % 2 === 0 ? 'completed' : 'undone', each), each),
    );
    const report = await world.take(...batch.reverse());
    expect(report).toMatchObject({ records: 45, sagas: 6, published: 15, failed: [] });
    expect(world.bus.taken.every(({ detail }) => detail.id.startsWith(detail.tenant))).toBe(true);
  });
});

describe('failures', () => {
  test('what the bus refuses is told with its position, and goes out with the next try, in order', async () => {
    const records = ledgerOf('undone', id);
    await world.append(id, records);
    const batch = all(records);
    world.bus.refuses = ({ type }) => type.endsWith('compensating');
    const report = await world.take(...batch);
    expect(report).toMatchObject({ failed: [batch[0]?.dynamodb?.SequenceNumber], published: 1 });
    // The lists are right meanwhile.
    expect((await world.projection.noted(id))?.row?.state).toBe('compensated');
    world.bus.refuses = () => false;
    expect(await world.take(...batch)).toMatchObject({ failed: [], published: 2 });
    expect(world.bus.types('saga-a')).toEqual(['started', 'compensating', 'compensated']);
    expect(world.bus.taken).toHaveLength(3);
  });

  test('published and then not noted: it goes out once more, under the same id', async () => {
    const projection = new MemoryProjection();
    let broken = true;
    world = new OutboxWorld({
      projection: {
        noted: (of) => projection.noted(of),
        async note(of, change) {
          if (broken) throw new StoreUnavailable('injected');
          await projection.note(of, change);
        },
      },
    });
    const batch = all(ledgerOf('completed', id));
    expect((await world.take(...batch)).failed).toHaveLength(1);
    broken = false;
    expect((await world.take(...batch)).failed).toEqual([]);
    const ids = world.bus.taken.map(({ detail }) => detail.id);
    expect(ids).toEqual(['acme/saga-a/1', 'acme/saga-a/6', 'acme/saga-a/1', 'acme/saga-a/6']);
  });

  test('one saga’s failure does not hold up the others of its batch', async () => {
    const other = { tenant: 'acme', sagaId: 'saga-b' };
    world.bus.refuses = ({ detail }) => detail.sagaId === 'saga-a';
    const [first = inserted(id, at([], 1)), ...rest] = all(ledgerOf('completed', id));
    const report = await world.take(first, ...all(ledgerOf('undone', other), other), ...rest);
    expect(report.failed).toEqual([first.dynamodb?.SequenceNumber]);
    expect(world.bus.types('saga-b')).toEqual(['started', 'compensating', 'compensated']);
  });

  test('a record of no ledger is given back, with its position', async () => {
    const foreign = { eventName: 'INSERT', dynamodb: { SequenceNumber: '7', Keys: {} } };
    expect((await world.take(foreign)).failed).toEqual(['7']);
    const odd = { ...inserted(id, at(ledgerOf('completed', id), 1), '8'), eventName: 'OTHER' };
    expect((await world.take(odd)).failed).toEqual(['8']);
  });

  test('the age of the oldest record tells how far behind it is', async () => {
    const report = await world.take(...all(ledgerOf('completed', id)));
    expect(report.lagMs).toBe(NOW - 1_700_000_000_000);
  });
});

describe('tampering', () => {
  const tampered = () => world.bus.taken.filter(({ type }) => type.endsWith('tampered'));

  test.each(['modified', 'removed'] as const)('a record that is %s', async (found) => {
    const records = ledgerOf('undone', id);
    await world.take(...all(records));
    const [before, after] = [at(records, 3), { ...at(records, 3), body: '{}' }];
    const record = found === 'removed' ? removed(id, before) : modified(id, before, after);
    expect(await world.take(record)).toMatchObject({ failed: [], tampered: 1 });
    expect(tampered()).toEqual([
      {
        type: 'counterstep.ledger.tampered',
        at: 1_700_000_000_000,
        detail: {
          id: 'acme/saga-a/3/tampered',
          tenant: 'acme',
          sagaId: 'saga-a',
          seq: 3,
          at: '2023-11-14T22:13:20.000Z',
          found,
          name: 'sample',
          state: 'compensated',
        },
      },
    ]);
    expect(await world.projection.noted(id)).toMatchObject({
      head: { seq: 9, hash: at(records, 9).hash },
      row: { state: 'compensated' },
      tampered: [{ seq: 3, found }],
    });
    await world.take(record, record);
    expect(tampered()).toHaveLength(1);
  });

  test('a tail that is cut off: the noted head stays', async () => {
    const records = ledgerOf('completed', id);
    await world.append(id, records.slice(0, 4));
    await world.take(...all(records));
    await world.take(...records.slice(4).map((record) => removed(id, record)));
    const noted = await world.projection.noted(id);
    expect(noted?.head).toEqual({ seq: 6, hash: at(records, 6).hash });
    expect(noted?.tampered.map(({ seq }) => seq)).toEqual([5, 6]);
  });

  test('removed before it was ever seen: what stood there becomes the head', async () => {
    const records = ledgerOf('completed', id);
    await world.take(removed(id, at(records, 6)));
    expect((await world.projection.noted(id))?.head).toEqual({
      seq: 6,
      hash: at(records, 6).hash,
    });
    expect(tampered()).toHaveLength(1);
  });

  test('announced, and not in the ledger any more', async () => {
    const records = ledgerOf('completed', id);
    await world.append(id, records.slice(0, 3));
    await world.take(inserted(id, at(records, 6)));
    const noted = await world.projection.noted(id);
    expect(noted).toMatchObject({ head: { seq: 6 }, row: { state: 'completed', seq: 6 } });
    expect(noted?.tampered).toMatchObject([
      { seq: 4, found: 'missing' },
      { seq: 6, found: 'missing' },
    ]);
    expect(world.bus.types('saga-a')).toEqual([
      'ledger.tampered',
      'ledger.tampered',
      'started',
      'completed',
    ]);
  });

  test('a ledger shorter than what was noted', async () => {
    const records = ledgerOf('undone', id);
    await world.take(...all(records.slice(0, 8)));
    await world.append(id, records.slice(0, 5));
    const longer = { ...at(records, 9), seq: 12 };
    await world.take(inserted(id, longer));
    expect((await world.projection.noted(id))?.head).toEqual({ seq: 8, hash: at(records, 8).hash });
    expect(tampered().length).toBeGreaterThan(0);
  });

  test('a record put in the place of another', async () => {
    const [records, others] = [ledgerOf('completed', id), ledgerOf('cancelled', id)];
    await world.take(...all(records));
    await world.append(id, others);
    // Behind a chain that was written anew, whole and fitting in itself.
    await world.take(inserted(id, at(others, 6)), inserted(id, at(others, 7)));
    expect(await world.projection.noted(id)).toMatchObject({
      head: { seq: 6, hash: at(records, 6).hash },
      tampered: [{ seq: 6, found: 'modified' }, { seq: 7 }],
    });
  });

  test.each([
    ['cannot be read', (record: LedgerRecord) => ({ ...record, body: 'no json' })],
    ['has another body', (record: LedgerRecord) => ({ ...record, body: `${record.body} ` })],
    ['follows another', (record: LedgerRecord) => ({ ...record, prev: record.hash })],
    ['is empty', ({ seq }: LedgerRecord) => ({ seq, body: '', prev: '', hash: '', nonce: '' })],
  ])('a record that %s ends what is known, and blocks nobody', async (_, change) => {
    const records = ledgerOf('completed', id);
    const damaged = [...records.slice(0, 3), change(at(records, 4)), ...records.slice(4)];
    await world.append(id, records.slice(0, 3));
    const report = await world.take(...all(damaged));
    expect(report).toMatchObject({ failed: [], tampered: 1 });
    expect(await world.projection.noted(id)).toMatchObject({
      head: { seq: 3 },
      row: { seq: 3 },
      tampered: [{ seq: 4, found: 'broken' }],
    });
  });
});
