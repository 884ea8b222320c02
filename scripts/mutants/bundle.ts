import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { build, type Plugin } from 'esbuild';
import type { Edit } from './mutant.ts';
import { edited } from './mutant.ts';

const ENTRY = 'scripts/mutants/prove.ts';

/**
 * Bundles the prover with the engine, and with the edits in it: the tree itself is never touched.
 * @param outfile MUST stand where the packages are found from
 * @throws Error where an edit's text is not found exactly once, or its file is in no bundle
 */
export async function bundleWith(
  root: string,
  edits: readonly Edit[],
  outfile: string,
): Promise<void> {
  const left = new Set(edits.map(({ file }) => file));
  const mutation: Plugin = {
    name: 'mutation',
    setup: ({ onLoad }) => {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const file = relative(root, path);
        if (!left.delete(file)) return undefined;
        const text = readFileSync(path, 'utf8');
        return { contents: edited(file, text, edits), loader: 'ts' };
      });
    },
  };
  await build({
    absWorkingDir: root,
    entryPoints: [join(root, ENTRY)],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    conditions: ['counterstep-source'],
    external: packagesOf(root),
    plugins: edits.length === 0 ? [] : [mutation],
    logLevel: 'silent',
  });
  if (left.size > 0) throw new Error(`the prover never loads ${[...left].join(', ')}`);
}

/** Packages stay where they are; only the package itself is bundled, from its sources. */
function packagesOf(root: string): string[] {
  const read = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>;
    readonly devDependencies: Readonly<Record<string, string>>;
  };
  return [...Object.keys(read.dependencies), ...Object.keys(read.devDependencies)];
}
