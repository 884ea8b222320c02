import type { JsonValue } from './canonical.ts';
import { numberFault } from './exact-number.ts';
import { hasLoneSurrogate, IJsonError, type IJsonProblem, jsonPointer } from './ijson-error.ts';
import { DEFAULT_MAX_DEPTH, setMember } from './parse-ijson.ts';

/** A value that refers to one part many times can unfold without end; nothing real gets near this. */
const MAX_VALUES = 1_000_000;

/**
 * Turns a value in memory (a tool's result, an input, an event) into what the ledger may keep: a
 * copy made of plain objects and arrays, or a refusal that names the path. What is hashed is this
 * copy, so nothing can vanish or change between hashing and storing.
 *
 * Normalised: a member that is `undefined` is dropped; `undefined` as the whole value is `null` (a
 * tool that returns nothing); `-0` is `0`; getters are read once.
 *
 * Refused: `undefined` and holes in arrays, extra members on arrays, `NaN` and infinities, numbers
 * a double does not keep (`numberFault`), bigint, symbols (also as names), functions, and with them
 * `toJSON`; every object that is not plain (`Date`, `Map`, `Set`, buffers, class instances, boxed
 * primitives); cycles; broken surrogate pairs; more than 100 levels.
 *
 * Strings are kept as they are: composed and decomposed forms stay different.
 *
 * @param at JSON pointer put before every reported path
 * @throws IJsonError
 */
export function toIJson(value: unknown, at = ''): JsonValue {
  return value === undefined ? null : new Copier(at).copy(value);
}

class Copier {
  readonly #at: string;
  readonly #path: (string | number)[] = [];
  readonly #around = new Set<object>();
  #values = 0;

  constructor(at: string) {
    this.#at = at;
  }

  copy(value: unknown): JsonValue {
    if (++this.#values > MAX_VALUES) {
      const explanation = `more than ${MAX_VALUES} values`;
      this.#refuse('too_large', explanation, 'pass a reference to the content');
    }
    switch (typeof value) {
      case 'boolean':
        return value;
      case 'string':
        this.#checkString(value, 'string');
        return value;
      case 'number':
        return this.#number(value);
      case 'object':
        return value === null ? null : this.#container(value);
      case 'bigint':
        return this.#refuse('not_json', 'a bigint has no JSON form', 'send it as a string');
      default:
        return this.#refuse('not_json', `a ${typeof value} has no JSON form`, 'leave it out');
    }
  }

  #number(value: number): number {
    if (Number.isNaN(value)) {
      return this.#refuse('not_a_number', 'NaN has no JSON form', 'send null or leave it out');
    }
    // A small integer is the usual number; skip the text form.
    if (Number.isSafeInteger(value)) return value === 0 ? 0 : value;
    const fault = numberFault(String(value), value);
    if (fault) return this.#refuse(fault.problem, fault.explanation, 'send it as a string');
    return value;
  }

  #container(value: object): JsonValue {
    if (this.#around.has(value)) {
      this.#refuse('cycle', 'the value contains itself', 'send an id in place of the inner one');
    }
    if (this.#path.length >= DEFAULT_MAX_DEPTH) {
      const explanation = `more than ${DEFAULT_MAX_DEPTH} levels of nesting`;
      this.#refuse('too_deep', explanation, 'send a flatter value');
    }
    this.#around.add(value);
    const copy = Array.isArray(value) ? this.#array(value) : this.#object(value);
    this.#around.delete(value);
    return copy;
  }

  #array(elements: readonly unknown[]): JsonValue {
    const copy: JsonValue[] = [];
    for (let index = 0; index < elements.length; index++) {
      this.#path.push(index);
      const element = elements[index];
      if (element === undefined) {
        const explanation = 'undefined (or a hole) in an array would move or become null';
        this.#refuse('undefined_element', explanation, 'send null or remove the element');
      }
      copy.push(this.copy(element));
      this.#path.pop();
    }
    const extra = Object.keys(elements)[elements.length];
    if (extra !== undefined) {
      this.#path.push(extra);
      this.#refuse('not_json', 'a named member of an array would be lost', 'send an object');
    }
    return copy;
  }

  #object(value: object): JsonValue {
    if (!isPlain(value)) {
      const kind = Object.prototype.toString.call(value).slice(8, -1);
      const remedy =
        kind === 'Date'
          ? 'send toISOString() or epoch milliseconds'
          : 'send a plain object or array';
      this.#refuse('not_json', `an object of its own kind (${kind}) has no JSON form`, remedy);
    }
    if (Object.getOwnPropertySymbols(value).length > 0) {
      this.#refuse('not_json', 'a member named by a symbol would be lost', 'name it by a string');
    }
    const copy: Record<string, JsonValue> = {};
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined) continue;
      this.#path.push(name);
      this.#checkString(name, 'member name');
      setMember(copy, name, this.copy(member));
      this.#path.pop();
    }
    return copy;
  }

  #checkString(text: string, what: string): void {
    if (!hasLoneSurrogate(text)) return;
    const remedy = 'send whole characters (binary content as base64)';
    this.#refuse('lone_surrogate', `the ${what} holds half of a surrogate pair`, remedy);
  }

  #refuse(problem: IJsonProblem, explanation: string, remedy: string): never {
    throw new IJsonError(jsonPointer(this.#at, this.#path), problem, explanation, remedy);
  }
}

/** True for object literals, also those of another realm (a `vm` context). */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return true;
  return (
    Object.getPrototypeOf(prototype) === null && Object.hasOwn(Object(prototype), 'isPrototypeOf')
  );
}
