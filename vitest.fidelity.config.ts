import { defineConfig, mergeConfig } from 'vitest/config';
import base from './vitest.config.ts';

/** Runs generated machines on a second interpreter: `npm run test:fidelity`. Needs Python. */
export default mergeConfig(
  { ...base, test: { ...base.test, include: [] } },
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
