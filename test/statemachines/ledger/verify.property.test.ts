import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChainedRecord } from '../../../statemachines/ledger/chain.ts';
import { exportLedger, verifyExport } from '../../../statemachines/ledger/ndjson.ts';
import { verifyChain } from '../../../statemachines/ledger/verify.ts';
import { jsonValues, LEDGER, seal } from './chain-fixture.ts';

const chains = fc
  .array(fc.tuple(fc.nat(1_000), jsonValues), { minLength: 2, maxLength: 8 })
  .map((facts) => {
    let at = 1_700_000_000_000;
    const events = facts.map(([passed, payload], index) => {
      at += passed;
      return { seq: index + 1, at, payload };
    });
    return seal(LEDGER, events);
  });

function replaceAt(text: string, position: number, character: string): string {
  const index = position % text.length;
  return text.slice(0, index) + character + text.slice(index + 1);
}

const kindOf = (records: readonly ChainedRecord[]) => verifyChain(LEDGER, records).kind;

describe('a sealed chain', () => {
  it('verifies, and so does its export', () => {
    fc.assert(
      fc.property(chains, (chain) => {
        const valid = { kind: 'valid', seq: chain.length, hash: chain.at(-1)?.hash };
        expect(verifyChain(LEDGER, chain)).toMatchObject(valid);
        expect(verifyExport([...exportLedger(LEDGER, chain)].join(''))).toMatchObject(valid);
      }),
    );
  });

  it('shows any change of one character', () => {
    const fields = fc.constantFrom('body', 'prev', 'hash');
    const character = fc.string({ unit: 'binary', minLength: 1, maxLength: 1 });
    fc.assert(
      fc.property(
        chains,
        fc.nat(),
        fields,
        fc.nat(),
        character,
        (chain, which, field, position, c) => {
          const changed = chain.map((record, index) => {
            if (index !== which % chain.length) return record;
            const text = replaceAt(record[field], position, c);
            fc.pre(text !== record[field]);
            return { ...record, [field]: text };
          });
          expect(kindOf(changed)).toBe('invalid');
        },
      ),
      { numRuns: 500 },
    );
  });

  it('shows any change of a number', () => {
    fc.assert(
      fc.property(chains, fc.nat(), fc.oneof(fc.integer(), fc.double()), (chain, which, seq) => {
        const index = which % chain.length;
        fc.pre(seq !== index + 1);
        expect(kindOf(chain.map((r, i) => (i === index ? { ...r, seq } : r)))).toBe('invalid');
      }),
    );
  });

  it('shows records that were swapped, dropped or repeated', () => {
    fc.assert(
      fc.property(chains, fc.nat(), fc.nat(), (chain, first, second) => {
        const a = first % chain.length;
        const b = second % chain.length;
        const at = (index: number) => chain.slice(index, index + 1);
        const repeated = [...chain.slice(0, b), ...at(a), ...chain.slice(b)];
        expect(kindOf(repeated)).toBe('invalid');
        if (a !== b) {
          const swapped = chain.flatMap((_, i) => at(i === a ? b : i === b ? a : i));
          expect(kindOf(swapped)).toBe('invalid');
        }
        const dropped = chain.filter((_, i) => i !== a);
        const head = { name: 'projection', exists: true, seq: chain.length } as const;
        expect(verifyChain(LEDGER, dropped, [head]).kind).toBe('invalid');
        // Without an anchor only the last record can go unseen.
        expect(kindOf(dropped)).toBe(a === chain.length - 1 ? 'valid' : 'invalid');
      }),
    );
  });

  it('in a file shows any change of one character', () => {
    const character = fc.constantFrom(...'0123456789abcdef"\\{}[],:xé');
    fc.assert(
      fc.property(chains, fc.nat(), character, (chain, position, c) => {
        const text = [...exportLedger(LEDGER, chain)].join('').trimEnd();
        const changed = replaceAt(text, position, c);
        fc.pre(changed !== text);
        expect(verifyExport(changed).kind).toBe('invalid');
      }),
      { numRuns: 1_000 },
    );
  });
});
