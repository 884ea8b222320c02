import { safeParse, toJSONSchema } from 'zod/v4/core';
import type { Schema } from '../statemachines/language/schema.ts';

/** The parts of a JSON Schema that an example is made from. */
interface Shape {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly anyOf?: readonly Shape[];
  readonly oneOf?: readonly Shape[];
  readonly allOf?: readonly Shape[];
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly items?: Shape | boolean;
  readonly prefixItems?: readonly Shape[];
  readonly minItems?: number;
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Shape>>;
}

export interface ExampleOptions {
  /** Tells examples apart: plain texts end in it. */
  readonly number: number;
  /** Members of this object are taken over where the schema asks for the same name and accepts them. */
  readonly like?: unknown;
}

/** No example can be made from the schema alone. */
export class NoExample extends Error {
  override readonly name = 'Counterstep.NoExample';
}

const shapes = new WeakMap<Schema, Shape>();

/**
 * A value that the schema accepts: always the same one for the same schema and number.
 * @throws NoExample where the schema asks for more than its JSON Schema tells (a refinement, a pattern)
 */
export function exampleOf(schema: Schema, what: string, options: ExampleOptions): unknown {
  const shape = shapeOf(schema);
  const plain = { root: shape, number: options.number };
  const given = members(options.like);
  for (const like of given === undefined ? [{}] : [given, {}]) {
    const value = build(shape, what, { ...plain, like }, 0);
    if (safeParse(schema, value).success) return value;
  }
  throw new NoExample(`no example of ${what} can be made from its schema`);
}

function shapeOf(schema: Schema): Shape {
  const known = shapes.get(schema);
  if (known !== undefined) return known;
  const made = toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Shape;
  shapes.set(schema, made);
  return made;
}

interface Making {
  readonly root: Shape;
  readonly number: number;
  readonly like: Readonly<Record<string, unknown>>;
}

const MAX_DEPTH = 8;

function build(shape: Shape, name: string, making: Making, depth: number): unknown {
  if (shape.const !== undefined) return shape.const;
  if (shape.enum !== undefined) return shape.enum[0];
  if (shape.examples !== undefined) return shape.examples[0];
  if (shape.$ref !== undefined) return build(target(shape.$ref, making), name, making, depth + 1);
  const choice = (shape.anyOf ?? shape.oneOf)?.[0];
  if (choice !== undefined) return build(choice, name, making, depth + 1);
  if (shape.allOf !== undefined) {
    return Object.assign({}, ...shape.allOf.map((each) => build(each, name, making, depth + 1)));
  }
  const type = typeof shape.type === 'string' ? shape.type : shape.type?.[0];
  switch (type) {
    case 'string':
      return text(shape, name, making.number);
    case 'integer':
    case 'number':
      return quantity(shape, type === 'integer');
    case 'boolean':
      return true;
    case 'null':
      return null;
    case 'array':
      return list(shape, name, making, depth);
    default:
      return object(shape, making, depth);
  }
}

function object(shape: Shape, making: Making, depth: number): unknown {
  const entries = Object.entries(shape.properties ?? {}).flatMap(([name, part]) => {
    if (depth === 0 && Object.hasOwn(making.like, name)) return [[name, making.like[name]]];
    const needed = shape.required?.includes(name) === true && depth < MAX_DEPTH;
    return needed ? [[name, build(part, name, making, depth + 1)]] : [];
  });
  return Object.fromEntries(entries) as unknown;
}

function list(shape: Shape, name: string, making: Making, depth: number): unknown[] {
  const first = (shape.prefixItems ?? []).map((each) => build(each, name, making, depth + 1));
  const { items } = shape;
  while (first.length < (shape.minItems ?? 0) && typeof items === 'object') {
    first.push(build(items, name, making, depth + 1));
  }
  return first;
}

const FORMATS: Readonly<Record<string, (number: number) => string>> = {
  email: (number) => `someone-${number}@example.com`,
  uuid: (number) => `00000000-0000-4000-8000-${number.toString(16).padStart(12, '0')}`,
  uri: (number) => `https://example.com/${number}`,
  'date-time': () => '2026-01-05T00:00:00Z',
  date: () => '2026-01-05',
  time: () => '00:00:00',
  duration: () => 'PT1H',
  ipv4: () => '192.0.2.1',
  ipv6: () => '2001:db8::1',
};

function text(shape: Shape, name: string, number: number): string {
  const formatted = shape.format === undefined ? undefined : FORMATS[shape.format];
  if (formatted !== undefined) return formatted(number);
  const plain = `${name}-${number}`.padEnd(shape.minLength ?? 0, 'x');
  if (shape.maxLength === undefined || plain.length <= shape.maxLength) return plain;
  return String(number)
    .padStart(shape.minLength ?? 1, '0')
    .slice(-shape.maxLength);
}

function quantity(shape: Shape, whole: boolean): number {
  const step = shape.multipleOf ?? 1;
  const above = shape.exclusiveMinimum === undefined ? undefined : shape.exclusiveMinimum + step;
  const below = shape.exclusiveMaximum === undefined ? undefined : shape.exclusiveMaximum - step;
  const least = Math.max(shape.minimum ?? Number.MIN_SAFE_INTEGER, above ?? -Infinity);
  const most = Math.min(shape.maximum ?? Number.MAX_SAFE_INTEGER, below ?? Infinity);
  const value = Math.min(Math.max(step, least), most);
  return whole ? Math.ceil(value / step) * step : value;
}

function target(reference: string, making: Making): Shape {
  const name = /^#\/\$defs\/(.+)$/.exec(reference)?.[1];
  return (name === undefined ? making.root : making.root.$defs?.[name]) ?? {};
}

function members(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;
}

/**
 * A value near `good` that the schema refuses, with as much of it left as can be (so that what is read
 * from it can still be read); nothing where the schema accepts whatever comes.
 */
export function deviating(schema: Schema, good: unknown): { readonly value: unknown } | undefined {
  const whole = members(good);
  const names = Object.keys(whole ?? {}).reverse();
  const near = names.map((name) => ({ ...whole, [name]: { unexpected: true } }));
  const found = [...near, null, 'unexpected', 17].find(
    (value) => !safeParse(schema, value).success,
  );
  return found === undefined ? undefined : { value: found };
}

/** A value of another kind altogether: whatever reads from it fails. */
export function garbled(schema: Schema): { readonly value: unknown } | undefined {
  const found = [null, 'unexpected', 17].find((value) => !safeParse(schema, value).success);
  return found === undefined ? undefined : { value: found };
}
