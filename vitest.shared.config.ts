import type { ViteUserConfig } from 'vitest/config';

/** What all suites have in common. */
export const shared = {
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
  },
} satisfies ViteUserConfig;
