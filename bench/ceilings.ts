import { randomBytes } from 'node:crypto';
import { open } from 'lmdb';
import { sha256Hex } from '../statemachines/ledger/hash.ts';

/** What the machine itself can do: the same kind of work with nothing of ours around it. */
export interface Ceilings {
  readonly lmdbPutsInSequencePerSecond: number;
  readonly lmdbPutsBy64PerSecond: number;
  readonly sha256PerSecond: number;
}

const VALUE = randomBytes(350).toString('hex');

export async function ceilings(path: string, ms: number): Promise<Ceilings> {
  const store = open<Buffer, string>({
    path,
    noSubdir: false,
    overlappingSync: false,
    encoding: 'binary',
  });
  const value = Buffer.from(VALUE);
  let next = 0;
  const put = async (): Promise<void> => {
    next += 1;
    const key = `k${String(next).padStart(12, '0')}`;
    await store.ifNoExists(key, () => {
      store.put(key, value);
    });
  };
  const sequence = await rate(ms, 1, put);
  const many = await rate(ms, 64, put);
  await store.close();
  const hashes = await rate(ms, 1, async () => {
    for (let n = 0; n < 1000; n += 1) sha256Hex(VALUE);
  });
  return {
    lmdbPutsInSequencePerSecond: sequence,
    lmdbPutsBy64PerSecond: many,
    sha256PerSecond: hashes * 1000,
  };
}

async function rate(ms: number, workers: number, work: () => Promise<void>): Promise<number> {
  const until = performance.now() + ms;
  const began = performance.now();
  let done = 0;
  const worker = async (): Promise<void> => {
    while (performance.now() < until) {
      await work();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: workers }, worker));
  return Math.round(done / ((performance.now() - began) / 1000));
}
