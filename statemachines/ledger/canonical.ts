import canonicalize from 'canonicalize';

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
 * Meant for values that passed the border (`parseIJson`, `toIJson`). Of others it throws a plain
 * `Error` for lone surrogates, non-finite numbers and cycles, but does not name the path.
 */
export function canonicalJson(value: JsonValue): string {
  const text = canonicalize(value);
  if (text === undefined) {
    throw new TypeError('undefined has no JSON text; pass the value through toIJson first');
  }
  return text;
}
