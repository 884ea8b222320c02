import type { Schema } from '../../statemachines/language/schema.ts';
import { hasSensitive } from '../../statemachines/language/sensitive.ts';
import { canonicalJson, type JsonValue } from '../../statemachines/ledger/canonical.ts';
import { sha256Hex } from '../../statemachines/ledger/hash.ts';
import { parseIJson, toIJson } from '../../statemachines/ledger/ijson.ts';
import type { Stored } from '../../statemachines/rules/events.ts';
import type { LedgerId } from '../ports/ledger-store.ts';
import { MAX_PAYLOAD_BYTES, PayloadTooLarge } from '../ports/payload-store.ts';
import type { Stores } from '../ports/stores.ts';

/** Values up to this size stand in the event itself, so that an event stays near one write unit. */
export const MAX_INLINE_BYTES = 4 * 1024;

/** A payload that was asked for is not there any more. */
export class PayloadGone extends Error {
  override readonly name = 'Counterstep.PayloadGone';
  readonly reason: 'erased' | 'missing' | 'damaged';
  constructor(reason: 'erased' | 'missing' | 'damaged', digest: string) {
    super(`payload ${digest.slice(0, 12)} is ${reason}: what depends on it needs a person`);
    this.reason = reason;
  }
}

/**
 * Keeps a value where it belongs: small and harmless in the event, large or sensitive in the payload
 * store. A value above the payload limit is `dropped`: its digest and size remain.
 * @throws IJsonError where the value is not I-JSON, naming the path
 * @throws StoreUnavailable
 */
export async function keep(
  stores: Stores,
  id: LedgerId,
  value: unknown,
  schema: Schema | undefined,
): Promise<Stored> {
  const json = toIJson(value);
  const text = canonicalJson(json);
  const bytes = Buffer.byteLength(text, 'utf8');
  const sensitive = schema !== undefined && hasSensitive(schema);
  if (!sensitive && bytes <= MAX_INLINE_BYTES) return { kind: 'inline', value: json };
  if (bytes > MAX_PAYLOAD_BYTES) return { kind: 'dropped', digest: sha256Hex(text), bytes };
  const ref = await stores.payloads.put(id, text);
  return { kind: 'ref', digest: ref.digest, bytes: ref.bytes };
}

/** As {@link keep}, but a value too large is refused. @throws PayloadTooLarge */
export async function keepWhole(
  stores: Stores,
  id: LedgerId,
  value: unknown,
  schema: Schema | undefined,
): Promise<Stored> {
  const stored = await keep(stores, id, value, schema);
  if (stored.kind === 'dropped') throw new PayloadTooLarge(stored.bytes);
  return stored;
}

/** @throws PayloadGone */
export async function fetchStored(
  stores: Stores,
  id: LedgerId,
  stored: Stored,
): Promise<JsonValue> {
  if (stored.kind === 'inline') return stored.value;
  if (stored.kind === 'dropped') throw new PayloadGone('missing', stored.digest);
  const answer = await stores.payloads.get(id, stored.digest);
  if (answer.kind !== 'found') throw new PayloadGone(answer.kind, stored.digest);
  return parseIJson(answer.text);
}
