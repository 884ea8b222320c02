import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type BreakerLedger,
  type BreakerRecord,
  KEPT_BREAKER_RECORDS,
} from '../../lambdas/ports/breaker-ledger.ts';
import { AWKWARD_TEXTS, type OpenHarness, type StoreHarness } from './harness.ts';

let tools = 0;
/** Each test keeps a breaker of its own. */
function freshTool(): string {
  tools += 1;
  return `tool-${tools}`;
}

const at = (seq: number, changes: Partial<BreakerRecord> = {}): BreakerRecord => ({
  seq,
  body: `{"seq":${seq}}`,
  nonce: `nonce-${seq}`,
  ...changes,
});

/** What every store of breakers must do. */
export function breakerLedgerContract(name: string, open: OpenHarness): void {
  describe(`breaker ledger: ${name}`, () => {
    let harness: StoreHarness;
    let breakers: BreakerLedger;
    beforeAll(async () => {
      harness = await open();
      breakers = harness.stores.breakers;
    });
    afterAll(() => harness.close());

    test('a tool that never failed has no record', async () => {
      expect(await breakers.head(freshTool())).toBeUndefined();
    });

    test('the last record is found, by number and not by text', async () => {
      const tool = freshTool();
      for (let seq = 1; seq <= 11; seq += 1) {
        expect(await breakers.append(tool, at(seq))).toEqual({ kind: 'appended' });
      }
      expect(await breakers.head(tool)).toEqual(at(11));
    });

    test('a number is taken once; the loser gets the record that stands there', async () => {
      const tool = freshTool();
      await breakers.append(tool, at(1));
      const other = at(1, { body: '{}', nonce: 'other' });
      expect(await breakers.append(tool, other)).toEqual({ kind: 'conflict', standing: at(1) });
      expect(await breakers.head(tool)).toEqual(at(1));
    });

    test('of many writers of one number, one is heard', async () => {
      const tool = freshTool();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, writer) =>
          breakers.append(tool, at(1, { nonce: `writer-${writer}` })),
        ),
      );
      const standing = await breakers.head(tool);
      const winners = answers.filter(({ kind }) => kind === 'appended');
      expect(winners).toHaveLength(1);
      for (const answer of answers) {
        if (answer.kind === 'conflict') expect(answer.standing).toEqual(standing);
      }
    });

    test('one tool knows nothing of another, whatever their names have in common', async () => {
      const tool = freshTool();
      await breakers.append(tool, at(1));
      expect(await breakers.head(`${tool}-more`)).toBeUndefined();
      expect(await breakers.head(tool.slice(0, -1) || 'x')).toBeUndefined();
      expect(await breakers.append(`${tool}-more`, at(1))).toEqual({ kind: 'appended' });
    });

    test('what is long past may be gone; the last records stand', async () => {
      const tool = freshTool();
      const last = KEPT_BREAKER_RECORDS + 6;
      for (let seq = 1; seq <= last; seq += 1) await breakers.append(tool, at(seq));
      expect(await breakers.head(tool)).toEqual(at(last));
      const oldest = last - KEPT_BREAKER_RECORDS + 1;
      expect(await breakers.append(tool, at(oldest, { nonce: 'late' }))).toEqual({
        kind: 'conflict',
        standing: at(oldest),
      });
    });

    test.each(AWKWARD_TEXTS)('text comes back as it went in: %j', async (text) => {
      const tool = freshTool();
      await breakers.append(tool, at(1, { body: text, nonce: `n${text}` }));
      expect(await breakers.head(tool)).toEqual(at(1, { body: text, nonce: `n${text}` }));
    });

    test.each([
      ['no name', () => breakers.head(''), /is no tool's name/],
      ['a name of a partition', () => breakers.head('a#b'), /is no tool's name/],
      ['number 0', () => breakers.append('t', at(0)), /record.seq is 0/],
      ['half a character', () => breakers.append('t', at(1, { body: '\ud800' })), /record.body/],
    ])('%s is refused in plain words', async (_, call, message) => {
      await expect(call()).rejects.toThrow(message);
    });
  });
}
