import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { HeadEntry, Heads } from '../../lambdas/ports/heads.ts';

/** What every keeper of heads must do. */
export function headsContract(
  name: string,
  open: () => Promise<{ heads: Heads; close(): Promise<void> }>,
): void {
  describe(`heads: ${name}`, () => {
    let heads: Heads;
    let close: () => Promise<void>;
    beforeEach(async () => {
      ({ heads, close } = await open());
    });
    afterEach(() => close());

    const head = (sagaId: string, seq: number, changes: Partial<HeadEntry> = {}): HeadEntry => ({
      tenant: 'acme',
      sagaId,
      seq,
      hash: `hash-${seq}`,
      json: `{"seq":${seq}}`,
      ...changes,
    });
    const saga = (sagaId: string) => ({ tenant: 'acme', sagaId });

    test('what is set is seen at once, before it is durable and after', async () => {
      const durable = heads.set([head('a', 1), head('b', 3, { json: '{"t":"ü\\n😀"}\n' })]);
      expect(heads.get(saga('a'))).toEqual(head('a', 1));
      expect([...heads.all()]).toHaveLength(2);
      await durable;
      expect(heads.get(saga('b'))).toEqual(head('b', 3, { json: '{"t":"ü\\n😀"}\n' }));
      expect(heads.get(saga('c'))).toBeUndefined();
      expect(heads.get({ tenant: 'other', sagaId: 'a' })).toBeUndefined();
    });

    test('an anchor never moves back or sideways', async () => {
      await heads.set([head('a', 5)]);
      await heads.set([head('a', 4), head('a', 5, { hash: 'other' })]);
      expect(heads.get(saga('a'))).toEqual(head('a', 5));
      await heads.set([head('a', 5, { json: '{"seen":true}' })]);
      expect(heads.get(saga('a'))?.json).toBe('{"seen":true}');
      await heads.set([head('a', 7), head('a', 6)]);
      expect(heads.get(saga('a'))).toEqual(head('a', 7));
    });

    test('a storm of updates nobody waits for ends with the last of each', async () => {
      const writes: Promise<void>[] = [];
      for (let seq = 1; seq <= 200; seq += 1) {
        for (const sagaId of ['a', 'b', 'c']) writes.push(heads.set([head(sagaId, seq)]));
        if (seq % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
        expect(heads.get(saga('b'))?.seq).toBe(seq);
      }
      await Promise.all(writes);
      expect([...heads.all()]).toEqual([head('a', 200), head('b', 200), head('c', 200)]);
    });

    test('all entries come by tenant and saga id, durable or not', async () => {
      await heads.set([head('b', 1), head('d', 1)]);
      const pending = heads.set([head('a', 1), head('c', 1), head('d', 2), head('e', 1)]);
      expect([...heads.all()].map(({ sagaId, seq }) => `${sagaId}${seq}`)).toEqual([
        'a1',
        'b1',
        'c1',
        'd2',
        'e1',
      ]);
      await pending;
    });

    test('dropped and rebuilt: older heads may enter again', async () => {
      await heads.set([head('a', 9)]);
      const lost = heads.set([head('b', 9)]);
      const cleared = heads.clear();
      const rebuilt = heads.set([head('c', 2)]);
      await Promise.all([lost, cleared, rebuilt]);
      expect([...heads.all()]).toEqual([head('c', 2)]);
      await heads.set([head('a', 1)]);
      expect(heads.get(saga('a'))).toEqual(head('a', 1));
    });

    test('bad entries are refused in plain words', async () => {
      await expect(heads.set([head('', 1)])).rejects.toThrow(/sagaId is empty/);
      await expect(heads.set([head('a', 0)])).rejects.toThrow(/head.seq is 0/);
      const broken = head('a', 1, { json: undefined as unknown as string });
      await expect(heads.set([broken])).rejects.toThrow(/head.json is undefined/);
      expect([...heads.all()]).toEqual([]);
    });
  });
}
