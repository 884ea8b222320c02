import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, type JsonValue } from '../../../statemachines/ledger/canonical.ts';
import { sha256Hex } from '../../../statemachines/ledger/hash.ts';

/** The sample objects published with RFC 8785: input as JSON text, and the one canonical text. */
const SAMPLES: Readonly<Record<string, readonly [string, string]>> = {
  arrays: ['[ 56, { "d": true, "10": null, "1": [ ] } ]', '[56,{"1":[],"10":null,"d":true}]'],
  french: [
    `{ "peach": "This sorting order", "péché": "is wrong according to French",
       "pêche": "but canonicalization MUST", "sin": "ignore locale" }`,
    '{"peach":"This sorting order","péché":"is wrong according to French","pêche":"but canonicalization MUST","sin":"ignore locale"}',
  ],
  structures: [
    `{ "1": {"f": {"f": "hi","F": 5} ,"\\n": 56.0}, "10": { }, "": "empty", "a": { },
       "111": [ {"e": "yes","E": "no" } ], "A": { } }`,
    '{"":"empty","1":{"\\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{"E":"no","e":"yes"}],"A":{},"a":{}}',
  ],
  unicode: ['{"Unnormalized Unicode":"A\\u030a"}', '{"Unnormalized Unicode":"A\u030a"}'],
  values: [
    `{ "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
       "string": "\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\"\\/",
       "literals": [null, true, false] }`,
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  ],
  weird: [
    `{ "\\u20ac": "Euro Sign", "\\r": "Carriage Return", "\\u000a": "Newline", "1": "One",
       "\\u0080": "Control\\u007f", "\\ud83d\\ude02": "Smiley",
       "\\u00f6": "Latin Small Letter O With Diaeresis",
       "\\ufb33": "Hebrew Letter Dalet With Dagesh", "</script>": "Browser Challenge" }`,
    '{"\\n":"Newline","\\r":"Carriage Return","1":"One","</script>":"Browser Challenge","\u0080":"Control\u007f","ö":"Latin Small Letter O With Diaeresis","€":"Euro Sign","😂":"Smiley","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
  ],
};

/** RFC 8785, appendix B: the bits of a double, and its text. */
const NUMBERS: readonly (readonly [string, string])[] = [
  ['0000000000000000', '0'],
  ['8000000000000000', '0'],
  ['0000000000000001', '5e-324'],
  ['8000000000000001', '-5e-324'],
  ['7fefffffffffffff', '1.7976931348623157e+308'],
  ['ffefffffffffffff', '-1.7976931348623157e+308'],
  ['4340000000000000', '9007199254740992'],
  ['c340000000000000', '-9007199254740992'],
  ['4430000000000000', '295147905179352830000'],
  ['44b52d02c7e14af5', '9.999999999999997e+22'],
  ['44b52d02c7e14af6', '1e+23'],
  ['44b52d02c7e14af7', '1.0000000000000001e+23'],
  ['444b1ae4d6e2ef4e', '999999999999999700000'],
  ['444b1ae4d6e2ef4f', '999999999999999900000'],
  ['444b1ae4d6e2ef50', '1e+21'],
  ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
  ['3eb0c6f7a0b5ed8d', '0.000001'],
  ['41b3de4355555553', '333333333.3333332'],
  ['41b3de4355555554', '333333333.33333325'],
  ['41b3de4355555555', '333333333.3333333'],
  ['41b3de4355555556', '333333333.3333334'],
  ['41b3de4355555557', '333333333.33333343'],
  ['becbf647612f3696', '-0.0000033333333333333333'],
  ['43143ff3c1cb0959', '1424953923781206.2'],
];

describe('canonicalJson', () => {
  it.each(Object.entries(SAMPLES))('writes the RFC 8785 sample "%s"', (_name, [input, output]) => {
    expect(canonicalJson(JSON.parse(input))).toBe(output);
  });

  it.each(NUMBERS)('writes the double %s as %s', (bits, text) => {
    const double = Buffer.from(bits, 'hex').readDoubleBE();
    expect(canonicalJson([double])).toBe(`[${text}]`);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])('refuses %s', (n) => {
    expect(() => canonicalJson({ n })).toThrow('no canonical JSON text');
  });

  it('writes what a second implementation of RFC 8785 writes', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' }), (value) => {
        expect(canonicalJson(value as JsonValue)).toBe(canonicalize(value));
      }),
      { numRuns: 500 },
    );
  });

  it('refuses a value that contains itself', () => {
    const around: { inner?: unknown } = {};
    around.inner = around;
    expect(() => canonicalJson(around as JsonValue)).toThrow('contains itself');
  });

  it('refuses a broken surrogate pair and a value without text', () => {
    expect(() => canonicalJson('\ud83d')).toThrow('surrogate');
    expect(() => canonicalJson(undefined as never)).toThrow('toIJson');
  });
});

describe('sha256Hex', () => {
  it('hashes the UTF-8 bytes of its parts, joined', () => {
    expect(sha256Hex('abc')).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    );
    expect(sha256Hex('a', '', 'bc')).toBe(sha256Hex('abc'));
    expect(sha256Hex()).toBe(createHash('sha256').digest('hex'));
    expect(sha256Hex('é€', '😂')).toBe(createHash('sha256').update('é€😂', 'utf8').digest('hex'));
  });
});
