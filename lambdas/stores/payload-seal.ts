import { sha256Hex } from '../../statemachines/ledger/hash.ts';
import type { Entropy } from '../ports/entropy.ts';
import type { PayloadAnswer } from '../ports/payload-store.ts';
import { checkedPayload } from './checks.ts';

/** A payload ready to be kept: nobody can guess the text from the digest without the salt. */
export interface SealedPayload {
  readonly digest: string;
  readonly bytes: number;
  readonly salt: string;
  readonly text: string;
}

/** @throws PayloadTooLarge */
export function sealPayload(text: string, entropy: Entropy): SealedPayload {
  checkedPayload(text);
  const salt = entropy.nonce();
  return { digest: sha256Hex(salt, text), bytes: Buffer.byteLength(text), salt, text };
}

/** Checks what stood in the store against the digest it was asked for by. */
export function openPayload(
  digest: string,
  stored: { readonly salt: string | undefined; readonly text: string | undefined },
): PayloadAnswer {
  const { salt, text } = stored;
  if (salt === undefined || text === undefined || sha256Hex(salt, text) !== digest) {
    return { kind: 'damaged' };
  }
  return { kind: 'found', text };
}
