import { randomBytes } from 'node:crypto';

/** Randomness, injected so that a run can be replayed from its seed. */
export interface Entropy {
  /** A fresh name nobody else will choose: 128 bits in hex. */
  nonce(): string;
  /** Uniform in [0, 1). */
  fraction(): number;
}

export const systemEntropy: Entropy = {
  nonce: () => randomBytes(16).toString('hex'),
  fraction: () => Math.random(),
};
