import { exampleOf, NoExample } from 'counterstep/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import * as mini from 'zod/mini';
import { deviating, garbled } from '../../testing/example.ts';

const one = { number: 1 };

describe('an example', () => {
  it.each([
    ['text', z.string(), 'value-1'],
    ['short text', z.string().max(3), '1'],
    ['long text', z.string().min(10), 'value-1xxx'],
    ['an address', z.email(), 'someone-1@example.com'],
    ['a whole number', z.int(), 1],
    ['a number from', z.number().min(5), 5],
    ['a number above', z.int().positive().multipleOf(4), 4],
    ['a choice', z.enum(['a', 'b']), 'a'],
    ['a literal', z.literal('settled'), 'settled'],
    ['one of several', z.union([z.boolean(), z.string()]), true],
    ['nothing', z.null(), null],
    ['a list', z.array(z.string()).min(2), ['value-1', 'value-1']],
    ['an object', z.object({ id: z.string(), note: z.string().optional() }), { id: 'id-1' }],
    ['an object of the small build', mini.object({ id: mini.string() }), { id: 'id-1' }],
    ['a default', z.object({ n: z.int().default(3) }), {}],
    ['both', z.object({ a: z.string() }).and(z.object({ b: z.int() })), { a: 'a-1', b: 1 }],
  ])('of %s fits its schema', (_what, schema, expected) => {
    expect(exampleOf(schema, 'value', one)).toEqual(expected);
  });

  it('takes over what has the same name, where it fits', () => {
    const schema = z.object({ amountMinor: z.int(), currency: z.string() });
    const like = { amountMinor: 1_250, currency: 'EUR', more: true };
    expect(exampleOf(schema, 'value', { number: 1, like })).toEqual({
      amountMinor: 1_250,
      currency: 'EUR',
    });
    expect(exampleOf(schema, 'value', { number: 1, like: { currency: 7 } })).toEqual({
      amountMinor: 1,
      currency: 'currency-1',
    });
  });

  it('says so where the schema asks for more than it tells', () => {
    expect(() => exampleOf(z.string().regex(/^T-\d+$/), 'the input', one)).toThrow(NoExample);
    expect(() =>
      exampleOf(
        z.string().refine((text) => text === 'x'),
        'it',
        one,
      ),
    ).toThrow('no example of it can be made');
  });
});

describe('what deviates', () => {
  it('leaves as much as it can, and the schema refuses it', () => {
    const schema = z.object({ id: z.string(), amount: z.int() });
    const changed = deviating(schema, { id: 'x', amount: 1 });
    expect(changed?.value).toMatchObject({ id: 'x' });
    expect(schema.safeParse(changed?.value).success).toBe(false);
    expect(schema.safeParse(garbled(schema)?.value).success).toBe(false);
    expect(deviating(z.unknown(), 1)).toBeUndefined();
  });
});
