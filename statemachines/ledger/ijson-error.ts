/** What keeps a value out of the ledger. Closed set: the API and the tool runtime report it as it is. */
export type IJsonProblem =
  | 'syntax'
  | 'invalid_utf8'
  | 'byte_order_mark'
  | 'duplicate_member'
  | 'lone_surrogate'
  | 'number_overflow'
  | 'number_underflow'
  | 'number_inexact'
  | 'unsafe_integer'
  | 'not_a_number'
  | 'undefined_element'
  | 'not_json'
  | 'cycle'
  | 'too_deep'
  | 'too_large';

/** `error.name` of {@link IJsonError}; compare with this, since bundlers rename classes. */
export const IJSON_ERROR = 'Counterstep.IJsonError';

/** A value was refused at the border. Nothing has been written. */
export class IJsonError extends Error {
  override readonly name = IJSON_ERROR;
  /** Where, as a JSON pointer (RFC 6901); the empty string is the whole value. */
  readonly path: string;
  readonly problem: IJsonProblem;
  /** What the sender should do instead. */
  readonly remedy: string;

  constructor(path: string, problem: IJsonProblem, explanation: string, remedy: string) {
    const shown = path.length > 200 ? `${path.slice(0, 199)}…` : path;
    const place = shown === '' ? 'the whole value' : wellFormed(shown);
    super(`${place}: ${explanation}; ${remedy}`);
    this.path = path;
    this.problem = problem;
    this.remedy = remedy;
  }
}

/** JSON pointer of a path. Broken surrogates become U+FFFD, so that the error itself can be sent on. */
export function jsonPointer(base: string, segments: readonly (string | number)[]): string {
  let pointer = base;
  for (const segment of segments) {
    pointer += `/${String(segment).replaceAll('~', '~0').replaceAll('/', '~1')}`;
  }
  return wellFormed(pointer);
}

/** With the `u` flag a surrogate that is half of a pair is no match: only broken ones are. */
const LONE_SURROGATE = /\p{Surrogate}/u;
const LONE_SURROGATES = /\p{Surrogate}/gu;

export function hasLoneSurrogate(text: string): boolean {
  return LONE_SURROGATE.test(text);
}

export function wellFormed(text: string): string {
  return text.replace(LONE_SURROGATES, '\ufffd');
}
