import { defineConfig, mergeConfig } from 'vitest/config';
import { shared } from './vitest.shared.config.ts';

/**
 * The example sagas end to end, through the HTTP API: `npm run test:e2e`. `COUNTERSTEP_E2E` says where:
 * see `docs/localstack.md`.
 */
export default mergeConfig(
  shared,
  defineConfig({
    test: {
      include: ['test/e2e/*.test.ts'],
      globalSetup: ['test/e2e/setup.ts'],
      // They wait for the sweep most of their time, each over a stack of its own.
      fileParallelism: true,
      maxWorkers: 2,
      // A deployment bundles every function.
      hookTimeout: 600_000,
      // What is due is found within two minutes; some of these wait for it twice.
      testTimeout: 420_000,
      // As many as wait for the sweep in one file; the others follow them. More at once would only wait for
      // functions that start cold, longer than the examples' partners are waited for.
      maxConcurrency: 6,
    },
  }),
);
