import { simulate } from 'counterstep/testing';
import { expect, it } from 'vitest';
import { simulatedSagas } from '../../scripts/simulate/sagas.ts';

/** Sagas in one world: fewer than in the long run, so that more worlds fit into the time of a test. */
const COUNT = 4;
const SHAPES = 4;

/** Worlds from so many seeds on; the first that breaks an invariant fails with its story. */
export function describeSeeds(seed: number, seeds: number): void {
  it(`seeds ${seed} to ${seed + seeds - 1} break no invariant`, async () => {
    const sagas = simulatedSagas(SHAPES);
    const simulated = await simulate({ sagas, seed, seeds, count: COUNT });
    expect(simulated.sagas).toBe(seeds * COUNT);
    // A world in which everything goes well, or nothing does, proves little.
    const share = (end: string): number => (simulated.ends[end] ?? 0) / simulated.sagas;
    expect(share('completed')).toBeGreaterThan(0.3);
    expect(share('compensated')).toBeGreaterThan(0.1);
    console.info(simulated);
  }, 600_000);
}
