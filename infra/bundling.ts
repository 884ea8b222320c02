import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { type BundlingOptions, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import type { Problem } from '../statemachines/language/problems.ts';

/** True where the package runs from its TypeScript sources, not from `dist`. */
const FROM_SOURCE = import.meta.url.endsWith('.ts');

/**
 * How every function is bundled: everything it runs is in the bundle, the SDK too, so that a
 * published version never changes under a saga that is pinned to it.
 */
export const BUNDLING: BundlingOptions = {
  externalModules: [],
  format: OutputFormat.ESM,
  // ES modules first: what is not used falls away, of the SDK a third.
  mainFields: ['module', 'main'],
  target: 'node24',
  minify: true,
  // Names cost a twelfth of the size. Nothing reads a class's name, and source maps give traces theirs.
  keepNames: false,
  sourceMap: true,
  sourcesContent: false,
  // Packages in CommonJS that are bundled into a module still call `require` for Node's own parts.
  banner:
    "import{createRequire as requireOf}from'node:module';const require=requireOf(import.meta.url);",
  esbuildArgs: {
    '--alias': `@aws-sdk/credential-provider-node=${ownEntry('lambdas/aws/env-credentials')}`,
    // Naming any condition turns off esbuild's own `module`, so it is named again.
    ...(FROM_SOURCE ? { '--conditions': 'counterstep-source,module' } : {}),
  },
};

type Arguments = NonNullable<BundlingOptions['esbuildArgs']>;

/** Later options win; arguments to esbuild are merged by name, aliases all kept. */
export function bundlingWith(...given: readonly (BundlingOptions | undefined)[]): BundlingOptions {
  const all = [BUNDLING, ...given];
  const esbuildArgs: Record<string, Arguments[string]> = {};
  for (const [name, value] of all.flatMap((one) => Object.entries(one?.esbuildArgs ?? {}))) {
    const kept = esbuildArgs[name];
    esbuildArgs[name] =
      name === '--alias' && kept !== undefined ? [kept, value].flat().map(String) : value;
  }
  return Object.assign({}, ...all, { esbuildArgs }) as BundlingOptions;
}

/** The entry of one of the package's own functions, beside this file in sources and in `dist`. */
export function ownEntry(path: string): string {
  const suffix = FROM_SOURCE ? '.ts' : '.js';
  return join(import.meta.dirname, '..', `${path}${suffix}`);
}

/** Why an entry file cannot be bundled here. `content`: what the file should hold. */
export function entryProblems(place: string, entry: string, content: string): Problem[] {
  if (typeof entry === 'string' && existsSync(resolve(entry))) return [];
  return [
    {
      place,
      problem: `its entry file ${JSON.stringify(entry)} does not exist (looked for at ${resolve(String(entry))})`,
      remedy: `Write it with \`${content}\`, or correct the path, which counts from where the CDK app runs`,
    },
  ];
}

/** Without a local esbuild the CDK would look for Docker, and fail in words about Docker. */
export function bundlerProblems(place: string, bundling: BundlingOptions): Problem[] {
  const elsewhere = bundling.forceDockerBundling === true || bundling.dockerImage !== undefined;
  if (elsewhere || canResolve('esbuild')) return [];
  return [
    {
      place,
      problem: 'esbuild, which bundles its code, is not installed',
      remedy: 'Run `npm install --save-dev esbuild`',
    },
  ];
}

function canResolve(name: string): boolean {
  return [import.meta.url, join(process.cwd(), 'package.json')].some((from) => {
    try {
      createRequire(from).resolve(name);
      return true;
    } catch {
      return false;
    }
  });
}
