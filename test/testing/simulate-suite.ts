import { SimulationBroken, simulate } from 'counterstep/testing';
import { expect, it } from 'vitest';
import { optionsOf, replayOf } from '../../scripts/simulate/share.ts';

/** Smaller than in the long run, so that more worlds fit into the time of a test. */
const SIZE = { count: 4, shapes: 4 } as const;

/** Worlds from so many seeds on; the first that breaks an invariant fails with its story. */
export function describeSeeds(seed: number, seeds: number): void {
  it(`seeds ${seed} to ${seed + seeds - 1} break no invariant`, async () => {
    const simulated = await simulate({ ...optionsOf(SIZE), seed, seeds }).catch(
      (error: unknown) => {
        if (!(error instanceof SimulationBroken)) throw error;
        throw new Error(`replay with ${replayOf(error.seed, SIZE)}`, { cause: error });
      },
    );
    // Those that were run again come on top.
    expect(simulated.sagas).toBeGreaterThan(seeds * SIZE.count);
    // A world in which everything goes well, or nothing does, proves little.
    const share = (end: string): number => (simulated.ends[end] ?? 0) / simulated.sagas;
    expect(share('completed')).toBeGreaterThan(0.3);
    expect(share('compensated')).toBeGreaterThan(0.1);
    console.info(simulated);
  }, 600_000);
}
