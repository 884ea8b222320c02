/** The border of the ledger: only I-JSON (RFC 7493) passes, as text or as a value in memory. */
export { IJSON_ERROR, IJsonError, type IJsonProblem } from './ijson-error.ts';
export { type ParseOptions, parseIJson } from './parse-ijson.ts';
export { toIJson } from './to-ijson.ts';
