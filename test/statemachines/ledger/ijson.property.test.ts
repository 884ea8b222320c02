import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, type JsonValue } from '../../../statemachines/ledger/canonical.ts';
import { IJSON_ERROR, parseIJson, toIJson } from '../../../statemachines/ledger/ijson.ts';
import { jsonValues } from './chain-fixture.ts';

function isObject(value: JsonValue): value is { readonly [member: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The same value with every object's members in the opposite order. */
function reversed(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(reversed);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([name, member]) => [name, reversed(member)]));
}

describe('canonical form', () => {
  it('is a fixed point', () => {
    fc.assert(
      fc.property(jsonValues, (value) => {
        const text = canonicalJson(value);
        expect(canonicalJson(parseIJson(text))).toBe(text);
      }),
    );
  });

  it('does not depend on the order of members', () => {
    fc.assert(
      fc.property(jsonValues, (value) => {
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
      }),
    );
  });

  it('is one text for one value only; in arrays the order counts', () => {
    fc.assert(
      fc.property(jsonValues, jsonValues, (a, b) => {
        const same = isDeepStrictEqual(reversed(reversed(a)), reversed(reversed(b)));
        expect(canonicalJson(a) === canonicalJson(b)).toBe(same);
        expect(canonicalJson([a, b]) === canonicalJson([b, a])).toBe(same);
      }),
    );
  });
});

describe('the border', () => {
  it('reads back exactly what was written', () => {
    fc.assert(
      fc.property(jsonValues, (value) => {
        expect(isDeepStrictEqual(parseIJson(canonicalJson(value)), value)).toBe(true);
        expect(isDeepStrictEqual(parseIJson(JSON.stringify(value, null, 2)), value)).toBe(true);
        expect(isDeepStrictEqual(toIJson(value), value)).toBe(true);
      }),
    );
  });

  it('accepts a subset of JSON.parse, and reads it alike', () => {
    const piece = fc.constantFrom(
      ...['{', '}', '[', ']', ',', ':', ' ', '"', '"a"', '"\\u0061"', '\\', 'u', '"\\ud83d"'],
      ...['0', '1', '-', '.', 'e', '9007199254740993', 'true', 'null', '\n', '\u0000', 'é'],
    );
    const texts = fc.oneof(
      fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
      jsonValues.map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(texts, (text) => {
        let strict: JsonValue;
        try {
          strict = parseIJson(text);
        } catch (error) {
          expect(error).toMatchObject({ name: IJSON_ERROR });
          return;
        }
        expect(canonicalJson(strict)).toBe(canonicalJson(JSON.parse(text)));
      }),
      { numRuns: 2_000 },
    );
  });

  it('lets a number in only if every digit survives', () => {
    const digits = fc.string({
      unit: fc.constantFrom(...'0123456789'),
      minLength: 1,
      maxLength: 25,
    });
    const tokens = fc
      .tuple(
        fc.constantFrom('', '-'),
        fc.bigInt(0n, 10n ** 25n),
        fc.option(digits),
        fc.option(fc.integer({ min: -330, max: 330 })),
      )
      .map(([sign, whole, fraction, exponent]) => {
        const decimals = fraction === null ? '' : `.${fraction}`;
        return `${sign}${whole}${decimals}${exponent === null ? '' : `e${exponent}`}`;
      });
    fc.assert(
      fc.property(tokens, (token) => {
        let value: JsonValue;
        try {
          value = parseIJson(token);
        } catch (error) {
          expect(error).toMatchObject({ name: IJSON_ERROR, remedy: 'send it as a string' });
          return;
        }
        expect(scaled(canonicalJson(value))).toBe(scaled(token));
      }),
      { numRuns: 1_000 },
    );
  });

  it('treats a number in memory as it treats its text', () => {
    const accepts = (run: () => unknown) => {
      try {
        run();
        return true;
      } catch {
        return false;
      }
    };
    const doubles = fc.double({ noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(doubles, (double) => {
        const fromText = accepts(() => parseIJson(JSON.stringify(double)));
        expect(accepts(() => toIJson(double))).toBe(fromText);
      }),
      { numRuns: 1_000 },
    );
  });
});

/** A decimal text as a whole number of 10^-800, by another way than the code under test. */
function scaled(token: string): bigint {
  const [mantissa = '', exponent = '0'] = token.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const magnitude = BigInt(`${whole.replace('-', '')}${fraction}`);
  const value = magnitude * 10n ** BigInt(800 + Number(exponent) - fraction.length);
  return token.startsWith('-') ? -value : value;
}
