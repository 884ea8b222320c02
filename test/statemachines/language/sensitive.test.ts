import { hasSensitive, type Schema, sensitive, sensitiveValues } from 'counterstep';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import * as mini from 'zod/mini';

test('returns the schema itself, so that it can be used in place', () => {
  const text = z.string();
  expect(sensitive(text)).toBe(text);
});

describe('the mark survives what is built from the schema', () => {
  test.each<[string, Schema]>([
    ['a check', sensitive(z.string()).min(3)],
    ['several checks', sensitive(z.string()).min(3).max(9).trim()],
    ['a refinement', sensitive(z.string()).refine((text) => text !== 'x')],
    ['a description', sensitive(z.string()).describe('A mail address.')],
    ['metadata', sensitive(z.string()).meta({ title: 'Mail' })],
    ['a brand', sensitive(z.string()).brand('Mail')],
    ['a transform', sensitive(z.string()).transform((text) => text.toLowerCase())],
    ['a default', sensitive(z.string()).default('x')],
    ['readonly', sensitive(z.string()).readonly()],
    ['nullish', sensitive(z.string()).nullish()],
    ['a check of mini', sensitive(mini.string()).check(mini.minLength(3))],
    ['optional of mini', mini.optional(sensitive(mini.string()))],
    ['a member', z.object({ mail: sensitive(z.string()) })],
    ['a member of a partial', z.object({ mail: sensitive(z.string()) }).partial()],
    ['a member of an extension', z.object({ mail: sensitive(z.string()) }).extend({ a: z.int() })],
    ['an item', z.array(sensitive(z.string()))],
    ['a tuple item', z.tuple([z.int(), sensitive(z.string())])],
    ['a tuple rest', z.tuple([z.int()], sensitive(z.string()))],
    ['a record value', z.record(z.string(), sensitive(z.string()))],
    ['a record key', z.record(sensitive(z.string()), z.int())],
    ['a union member', z.union([z.int(), sensitive(z.string())])],
    [
      'an intersection part',
      z.intersection(z.object({}), z.object({ mail: sensitive(z.string()) })),
    ],
    ['a lazy schema', z.lazy(() => sensitive(z.string()))],
    ['a catchall', z.object({}).catchall(sensitive(z.string()))],
  ])('%s', (_, schema) => {
    expect(hasSensitive(schema)).toBe(true);
  });
});

test('an unmarked schema has nothing sensitive, and neither has the one a marked one was made from', () => {
  const plain = z.string();
  sensitive(plain.min(2));
  expect(hasSensitive(z.object({ a: plain, b: z.array(z.union([plain, z.null()])) }))).toBe(false);
});

test('finds every text and number under a mark, and only those', () => {
  const schema = z.object({
    orderId: z.string(),
    mail: sensitive(z.email()).optional(),
    people: z.array(z.object({ name: sensitive(z.string()), role: z.string() })),
    card: sensitive(z.object({ number: z.string(), cvc: z.int(), used: z.boolean() })),
    notes: z.record(z.string(), sensitive(z.string())),
    either: z.union([z.object({ iban: sensitive(z.string()) }), z.object({ voucher: z.string() })]),
    any: sensitive(z.unknown()),
    none: sensitive(z.string()).nullable(),
  });
  const found = sensitiveValues(schema, {
    orderId: 'o-1',
    mail: 'ada@example.com',
    people: [
      { name: 'Ada', role: 'buyer' },
      { name: 'Grace', role: 'payer' },
    ],
    card: { number: '4111', cvc: 123, used: true },
    notes: { monday: 'rang twice', empty: '' },
    either: { iban: 'DE00' },
    any: [{ deep: 'thing' }, 7],
    none: null,
  });
  expect(found.sort()).toEqual(
    ['ada@example.com', 'Ada', 'Grace', '4111', '123', 'rang twice', 'DE00', 'thing', '7'].sort(),
  );
});

test('record keys under a mark are values of their own', () => {
  const schema = z.record(sensitive(z.string()), z.int());
  expect(sensitiveValues(schema, { 'ada@example.com': 1 })).toEqual(['ada@example.com']);
});

test('schemas that hold themselves come to an end', () => {
  type Tree = { readonly secret: string; readonly children: readonly Tree[] };
  const tree: z.ZodType<Tree> = z.lazy(() =>
    z.object({ secret: sensitive(z.string()), children: z.array(tree) }),
  );
  expect(hasSensitive(tree)).toBe(true);
  const value = { secret: 'a', children: [{ secret: 'b', children: [] }] };
  expect(sensitiveValues(tree, value)).toEqual(['a', 'b']);
  const endless: z.ZodType = z.lazy(() => endless);
  expect(hasSensitive(endless)).toBe(false);
  expect(sensitiveValues(endless, 'a')).toEqual([]);
});

test('a value of another shape than its schema does not throw', () => {
  const schema = z.object({ mail: sensitive(z.object({ text: z.string() })) });
  expect(sensitiveValues(schema, null)).toEqual([]);
  expect(sensitiveValues(schema, { mail: 'raw' })).toEqual(['raw']);
  expect(sensitiveValues(schema, { mail: [{ other: 'x' }] })).toEqual(['x']);
});
