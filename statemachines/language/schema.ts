import type { $ZodType, input, output } from 'zod/v4/core';

/**
 * A zod 4 schema of either build (`zod` or `zod/mini`). Only its type is imported: contracts
 * bring the schema library, this package does not.
 */
export type Schema = $ZodType<unknown, unknown>;

/** What a caller gives to be checked by the schema. */
export type Given<S extends Schema> = input<S>;

/** What the schema answers once the value was checked. */
export type Checked<S extends Schema> = output<S>;

export function isSchema(value: unknown): value is Schema {
  if (typeof value !== 'object' || value === null || !('_zod' in value)) return false;
  const internals = value._zod;
  return typeof internals === 'object' && internals !== null && 'def' in internals;
}
