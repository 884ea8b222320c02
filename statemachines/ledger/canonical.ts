import { hasLoneSurrogate } from './ijson-error.ts';

/** A value that JSON can carry without loss (I-JSON, RFC 7493). */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [member: string]: JsonValue };

/**
 * The one text of a value (RFC 8785): members sorted by UTF-16 code units, ECMAScript numbers,
 * no white space. Equal values give equal text, so the text can be hashed and compared.
 *
 * Meant for values that passed the border (`parseIJson`, `toIJson`), which name the path of what they
 * refuse. What should not have come this far is refused here too, without a path.
 * @throws TypeError for `undefined` and other values without a JSON text, non-finite numbers, lone
 *   surrogates and cycles
 */
export function canonicalJson(value: JsonValue): string {
  return textOf(value, 0);
}

/** Far beyond what the border lets through; a cycle gets here instead of exhausting the stack. */
const TOO_DEEP = 1_000;

function textOf(value: JsonValue, depth: number): string {
  switch (typeof value) {
    case 'string':
      return textOfString(value);
    case 'number':
      if (!Number.isFinite(value)) return refuse(`the number ${value}`);
      return JSON.stringify(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      if (value === null) return 'null';
      if (depth > TOO_DEEP)
        return refuse('a value that contains itself, or is nested without end,');
      return isArray(value) ? textOfArray(value, depth + 1) : textOfObject(value, depth + 1);
    default:
      return refuse(typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`);
  }
}

// Texts grow by appending: an event has few and small members, and each array in between costs more.
function textOfArray(elements: readonly JsonValue[], depth: number): string {
  let text = '[';
  let separator = '';
  for (const element of elements) {
    text += separator + textOf(element, depth);
    separator = ',';
  }
  return `${text}]`;
}

function textOfObject(value: { readonly [member: string]: JsonValue }, depth: number): string {
  let text = '{';
  let separator = '';
  // The default order is that of UTF-16 code units, as RFC 8785 asks.
  for (const name of Object.keys(value).sort()) {
    const member = value[name];
    if (member === undefined) continue;
    text += `${separator}${textOfString(name)}:${textOf(member, depth)}`;
    separator = ',';
  }
  return `${text}}`;
}

/** Letters, digits and the marks of ids and names: nothing to escape, and most of what an event holds. */
const PLAIN = /^[\w .:/@+=-]*$/;

function textOfString(value: string): string {
  if (value.length < 80 && PLAIN.test(value)) return `"${value}"`;
  if (hasLoneSurrogate(value)) return refuse('half of a surrogate pair');
  return JSON.stringify(value);
}

function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function refuse(what: string): never {
  throw new TypeError(`${what} has no canonical JSON text: pass the value through toIJson first`);
}
