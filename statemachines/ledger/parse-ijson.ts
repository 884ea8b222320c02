import type { JsonValue } from './canonical.ts';
import { numberFault } from './exact-number.ts';
import { hasLoneSurrogate, IJsonError, type IJsonProblem, jsonPointer } from './ijson-error.ts';

export interface ParseOptions {
  /** Nested arrays and objects allowed (default 100). */
  readonly maxDepth?: number;
  /** Size of the UTF-8 text allowed, in bytes (default: no limit). */
  readonly maxBytes?: number;
  /** JSON pointer put before every reported path (default: the empty one). */
  readonly at?: string;
}

export const DEFAULT_MAX_DEPTH = 100;

/**
 * Reads a text that came from outside (a request body) as I-JSON (RFC 7493), or refuses it.
 *
 * `JSON.parse` would let things through that two parsers read differently. Refused here, with the
 * path: duplicate members (compared after escapes are decoded), broken surrogate pairs in strings
 * and names, invalid UTF-8, a byte order mark, numbers that a double does not keep (the rule is at
 * `numberFault`), and texts deeper or larger than the options allow. `-0` is read as `0`.
 *
 * A member called `__proto__` becomes an ordinary own member.
 *
 * @throws IJsonError
 */
export function parseIJson(input: string | Uint8Array, options: ParseOptions = {}): JsonValue {
  const at = options.at ?? '';
  const { maxBytes } = options;
  if (maxBytes !== undefined) {
    const bytes = typeof input === 'string' ? Buffer.byteLength(input) : input.byteLength;
    if (bytes > maxBytes) {
      throw new IJsonError(
        at,
        'too_large',
        `${bytes} bytes where ${maxBytes} are allowed`,
        'send large content elsewhere and pass a reference to it',
      );
    }
  }
  const text = typeof input === 'string' ? input : decodeUtf8(input, at);
  if (text.startsWith('\ufeff')) {
    throw new IJsonError(
      at,
      'byte_order_mark',
      'the text begins with a byte order mark',
      'send UTF-8 without one',
    );
  }
  return new Reader(text, at, options.maxDepth ?? DEFAULT_MAX_DEPTH).document();
}

function decodeUtf8(bytes: Uint8Array, at: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new IJsonError(at, 'invalid_utf8', 'the bytes are not UTF-8', 'encode the text as UTF-8');
  }
}

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON strings may not hold these raw
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const HEX4 = /[0-9a-fA-F]{4}/y;
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

/** Recursive descent over the JSON grammar. `path` follows the position, for errors only. */
class Reader {
  readonly #text: string;
  readonly #at: string;
  readonly #maxDepth: number;
  readonly #path: (string | number)[] = [];
  #pos = 0;

  constructor(text: string, at: string, maxDepth: number) {
    this.#text = text;
    this.#at = at;
    this.#maxDepth = maxDepth;
  }

  document(): JsonValue {
    this.#space();
    const value = this.#value();
    this.#space();
    if (this.#pos < this.#text.length) this.#unexpected('the end of the text');
    return value;
  }

  #value(): JsonValue {
    switch (this.#text[this.#pos]) {
      case '{':
        return this.#object();
      case '[':
        return this.#array();
      case '"':
        return this.#string();
      case 't':
        return this.#word('true', true);
      case 'f':
        return this.#word('false', false);
      case 'n':
        return this.#word('null', null);
      default:
        return this.#number();
    }
  }

  #object(): JsonValue {
    const members: Record<string, JsonValue> = {};
    this.#open();
    if (this.#accept('}')) return members;
    do {
      this.#space();
      if (this.#text[this.#pos] !== '"') this.#unexpected('a member name in double quotes');
      const name = this.#string('name');
      if (Object.hasOwn(members, name)) {
        this.#path.push(name);
        this.#refuse('duplicate_member', 'the member occurs twice', 'send each member once');
      }
      this.#space();
      this.#expect(':');
      this.#space();
      this.#path.push(name);
      setMember(members, name, this.#value());
      this.#path.pop();
      this.#space();
    } while (this.#accept(','));
    this.#expect('}');
    return members;
  }

  #array(): JsonValue {
    const elements: JsonValue[] = [];
    this.#open();
    if (this.#accept(']')) return elements;
    do {
      this.#space();
      this.#path.push(elements.length);
      elements.push(this.#value());
      this.#path.pop();
      this.#space();
    } while (this.#accept(','));
    this.#expect(']');
    return elements;
  }

  /** The path has one segment for each container around the position. */
  #open(): void {
    if (this.#path.length >= this.#maxDepth) {
      const explanation = `more than ${this.#maxDepth} levels of nesting`;
      this.#refuse('too_deep', explanation, 'send a flatter value');
    }
    this.#pos++;
    this.#space();
  }

  #string(what: 'value' | 'name' = 'value'): string {
    this.#pos++;
    let decoded = this.#plain(what);
    while (this.#text[this.#pos] === '\\') {
      decoded += this.#escape();
      decoded += this.#plain(what);
    }
    if (this.#text[this.#pos] !== '"') this.#unexpected('the end of the string');
    this.#pos++;
    // Again over the whole: halves may have come from escapes.
    this.#checkSurrogates(decoded, what);
    return decoded;
  }

  #plain(what: 'value' | 'name'): string {
    const run = this.#match(PLAIN) ?? '';
    // By itself too: a raw half next to an escaped one must not pass as a pair.
    this.#checkSurrogates(run, what);
    return run;
  }

  #checkSurrogates(text: string, what: 'value' | 'name'): void {
    if (!hasLoneSurrogate(text)) return;
    if (what === 'name') this.#path.push(text);
    this.#refuse(
      'lone_surrogate',
      `the ${what === 'name' ? 'member name' : 'string'} holds half of a surrogate pair`,
      'send whole characters (binary content as base64)',
    );
  }

  #escape(): string {
    const letter = this.#text[this.#pos + 1] ?? '';
    this.#pos += 2;
    if (letter === 'u') {
      const hex = this.#match(HEX4);
      if (hex === undefined) this.#unexpected('four hexadecimal digits');
      return String.fromCharCode(Number.parseInt(hex, 16));
    }
    const character = Object.hasOwn(ESCAPES, letter) ? ESCAPES[letter] : undefined;
    if (character === undefined) this.#unexpected('a JSON escape');
    return character;
  }

  #number(): number {
    const token = this.#match(NUMBER);
    if (token === undefined) this.#unexpected('a JSON value');
    const value = Number(token);
    const fault = numberFault(token, value);
    if (fault) this.#refuse(fault.problem, fault.explanation, 'send it as a string');
    return value === 0 ? 0 : value;
  }

  #word<T extends JsonValue>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#pos)) this.#unexpected('a JSON value');
    this.#pos += word.length;
    return value;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#pos;
    const found = pattern.exec(this.#text)?.[0];
    if (found !== undefined) this.#pos += found.length;
    return found;
  }

  #space(): void {
    const code = this.#text.charCodeAt(this.#pos);
    if (code <= 0x20) this.#match(SPACE);
  }

  #accept(mark: string): boolean {
    if (this.#text[this.#pos] !== mark) return false;
    this.#pos++;
    return true;
  }

  #expect(mark: string): void {
    if (!this.#accept(mark)) this.#unexpected(`"${mark}"`);
  }

  #unexpected(wanted: string): never {
    const found = this.#pos < this.#text.length ? 'another character' : 'the end';
    const explanation = `expected ${wanted} at offset ${this.#pos}, found ${found}`;
    this.#refuse('syntax', explanation, 'send one complete JSON text (RFC 8259)');
  }

  #refuse(problem: IJsonProblem, explanation: string, remedy: string): never {
    throw new IJsonError(jsonPointer(this.#at, this.#path), problem, explanation, remedy);
  }
}

/** Plain assignment, except that `__proto__` must not reach the prototype's setter. */
export function setMember(
  members: Record<string, JsonValue>,
  name: string,
  value: JsonValue,
): void {
  if (name === '__proto__') {
    Object.defineProperty(members, name, {
      value,
      writable: true,
      enumerable: true,
      configurable: true,
    });
  } else {
    members[name] = value;
  }
}
