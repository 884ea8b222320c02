import type { Schema } from '../../statemachines/language/schema.ts';
import { hasSensitive } from '../../statemachines/language/sensitive.ts';
import { canonicalJson, type JsonValue } from '../../statemachines/ledger/canonical.ts';
import { sha256Hex } from '../../statemachines/ledger/hash.ts';
import type { LedgerId } from '../ports/ledger-store.ts';
import type { PayloadStore } from '../ports/payload-store.ts';

/**
 * What event 1 keeps of a start's body, so that a repeat is told from another body. A plain digest
 * would let anybody who holds the ledger confirm a guessed address, even after erasure. So where the
 * input has sensitive members the digest itself goes to the payload store, and event 1 names it by
 * the store's salted digest: the salt is erased with the payloads.
 * @throws StoreUnavailable
 */
export async function keepBodyDigest(
  payloads: PayloadStore,
  id: LedgerId,
  schema: Schema,
  body: JsonValue,
): Promise<string> {
  const digest = plainDigest(body);
  if (!hasSensitive(schema)) return digest;
  return (await payloads.put(id, JSON.stringify(digest))).digest;
}

/**
 * Whether the body is the one that event 1 was made from. Once erased that cannot be told any more:
 * any body then counts as the same. Either form is understood whatever the schema says by now.
 * @throws StoreUnavailable
 */
export async function isSameBody(
  payloads: PayloadStore,
  id: LedgerId,
  kept: string,
  body: JsonValue,
): Promise<boolean> {
  const digest = plainDigest(body);
  if (kept === digest) return true;
  const answer = await payloads.get(id, kept);
  if (answer.kind === 'found') return answer.text === JSON.stringify(digest);
  // A plain digest names no payload: it was compared above. A damaged payload proves nothing.
  return answer.kind === 'erased';
}

function plainDigest(body: JsonValue): string {
  return sha256Hex(canonicalJson(body));
}
