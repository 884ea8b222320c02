import { safeParse } from 'zod/v4/core';
import type { Checked, Schema } from '../../statemachines/language/schema.ts';
import type { JsonValue } from '../../statemachines/ledger/canonical.ts';
import { IJsonError, parseIJson } from '../../statemachines/ledger/ijson.ts';
import { jsonPointer } from '../../statemachines/ledger/ijson-error.ts';
import { redactText } from '../../statemachines/ledger/redact.ts';
import { MAX_PAYLOAD_BYTES } from '../ports/payload-store.ts';
import { Problem, type ProblemType } from './problems.ts';

/** A request's body as it came. */
export type RawBody = string | Uint8Array;

/** Places shown of an input that does not fit; more would only be noise. */
const MAX_PLACES = 10;

/**
 * Reads a body strictly: what two parsers could read differently is refused (design: I-JSON only).
 * @throws Problem `input-too-large`, or `body-invalid` naming the path
 */
export function parseBody(raw: RawBody): JsonValue {
  const bytes = typeof raw === 'string' ? Buffer.byteLength(raw) : raw.byteLength;
  if (bytes > MAX_PAYLOAD_BYTES) throw tooLarge(bytes);
  try {
    return parseIJson(raw);
  } catch (error) {
    if (!(error instanceof IJsonError)) throw error;
    throw new Problem('body-invalid', `the body is not I-JSON (${error.problem})`, error.remedy, {
      at: placeOf(error.path),
    });
  }
}

export function tooLarge(bytes: number): Problem {
  return new Problem(
    'input-too-large',
    `${bytes} bytes are more than the ${MAX_PAYLOAD_BYTES} that are kept`,
    'keep the document elsewhere and send a reference to it',
    { at: 'body' },
  );
}

/**
 * Checks a value against a schema.
 * @throws Problem of that type, with places and codes; what was sent is never repeated
 */
export function fitted<S extends Schema>(
  schema: S,
  value: unknown,
  type: ProblemType,
  what: string,
): Checked<S> {
  const parsed = safeParse(schema, value);
  if (parsed.success) return parsed.data as Checked<S>;
  const faults = parsed.error.issues.flatMap((issue) => {
    const path = issue.path.map(segment);
    // The schema names the object that holds an unknown member; what has to be mended is the member.
    const paths =
      issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...path, key]) : [path];
    return paths.map((each) => ({ place: placeOf(jsonPointer('', each)), code: issue.code }));
  });
  const places = faults.map(({ place, code }) => `${place}: ${code}`);
  const shown = places.slice(0, MAX_PLACES).join('; ');
  const more = places.length > MAX_PLACES ? `; and ${places.length - MAX_PLACES} more` : '';
  throw new Problem(
    type,
    `${what} does not fit its schema (${shown}${more})`,
    'mend these places and send it again',
    { at: faults[0]?.place ?? placeOf('') },
  );
}

/** The body of a request that is not a saga's input. @throws Problem */
export function readRequest<S extends Schema>(
  schema: S,
  raw: RawBody,
  type: ProblemType = 'body-invalid',
): Checked<S> {
  return fitted(schema, parseBody(raw), type, 'the body');
}

function segment(part: PropertyKey): string | number {
  return typeof part === 'symbol' ? String(part) : part;
}

/** Names of members come from the sender too: what looks like a secret in them is masked. */
function placeOf(pointer: string): string {
  return pointer === '' ? '(the whole body)' : redactText(pointer, { maxLength: 200 });
}
