import { type BuildOptions, build, type Metafile } from 'esbuild';
import { BUNDLING } from '../infra/bundling.ts';

export interface Bundle {
  readonly entry: string;
  readonly code: string;
  /** Of the minified JavaScript, which is what a function loads; its source map lies beside it. */
  readonly bytes: number;
  /** Files in the bundle with the bytes that are left of each. */
  readonly inputs: readonly { readonly path: string; readonly bytes: number }[];
}

/** Bundles an entry point as a deployment does, in memory. */
export async function bundle(entry: string): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    ...deployed(),
    entryPoints: [entry],
    outfile: 'index.mjs',
    write: false,
    metafile: true,
    logLevel: 'error',
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error(`esbuild made nothing of ${entry}`);
  const inputs = Object.entries(outputOf(metafile).inputs)
    .map(([path, { bytesInOutput: bytes }]) => ({ path, bytes }))
    .sort((a, b) => b.bytes - a.bytes);
  return { entry, code: output.text, bytes: output.contents.byteLength, inputs };
}

/** The constructs' own options, said as esbuild's interface takes them. */
function deployed(): BuildOptions {
  const { target, banner, mainFields, keepNames = false, esbuildArgs = {} } = BUNDLING;
  if (target === undefined || banner === undefined || mainFields === undefined) {
    throw new Error(
      'infra/bundling.ts leaves out an option that is measured here: adapt this file',
    );
  }
  const alias = [esbuildArgs['--alias'] ?? []].flat().map((pair): [string, string] => {
    const [name = '', path = ''] = String(pair).split('=');
    return [name, path];
  });
  return {
    bundle: true,
    platform: 'node',
    format: 'esm',
    minify: true,
    keepNames,
    target,
    mainFields,
    banner: { js: banner },
    alias: Object.fromEntries(alias),
    conditions: String(esbuildArgs['--conditions'] ?? 'module').split(','),
  };
}

function outputOf(metafile: Metafile): Metafile['outputs'][string] {
  const [output] = Object.values(metafile.outputs);
  if (output === undefined) throw new Error('esbuild reports no output');
  return output;
}
