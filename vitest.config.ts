import { defineConfig, mergeConfig } from 'vitest/config';
import { shared } from './vitest.shared.config.ts';

export default mergeConfig(
  shared,
  defineConfig({
    test: {
      projects: [
        // The end-to-end tests have a configuration of their own.
        {
          extends: true,
          test: { name: 'all', include: ['test/*.test.ts', 'test/!(e2e|infra)/**/*.test.ts'] },
        },
        // Loading the CDK takes longer than most of what they do with it, so they share it.
        {
          extends: true,
          test: { name: 'infra', include: ['test/infra/**/*.test.ts'], isolate: false },
        },
      ],
    },
  }),
);
