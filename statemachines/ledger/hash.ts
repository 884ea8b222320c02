import * as crypto from 'node:crypto';

/**
 * SHA-256 over the UTF-8 bytes of all parts, one after the other, in lower-case hex.
 *
 * Nothing separates the parts: `('ab', 'c')` and `('a', 'bc')` are one hash. Callers make their
 * parts unambiguous (a fixed width, or canonical JSON).
 */
export function sha256Hex(...parts: string[]): string {
  const text = parts.length === 1 && parts[0] !== undefined ? parts[0] : parts.join('');
  return oneShot(text);
}

// `crypto.hash` came with Node 20.12 and saves the hash object, which dominates at 1 KB.
const oneShot: (text: string) => string =
  typeof crypto.hash === 'function'
    ? (text) => crypto.hash('sha256', text, 'hex')
    : (text) => crypto.createHash('sha256').update(text, 'utf8').digest('hex');
