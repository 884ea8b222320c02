import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MAX_SEQ } from '../../lambdas/stores/checks.ts';
import { entryAt, positionOf } from '../../lambdas/stores/due-order.ts';
import { ledgerOf, recordKey, recordsAfter, seqOf } from '../../lambdas/stores/embedded/keys.ts';

/** fast-check prints the seed of a failure; `fc.assert(property, { seed })` replays it. */
const idText = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
  .filter((text) => !/[\p{Cc}\p{Cs}]/u.test(text));
const tenant = idText.filter((text) => !text.includes('/'));
const seq = fc.integer({ min: 1, max: MAX_SEQ });
const dueAt = fc.integer({ min: 0, max: 8_640_000_000_000_000 });

test('keys order by seq within a ledger, and give back name and seq', () => {
  fc.assert(
    fc.property(tenant, idText, seq, seq, (t, saga, a, b) => {
      const name = `${t}/${saga}`;
      const [first, second] = [recordKey(name, a), recordKey(name, b)];
      expect(Math.sign(Buffer.compare(first, second))).toBe(Math.sign(a - b));
      expect([ledgerOf(first), seqOf(first)]).toEqual([name, a]);
    }),
  );
});

test('a range holds exactly its own ledger’s later records', () => {
  fc.assert(
    fc.property(
      fc.tuple(tenant, idText).map((parts) => parts.join('/')),
      fc.tuple(tenant, idText).map((parts) => parts.join('/')),
      fc.integer({ min: 0, max: MAX_SEQ }),
      seq,
      (ranged, asked, afterSeq, at) => {
        for (const name of [asked, ranged, `${ranged}x`]) {
          const { start, end } = recordsAfter(ranged, afterSeq);
          const key = recordKey(name, at);
          const inside = Buffer.compare(key, start) >= 0 && Buffer.compare(key, end) < 0;
          expect(inside).toBe(name === ranged && at > afterSeq);
        }
      },
    ),
  );
});

test('registry positions order by due time and give back their entry', () => {
  fc.assert(
    fc.property(tenant, idText, dueAt, dueAt, (t, sagaId, a, b) => {
      const entry = { tenant: t, sagaId, dueAt: a };
      expect(entryAt(positionOf(entry))).toEqual(entry);
      if (a < b) expect(positionOf(entry) < positionOf({ ...entry, dueAt: b })).toBe(true);
    }),
  );
});
