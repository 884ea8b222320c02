import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { IJSON_ERROR, parseIJson, toIJson } from '../../../statemachines/ledger/ijson.ts';

/** What the error says of a refused text or value. */
function refusal(run: () => unknown): { problem: string; path: string } {
  try {
    run();
  } catch (error) {
    if (!(error instanceof Error) || error.name !== IJSON_ERROR) throw error;
    const { problem, path } = error as Error & { problem: string; path: string };
    return { problem, path };
  }
  throw new Error('nothing was refused');
}
const parsed = (text: string | Uint8Array, options = {}) =>
  refusal(() => parseIJson(text, options));
const copied = (value: unknown) => refusal(() => toIJson(value));

describe('parseIJson', () => {
  it.each([
    ['null', null],
    [' [ 1 , -2.5e-1 , "x" , true , false , { } , [ ] ] ', [1, -0.25, 'x', true, false, {}, []]],
    ['{"a":{"b":[{"c":"d"}]}}', { a: { b: [{ c: 'd' }] } }],
    ['"\\u0041\\n\\/\\\\\\"\\b\\f\\r\\t\\ud83d\\ude00"', 'A\n/\\"\b\f\r\t😀'],
    ['"\u2028 \u007f"', '\u2028 \u007f'],
  ])('reads %s', (text, value) => {
    expect(parseIJson(text)).toEqual(value);
    expect(parseIJson(new TextEncoder().encode(text))).toEqual(value);
  });

  it.each([
    '',
    ' ',
    '{',
    '[1,]',
    '{"a":1,}',
    '{a:1}',
    "{'a':1}",
    '[1 2]',
    '01',
    '+1',
    '.5',
    '1.',
    '1e',
    '0x10',
    'NaN',
    'Infinity',
    'undefined',
    'nul',
    'true1',
    '"a',
    '"a\nb"',
    '"\\x41"',
    '"\\u12"',
    '"\\',
    '1 1',
    '[]]',
    '\u00a01',
    '// c\n1',
  ])('refuses %j, as JSON.parse does', (text) => {
    expect(() => JSON.parse(text)).toThrow();
    expect(parsed(text).problem).toBe('syntax');
  });

  it('refuses duplicate members at any depth, and after escapes are decoded', () => {
    expect(parsed('{"a":1,"a":1}')).toEqual({ problem: 'duplicate_member', path: '/a' });
    expect(parsed('[{"x/y":{"a":1,"\\u0061":2}}]')).toEqual({
      problem: 'duplicate_member',
      path: '/0/x~1y/a',
    });
    expect(parsed('{"__proto__":1,"__proto__":2}').problem).toBe('duplicate_member');
    expect(parseIJson('[{"a":1},{"a":1}]')).toEqual([{ a: 1 }, { a: 1 }]);
  });

  it('keeps names that objects inherit as own members', () => {
    const value = parseIJson('{"__proto__":{"admin":true},"toString":1,"constructor":2}');
    expect(Object.keys(Object(value))).toEqual(['__proto__', 'toString', 'constructor']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object(value).admin).toBeUndefined();
  });

  it.each([
    ['"\\ud83d"', ''],
    ['["\\ude00\\ud83d"]', '/0'],
    ['{"a":"x\\ud83dx"}', '/a'],
    ['{"\\udc00":1}', '/\ufffd'],
    ['"\ud83d"', ''],
    ['"\\ud83d\ude00"', ''],
    ['"\ud83d\\ude00"', ''],
  ])('refuses the broken pair in %j', (text, path) => {
    expect(parsed(text)).toEqual({ problem: 'lone_surrogate', path });
  });

  it('refuses bytes that are not UTF-8, and a byte order mark', () => {
    expect(parsed(Uint8Array.of(0x22, 0xff, 0x22)).problem).toBe('invalid_utf8');
    expect(parsed(Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22)).problem).toBe('invalid_utf8');
    expect(parsed(Uint8Array.of(0x22, 0xc0, 0xaf, 0x22)).problem).toBe('invalid_utf8');
    expect(parsed(Uint8Array.of(0xef, 0xbb, 0xbf, 0x31)).problem).toBe('byte_order_mark');
    expect(parsed('\ufeff1').problem).toBe('byte_order_mark');
  });

  it.each([
    ['0', 0],
    ['-0', 0],
    ['-0.0e5', 0],
    ['0e99999999999', 0],
    ['1.0', 1],
    ['0.1', 0.1],
    ['1E2', 100],
    ['100e-2', 1],
    ['0.30000000000000004', 0.1 + 0.2],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['-9007199254740991.000', Number.MIN_SAFE_INTEGER],
    ['1e21', 1e21],
    ['1000000000000000000000', 1e21],
    ['1e22', 1e22],
    ['1e-7', 1e-7],
    ['5e-324', 5e-324],
  ])('reads the number %s', (token, value) => {
    expect(Object.is(parseIJson(token), value)).toBe(true);
  });

  it.each([
    ['9007199254740992', 'unsafe_integer'],
    ['9007199254740993', 'unsafe_integer'],
    ['9007199254740993.0', 'unsafe_integer'],
    ['-9007199254740993', 'unsafe_integer'],
    ['1e17', 'unsafe_integer'],
    ['1e23', 'unsafe_integer'],
    ['1.23e40', 'unsafe_integer'],
    ['1e400', 'number_overflow'],
    ['-1e400', 'number_overflow'],
    ['1e-400', 'number_underflow'],
    ['0.10000000000000001', 'number_inexact'],
    ['4503599627370497.55', 'number_inexact'],
  ])('refuses the number %s and recommends a string', (token, problem) => {
    expect(parsed(`{"n":[${token}]}`)).toEqual({ problem, path: '/n/0' });
    expect(() => parseIJson(token)).toThrow('send it as a string');
  });

  it('limits depth and size', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(parseIJson(nested(100))).toBeInstanceOf(Array);
    expect(parsed(nested(101)).problem).toBe('too_deep');
    expect(parsed(nested(1_000_000)).problem).toBe('too_deep');
    expect(parsed('{"a":[1]}', { maxDepth: 1 })).toEqual({ problem: 'too_deep', path: '/a' });
    expect(parseIJson('"é"', { maxBytes: 4 })).toBe('é');
    expect(parsed('"é"', { maxBytes: 3 }).problem).toBe('too_large');
    expect(parsed(new Uint8Array(4), { maxBytes: 3 }).problem).toBe('too_large');
  });

  it('puts the given pointer before paths, and never echoes strings', () => {
    expect(parsed('{"a":1e400}', { at: '/input' }).path).toBe('/input/a');
    expect(() => parseIJson('{"password":"hunter2\\ud800"}')).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('hunter2') }),
    );
  });
});

describe('toIJson', () => {
  it('copies what JSON can carry', () => {
    const shared = { x: 1 };
    const value = { a: shared, b: [shared, null, 'é', true, 1e21], c: Object.create(null) };
    const copy = toIJson(value);
    expect(copy).toEqual({ a: { x: 1 }, b: [{ x: 1 }, null, 'é', true, 1e21], c: {} });
    expect(Object(copy).a).not.toBe(shared);
    expect(toIJson(runInNewContext('({ a: [1] })'))).toEqual({ a: [1] });
  });

  it('drops undefined members, reads nothing as null, and -0 as 0', () => {
    const copy = toIJson({ a: undefined, b: { c: undefined }, z: -0 });
    expect(Object.keys(Object(copy))).toEqual(['b', 'z']);
    expect(copy).toStrictEqual({ b: {}, z: 0 });
    expect(toIJson(undefined)).toBeNull();
  });

  it('reads a getter once, and keeps what it read', () => {
    let reads = 0;
    const value = {
      get n() {
        return ++reads;
      },
    };
    expect(toIJson(value)).toEqual({ n: 1 });
    expect(reads).toBe(1);
  });

  const cycle: Record<string, unknown> = {};
  cycle.inner = [cycle];
  let laughs: unknown[] = ['ha'];
  for (let depth = 0; depth < 60; depth++) laughs = [laughs, laughs];
  class Money {
    readonly cents = 5;
  }
  const hole: unknown[] = [];
  hole[1] = 1;

  it.each<[string, unknown, string, string]>([
    ['undefined in an array', { l: [1, undefined] }, 'undefined_element', '/l/1'],
    ['a hole', hole, 'undefined_element', '/0'],
    ['NaN', { n: Number.NaN }, 'not_a_number', '/n'],
    ['Infinity', [Number.POSITIVE_INFINITY], 'number_overflow', '/0'],
    ['an unsafe integer', { n: 2 ** 53 }, 'unsafe_integer', '/n'],
    ['a large inexact number', { n: 1.23e40 }, 'unsafe_integer', '/n'],
    ['a bigint', { n: 10n }, 'not_json', '/n'],
    ['a function', { f: () => 1 }, 'not_json', '/f'],
    ['toJSON', { toJSON: () => 1 }, 'not_json', '/toJSON'],
    ['a symbol', [Symbol('s')], 'not_json', '/0'],
    ['a symbol as name', { a: { [Symbol('s')]: 1 } }, 'not_json', '/a'],
    ['a Date', { d: new Date(0) }, 'not_json', '/d'],
    ['a Map', { m: new Map() }, 'not_json', '/m'],
    ['a Set', { s: new Set() }, 'not_json', '/s'],
    ['bytes', { b: new Uint8Array(1) }, 'not_json', '/b'],
    ['a boxed string', [Object('x')], 'not_json', '/0'],
    ['a class instance', { m: new Money() }, 'not_json', '/m'],
    ['an error', { e: new Error('x') }, 'not_json', '/e'],
    ['a promise', { p: Promise.resolve(1) }, 'not_json', '/p'],
    ['an array with members', { r: 'ab'.match(/a/) }, 'not_json', '/r/index'],
    ['a cycle', cycle, 'cycle', '/inner/0'],
    ['a value that unfolds without end', laughs, 'too_large', ''],
    ['a broken pair', { a: '\ud83d' }, 'lone_surrogate', '/a'],
    ['a broken pair in a name', { a: { '\ude00': 1 } }, 'lone_surrogate', '/a/\ufffd'],
  ])('refuses %s', (_what, value, problem, path) => {
    const found = copied(value);
    expect(found.problem).toBe(problem);
    expect(found.path.startsWith(path)).toBe(true);
    if (problem !== 'too_large') expect(found.path).toBe(path);
  });

  it('refuses endless depth with an error of its own', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 100_000; level++) deep = [deep];
    expect(copied(deep).problem).toBe('too_deep');
  });

  it('names the place the caller gave', () => {
    expect(() => toIJson({ total: 10n }, '/result')).toThrow('/result/total: a bigint');
  });
});
