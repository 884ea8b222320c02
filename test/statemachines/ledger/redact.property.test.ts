import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasLoneSurrogate } from '../../../statemachines/ledger/ijson-error.ts';
import { redactText } from '../../../statemachines/ledger/redact.ts';

// Few letters, the mask's own among them, so that secrets overlap and masking can spell new ones.
const nasty = fc.string({ unit: fc.constantFrom(...'ab*…\ufffd'), maxLength: 30 });
const anything = fc.oneof(
  nasty,
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc
    .array(fc.integer({ min: 0xd7f0, max: 0xe010 }), { maxLength: 12 })
    .map((units) => String.fromCharCode(...units)),
);
const secrets = fc.array(anything, { maxLength: 4 });

describe('redactText', () => {
  it('lets no given secret through, wherever it stands', () => {
    fc.assert(
      fc.property(
        secrets,
        fc.array(anything, { maxLength: 6 }),
        fc.integer({ min: 1, max: 60 }),
        (given, pieces, maxLength) => {
          const text = pieces.map((piece, index) => piece + (given[index] ?? '')).join('');
          const masked = redactText(text, { secrets: given, maxLength });
          for (const secret of given) {
            if (secret.length >= 4) expect(masked.includes(secret)).toBe(false);
          }
          expect(masked.length).toBeLessThanOrEqual(maxLength);
          expect(hasLoneSurrogate(masked)).toBe(false);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('masks every card number, however it is grouped', () => {
    const digits = fc.string({
      unit: fc.constantFrom(...'0123456789'),
      minLength: 14,
      maxLength: 14,
    });
    fc.assert(
      fc.property(digits, fc.constantFrom('', ' ', '-'), (rest, separator) => {
        const card = withCheckDigit(`4${rest}`);
        const shown = (card.match(/.{4}/g) ?? []).join(separator);
        expect(redactText(`pay with ${shown} now`)).toBe('pay with *** now');
      }),
    );
  });
});

function withCheckDigit(digits: string): string {
  const sum = [...digits].reverse().reduce((total, digit, place) => {
    const value = Number(digit) * (place % 2 === 0 ? 2 : 1);
    return total + Math.floor(value / 10) + (value % 10);
  }, 0);
  return `${digits}${(10 - (sum % 10)) % 10}`;
}
