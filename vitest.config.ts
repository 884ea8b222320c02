import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: { conditions: ['counterstep-source'] },
  ssr: { resolve: { conditions: ['counterstep-source', 'node', 'import', 'default'] } },
  test: {
    // A test that hangs ends some time; none may fail because the machine is busy.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Vitest's own second is less than a busy machine may take to end a saga.
    expect: { poll: { timeout: 60_000 } },
    pool: 'forks',
    // The default leaves a core free, which on two cores is half of them.
    maxWorkers: '100%',
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
});
