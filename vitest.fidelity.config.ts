import { defineConfig, mergeConfig } from 'vitest/config';
import { shared } from './vitest.shared.config.ts';

/** Runs generated machines on a second interpreter: `npm run test:fidelity`. Needs Python. */
export default mergeConfig(
  shared,
  defineConfig({
    test: {
      include: ['test/fidelity/machines.fidelity.ts'],
      // The first run makes the Python environment.
      hookTimeout: 600_000,
      testTimeout: 120_000,
      maxConcurrency: 16,
    },
  }),
);
