import type { Schema } from './schema.ts';

const MARKS = Symbol.for('counterstep.sensitive');

/** One set for the whole process: contracts and engine may have loaded this module separately. */
const marked: WeakSet<object> = sharedMarks();

function sharedMarks(): WeakSet<object> {
  const known: unknown = Reflect.get(globalThis, MARKS);
  if (known instanceof WeakSet) return known;
  const made = new WeakSet<object>();
  Reflect.set(globalThis, MARKS, made);
  return made;
}

/**
 * Marks a schema's values as sensitive: they are kept in the payload store, never in an event, and
 * scrubbed from every text that leaves a tool. Returns the same schema. The mark survives what is
 * built from it (`.min(3)`, `.optional()`, `.describe('…')`).
 */
export function sensitive<S extends Schema>(schema: S): S {
  marked.add(schema);
  answered = new WeakMap();
  return schema;
}

/** Schemas do not change, and the engine asks about the same few at every call. */
let answered = new WeakMap<object, boolean>();

/** Whether the schema or any part of it is marked by {@link sensitive}. */
export function hasSensitive(schema: Schema): boolean {
  const known = answered.get(schema);
  if (known !== undefined) return known;
  const answer = contains(schema, new Set());
  answered.set(schema, answer);
  return answer;
}

/**
 * Every text and number that stands under a marked part of the schema, as text, each once.
 * Walks objects, arrays, tuples, records, unions (all members that could have matched) and wrappers.
 */
export function sensitiveValues(schema: Schema, value: unknown): string[] {
  const found = new Set<string>();
  collect(schema, value, false, found, new Set());
  return [...found];
}

/** A schema made from another by adding checks keeps it as its parent. */
function isMarked(schema: Schema): boolean {
  let each: unknown = schema;
  while (typeof each === 'object' && each !== null) {
    if (marked.has(each)) return true;
    const internals: unknown = Reflect.get(each, '_zod');
    each =
      typeof internals === 'object' && internals !== null
        ? Reflect.get(internals, 'parent')
        : undefined;
  }
  return false;
}

/** The parts of a schema, by where in a value they apply. Read by name, so that both zod builds fit. */
interface Parts {
  /** Apply to the same value. */
  readonly same: readonly Schema[];
  readonly members: ReadonlyMap<string, Schema>;
  /** Applies to members that have no schema of their own. */
  readonly rest: Schema | undefined;
  readonly keys: Schema | undefined;
  readonly items: readonly Schema[];
  /** Applies to items beyond `items`. */
  readonly item: Schema | undefined;
}

function partsOf(schema: Schema): Parts {
  const def = schema._zod.def;
  const read = (name: string): unknown => Reflect.get(def, name);
  const one = (name: string): Schema | undefined => asSchema(read(name));
  const none = {
    same: [],
    members: new Map(),
    rest: undefined,
    keys: undefined,
    items: [],
    item: undefined,
  };
  switch (def.type) {
    case 'object':
      return { ...none, members: new Map(membersOf(read('shape'))), rest: one('catchall') };
    case 'record':
      return { ...none, keys: one('keyType'), rest: one('valueType') };
    case 'array':
      return { ...none, item: one('element') };
    case 'tuple':
      return { ...none, items: schemasIn(read('items')), item: one('rest') };
    case 'union':
      return { ...none, same: schemasIn(read('options')) };
    case 'intersection':
      return { ...none, same: schemasIn([read('left'), read('right')]) };
    case 'pipe':
      return { ...none, same: schemasIn([read('in'), read('out')]) };
    case 'lazy': {
      const getter = read('getter');
      return { ...none, same: typeof getter === 'function' ? schemasIn([getter()]) : [] };
    }
    default:
      return { ...none, same: schemasIn([read('innerType')]) };
  }
}

function contains(schema: Schema, seen: Set<Schema>): boolean {
  if (seen.has(schema)) return false;
  seen.add(schema);
  if (isMarked(schema)) return true;
  const parts = partsOf(schema);
  const all = [...parts.same, ...parts.members.values(), ...parts.items];
  for (const part of [parts.rest, parts.keys, parts.item]) if (part !== undefined) all.push(part);
  return all.some((part) => contains(part, seen));
}

function collect(
  schema: Schema,
  value: unknown,
  under: boolean,
  found: Set<string>,
  // Schemas already applied to this very value: a lazy schema may come back to itself.
  seen: Set<Schema>,
): void {
  if (seen.has(schema)) return;
  seen.add(schema);
  const inside = under || isMarked(schema);
  const parts = partsOf(schema);
  for (const part of parts.same) collect(part, value, inside, found, seen);
  if (Array.isArray(value)) {
    value.forEach((item: unknown, index) => {
      const part = parts.items[index] ?? parts.item;
      if (part !== undefined) collect(part, item, inside, found, new Set());
      else if (inside) collectAll(item, found);
    });
  } else if (typeof value === 'object' && value !== null) {
    for (const [member, each] of Object.entries(value)) {
      const part = parts.members.get(member) ?? parts.rest;
      if (parts.keys !== undefined) collect(parts.keys, member, inside, found, new Set());
      if (part !== undefined) collect(part, each, inside, found, new Set());
      else if (inside) collectAll(each, found);
    }
  } else if (inside) {
    collectAll(value, found);
  }
}

function collectAll(value: unknown, found: Set<string>): void {
  if (typeof value === 'string') {
    if (value !== '') found.add(value);
  } else if (typeof value === 'number' || typeof value === 'bigint') {
    found.add(String(value));
  } else if (typeof value === 'object' && value !== null) {
    for (const each of Object.values(value)) collectAll(each, found);
  }
}

function asSchema(value: unknown): Schema | undefined {
  return typeof value === 'object' && value !== null && '_zod' in value
    ? (value as Schema)
    : undefined;
}

function schemasIn(values: unknown): Schema[] {
  if (!Array.isArray(values)) return [];
  return values.flatMap((value: unknown) => asSchema(value) ?? []);
}

function membersOf(shape: unknown): [string, Schema][] {
  if (typeof shape !== 'object' || shape === null) return [];
  return Object.entries(shape).flatMap(([name, value]): [string, Schema][] => {
    const schema = asSchema(value);
    return schema === undefined ? [] : [[name, schema]];
  });
}
