import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MAX_PAYLOAD_BYTES, type PayloadStore } from '../../lambdas/ports/payload-store.ts';
import {
  AWKWARD_TEXTS,
  freshLedger,
  freshTenant,
  type OpenHarness,
  type StoreHarness,
} from './harness.ts';

/** What every payload store must do. */
export function payloadStoreContract(name: string, open: OpenHarness): void {
  describe(`payload store: ${name}`, () => {
    let harness: StoreHarness;
    let store: PayloadStore;
    beforeAll(async () => {
      harness = await open();
      store = harness.stores.payloads;
    });
    afterAll(() => harness.close());

    test('text is kept to the byte, with its size', async () => {
      const ledger = freshLedger();
      for (const text of AWKWARD_TEXTS) {
        const { digest, bytes } = await store.put(ledger, text);
        expect(bytes).toBe(Buffer.byteLength(text));
        expect(digest).toMatch(/^[0-9a-f]{64}$/);
        expect(await store.get(ledger, digest)).toEqual({ kind: 'found', text });
      }
    });

    test('the digest gives nothing away: the same text twice has two, neither the plain hash', async () => {
      const ledger = freshLedger();
      const text = '{"card":"4111"}';
      const digests = [await store.put(ledger, text), await store.put(ledger, text)].map(
        (ref) => ref.digest,
      );
      expect(new Set(digests).size).toBe(2);
      expect(digests).not.toContain(createHash('sha256').update(text).digest('hex'));
      for (const digest of digests) {
        expect(await store.get(ledger, digest)).toEqual({ kind: 'found', text });
      }
    });

    test('the largest payload is kept; one byte more is refused with its size', async () => {
      const ledger = freshLedger();
      const largest = `${'x'.repeat(MAX_PAYLOAD_BYTES - 2)}é`;
      const { digest, bytes } = await store.put(ledger, largest);
      expect(bytes).toBe(MAX_PAYLOAD_BYTES);
      expect(await store.get(ledger, digest)).toEqual({ kind: 'found', text: largest });
      await expect(store.put(ledger, `${largest}x`)).rejects.toMatchObject({
        name: 'Counterstep.PayloadTooLarge',
        bytes: MAX_PAYLOAD_BYTES + 1,
      });
    });

    test('what was never kept is missing, also in another saga or tenant', async () => {
      const ledger = freshLedger();
      const { digest } = await store.put(ledger, 'mine');
      expect(await store.get(ledger, '0'.repeat(64))).toEqual({ kind: 'missing' });
      expect(await store.get({ ...ledger, sagaId: 'saga-2' }, digest)).toEqual({ kind: 'missing' });
      expect(await store.get({ ...ledger, tenant: freshTenant() }, digest)).toEqual({
        kind: 'missing',
      });
    });

    test('erasing takes every payload of that saga, leaves a mark, and touches no other', async () => {
      const ledger = freshLedger();
      const neighbour = { ...ledger, sagaId: `${ledger.sagaId}0` };
      const digests: string[] = [];
      for (let at = 0; at < 20; at += 1) {
        digests.push((await store.put(ledger, `secret ${at} ${'x'.repeat(at * 10)}`)).digest);
      }
      const kept = await store.put(neighbour, 'not mine to erase');
      expect(await store.erase(ledger)).toBe(20);
      for (const digest of digests) {
        expect(await store.get(ledger, digest)).toEqual({ kind: 'erased' });
      }
      expect(await store.get(ledger, '0'.repeat(64))).toEqual({ kind: 'missing' });
      expect((await store.get(neighbour, kept.digest)).kind).toBe('found');
    });

    test('erasing again is safe, and takes what came since', async () => {
      const ledger = freshLedger();
      expect(await store.erase(ledger)).toBe(0);
      const first = await store.put(ledger, 'first');
      expect(await store.erase(ledger)).toBe(1);
      expect(await store.erase(ledger)).toBe(0);
      const late = await store.put(ledger, 'late');
      expect((await store.get(ledger, late.digest)).kind).toBe('found');
      expect(await store.erase(ledger)).toBe(1);
      expect((await store.get(ledger, first.digest)).kind).toBe('erased');
      expect((await store.get(ledger, late.digest)).kind).toBe('erased');
    });

    test('erasing goes over many pages', async () => {
      const ledger = freshLedger();
      const text = 'x'.repeat(300_000);
      const refs = await Promise.all(Array.from({ length: 9 }, () => store.put(ledger, text)));
      expect(await store.erase(ledger)).toBe(9);
      const answers = await Promise.all(refs.map((ref) => store.get(ledger, ref.digest)));
      expect(answers.map((answer) => answer.kind)).toEqual(Array(9).fill('erased'));
    });

    test('a changed text is damaged, never handed out', async () => {
      const ledger = freshLedger();
      const { digest } = await store.put(ledger, '{"amount":"40.00"}');
      await harness.damagePayload(ledger, digest);
      expect(await store.get(ledger, digest)).toEqual({ kind: 'damaged' });
    });

    test('bad arguments are refused in plain words', async () => {
      const ledger = freshLedger();
      await expect(store.put({ ...ledger, tenant: '' }, 'x')).rejects.toThrow(/tenant is empty/);
      await expect(store.erase({ ...ledger, sagaId: '' })).rejects.toThrow(/sagaId is empty/);
      await expect(store.get(ledger, '')).rejects.toThrow(/no payload digest/);
      await expect(store.put(ledger, undefined as unknown as string)).rejects.toThrow(
        /payload is undefined/,
      );
      await expect(store.put(ledger, '"\udc00"')).rejects.toThrow(/surrogate/);
    });
  });
}
