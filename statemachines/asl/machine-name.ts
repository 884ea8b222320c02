import type { SagaType } from '../language/effects.ts';
import { sha256Hex } from '../ledger/hash.ts';

const MAX_MACHINE_NAME = 80;
const HASH_DIGITS = 8;

/**
 * The machine's name: it begins with the plane's prefix, by which the right to start it is granted,
 * and says the type, so that a saga of another type gets a machine beside this one.
 */
export function machineName(prefix: string, saga: string, type: SagaType): string {
  const suffix = type.toLowerCase();
  const name = `${prefix}-${saga}-${suffix}`;
  if (name.length <= MAX_MACHINE_NAME) return name;
  const hash = sha256Hex(saga).slice(0, HASH_DIGITS);
  const room = MAX_MACHINE_NAME - prefix.length - suffix.length - hash.length - 3;
  return `${prefix}-${saga.slice(0, room)}-${hash}-${suffix}`;
}
