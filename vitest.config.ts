import { defineConfig } from 'vitest/config';

export default defineConfig({
  resolve: { conditions: ['counterstep-source'] },
  ssr: { resolve: { conditions: ['counterstep-source', 'node', 'import', 'default'] } },
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    pool: 'forks',
  },
});
