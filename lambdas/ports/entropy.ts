import { randomBytes } from 'node:crypto';

/** Randomness, injected so that a run can be replayed from its seed. */
export interface Entropy {
  /** A fresh name nobody else will choose: 128 bits in hex. */
  nonce(): string;
  /** Uniform in [0, 1). */
  fraction(): number;
}

const NONCE_BYTES = 16;
const POOL_BYTES = NONCE_BYTES * 256;
let pool = Buffer.alloc(0);
let used = 0;

/** From the system's generator, asked for 256 names at a time: one by one the call costs more than the append it names. */
export const systemEntropy: Entropy = {
  nonce: () => {
    if (used + NONCE_BYTES > pool.length) {
      pool = randomBytes(POOL_BYTES);
      used = 0;
    }
    used += NONCE_BYTES;
    return pool.toString('hex', used - NONCE_BYTES, used);
  },
  fraction: () => Math.random(),
};
