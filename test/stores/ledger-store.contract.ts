import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { LedgerId, LedgerStore } from '../../lambdas/ports/ledger-store.ts';
import {
  AWKWARD_TEXTS,
  freshLedger,
  freshTenant,
  type OpenHarness,
  recordAt,
  type StoreHarness,
} from './harness.ts';

/** What every ledger store must do. */
export function ledgerStoreContract(name: string, open: OpenHarness): void {
  describe(`ledger store: ${name}`, () => {
    let harness: StoreHarness;
    let store: LedgerStore;
    beforeAll(async () => {
      harness = await open();
      store = harness.stores.ledger;
    });
    afterAll(() => harness.close());

    test('a ledger nobody wrote is empty', async () => {
      const ledger = freshLedger();
      expect(await store.read(ledger)).toEqual([]);
      expect(await store.head(ledger)).toBeUndefined();
    });

    test('records come back as written, in order of seq', async () => {
      const ledger = freshLedger();
      for (let seq = 1; seq <= 12; seq += 1) {
        expect(await store.append(ledger, recordAt(seq))).toEqual({ kind: 'appended' });
      }
      const all = Array.from({ length: 12 }, (_, at) => recordAt(at + 1));
      expect(await store.read(ledger)).toEqual(all);
      expect(await store.read(ledger, 0)).toEqual(all);
      expect(await store.read(ledger, 9)).toEqual(all.slice(9));
      expect(await store.read(ledger, 12)).toEqual([]);
      expect(await store.read(ledger, 1_000_000)).toEqual([]);
      expect(await store.head(ledger)).toEqual(recordAt(12));
    });

    test('seq orders as a number, also across byte and digit borders', async () => {
      const ledger = freshLedger();
      const seqs = [1, 2, 9, 10, 11, 99, 100, 255, 256, 257, 65_535, 65_536, 2 ** 32, 2 ** 40];
      for (const seq of [...seqs].reverse()) await store.append(ledger, recordAt(seq));
      expect((await store.read(ledger)).map((record) => record.seq)).toEqual(seqs);
      expect((await store.read(ledger, 256)).map((record) => record.seq)).toEqual(seqs.slice(9));
      expect((await store.head(ledger))?.seq).toBe(2 ** 40);
    });

    test('what stands is never overwritten, and is answered', async () => {
      const ledger = freshLedger();
      const first = recordAt(1, { nonce: 'first' });
      await store.append(ledger, first);
      const second = recordAt(1, { nonce: 'second', body: '{"other":true}', hash: 'other' });
      expect(await store.append(ledger, second)).toEqual({ kind: 'conflict', standing: first });
      expect(await store.read(ledger)).toEqual([first]);
    });

    test('a retried write meets itself: the standing record has its nonce', async () => {
      const ledger = freshLedger();
      const record = recordAt(1, { nonce: 'mine' });
      await store.append(ledger, record);
      const again = await store.append(ledger, record);
      expect(again).toEqual({ kind: 'conflict', standing: record });
    });

    test('of 100 writers at one place one wins, and all others see the winner', async () => {
      const ledger = freshLedger();
      await store.append(ledger, recordAt(1));
      const results = await Promise.all(
        Array.from({ length: 100 }, (_, writer) =>
          store.append(ledger, recordAt(2, { nonce: `writer-${writer}` })),
        ),
      );
      const winners = results.flatMap((result, writer) =>
        result.kind === 'appended' ? [writer] : [],
      );
      expect(winners).toHaveLength(1);
      const winner = recordAt(2, { nonce: `writer-${winners[0]}` });
      for (const result of results) {
        if (result.kind === 'conflict') expect(result.standing).toEqual(winner);
      }
      expect(await store.read(ledger)).toEqual([recordAt(1), winner]);
    });

    test('many writers on one ledger leave no gap and lose nothing', async () => {
      const ledger = freshLedger();
      const write = async (writer: number): Promise<void> => {
        for (let done = 0; done < 5; ) {
          const seq = ((await store.head(ledger))?.seq ?? 0) + 1;
          const record = recordAt(seq, { nonce: `${writer}-${done}` });
          if ((await store.append(ledger, record)).kind === 'appended') done += 1;
        }
      };
      await Promise.all(Array.from({ length: 6 }, (_, writer) => write(writer)));
      const records = await store.read(ledger);
      expect(records.map((record) => record.seq)).toEqual(
        Array.from({ length: 30 }, (_, at) => at + 1),
      );
      expect(new Set(records.map((record) => record.nonce)).size).toBe(30);
    });

    test('a long ledger is read whole, over many pages', async () => {
      const ledger = freshLedger();
      const body = (seq: number): string => `${seq}:${'x'.repeat(150_000)}`;
      const seqs = Array.from({ length: 24 }, (_, at) => at + 1);
      for (const seq of seqs) await store.append(ledger, recordAt(seq, { body: body(seq) }));
      const records = await store.read(ledger);
      expect(records.map((record) => record.seq)).toEqual(seqs);
      expect(records.every((record) => record.body === body(record.seq))).toBe(true);
      expect((await store.read(ledger, 3)).map((record) => record.seq)).toEqual(seqs.slice(3));
      expect((await store.head(ledger))?.seq).toBe(24);
    });

    test('text is kept to the byte', async () => {
      const ledger = freshLedger();
      for (const [at, text] of AWKWARD_TEXTS.entries()) {
        const record = recordAt(at + 1, { body: text, prev: text, hash: text, nonce: text });
        await store.append(ledger, record);
        expect((await store.append(ledger, record)).kind).toBe('conflict');
        expect(await store.head(ledger)).toEqual(record);
      }
      expect((await store.read(ledger)).map((record) => record.body)).toEqual(AWKWARD_TEXTS);
    });

    test('ledgers are apart, however alike their ids look', async () => {
      const tenant = freshTenant();
      const ids: LedgerId[] = [
        { tenant, sagaId: 'a' },
        { tenant, sagaId: 'a/' },
        { tenant, sagaId: 'a/b' },
        { tenant, sagaId: 'a1' },
        { tenant, sagaId: 'A' },
        { tenant, sagaId: 'é' },
        { tenant, sagaId: 'e\u0301' },
        { tenant, sagaId: '😀' },
        { tenant: `${tenant}x`, sagaId: 'a' },
        { tenant: `${tenant} `, sagaId: 'a' },
      ];
      for (const [at, id] of ids.entries()) {
        await store.append(id, recordAt(1, { nonce: `owner-${at}` }));
      }
      for (const [at, id] of ids.entries()) {
        expect(await store.read(id)).toEqual([recordAt(1, { nonce: `owner-${at}` })]);
        expect((await store.head(id))?.nonce).toBe(`owner-${at}`);
      }
    });

    test('a record changed after its append does not change what stands', async () => {
      const ledger = freshLedger();
      const mine = { ...recordAt(1) };
      await store.append(ledger, mine);
      mine.body = 'changed afterwards';
      expect(await store.read(ledger)).toEqual([recordAt(1)]);
      expect((await store.head(ledger))?.body).toBe(recordAt(1).body);
    });

    test.each([
      ['an empty tenant', { tenant: '', sagaId: 's' }, /tenant is empty/],
      ['an empty saga id', { tenant: 't', sagaId: '' }, /sagaId is empty/],
      ['a slash in the tenant', { tenant: 'a/b', sagaId: 's' }, /tenant "a\/b" holds a "\/"/],
      ['a control character', { tenant: 't', sagaId: 's\u0000' }, /control character/],
      ['half a surrogate pair', { tenant: 't', sagaId: '\ud83d' }, /surrogate/],
      ['ids too long', { tenant: 't', sagaId: 'é'.repeat(450) }, /902 bytes, more than 900/],
      ['a missing tenant', { sagaId: 's' } as unknown as LedgerId, /tenant is undefined/],
    ])('%s is refused in plain words', async (_, ledger, message) => {
      await expect(store.append(ledger, recordAt(1))).rejects.toThrow(message);
      await expect(store.read(ledger)).rejects.toThrow(message);
      await expect(store.head(ledger)).rejects.toMatchObject({
        name: 'Counterstep.InvalidStoreArgument',
      });
    });

    test('the longest ids are taken', async () => {
      const ledger = { tenant: freshTenant().padEnd(449, 't'), sagaId: 's'.repeat(450) };
      expect(await store.append(ledger, recordAt(1))).toEqual({ kind: 'appended' });
      expect(await store.head(ledger)).toEqual(recordAt(1));
    });

    test.each([
      ['seq 0', recordAt(0), /record.seq is 0/],
      ['a fraction', recordAt(1.5), /record.seq is 1.5/],
      ['seq past counting', recordAt(2 ** 60), /record.seq is/],
      [
        'undefined text',
        recordAt(1, { body: undefined as unknown as string }),
        /body is undefined/,
      ],
      ['undefined nonce', recordAt(1, { nonce: undefined as unknown as string }), /nonce is/],
      ['a number as hash', recordAt(1, { hash: 7 as unknown as string }), /record.hash is 7/],
      ['half a pair in the body', recordAt(1, { body: '"\ud83d"' }), /record.body holds half/],
      ['a body too large', recordAt(1, { body: 'é'.repeat(180_000) }), /360000 bytes/],
    ])('%s is refused, and nothing is written', async (_, record, message) => {
      const ledger = freshLedger();
      await expect(store.append(ledger, record)).rejects.toThrow(message);
      expect(await store.read(ledger)).toEqual([]);
    });

    test('members beyond the five are dropped, whatever they hold', async () => {
      const ledger = freshLedger();
      const record = { ...recordAt(1), extra: undefined, list: [1, undefined] };
      await store.append(ledger, record);
      expect(await store.read(ledger)).toEqual([recordAt(1)]);
      expect(Object.keys((await store.head(ledger)) ?? {}).sort()).toEqual(
        Object.keys(recordAt(1)).sort(),
      );
    });

    test('a position to read from must be one', async () => {
      await expect(store.read(freshLedger(), -1)).rejects.toThrow(/afterSeq is -1/);
      await expect(store.read(freshLedger(), Number.NaN)).rejects.toThrow(/afterSeq is NaN/);
    });
  });
}
