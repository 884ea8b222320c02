import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Server } from '../api/server.ts';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** The program in one file: some thirty processes are started here, and each would compile the source. */
export async function bundle(outdir: string): Promise<string> {
  await build({
    entryPoints: [join(root, 'local/cli/main.ts')],
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    conditions: ['counterstep-source'],
    // Only `dev` needs these, from a part of its own.
    external: ['lmdb', 'aws-local-stepfunctions', 'asl-validator', 'tsx', '@hono/node-server'],
    banner: {
      js: "import { createRequire as r } from 'node:module'; const require = r(import.meta.url);",
    },
  });
  return join(outdir, 'main.mjs');
}

export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export interface RunOptions {
  readonly stdin?: string;
  readonly env?: Environment;
}

/** The program as a process, speaking to that server. */
export function spawnProgram(
  args: readonly string[],
  server: Pick<Server, 'url'>,
  env: Environment = {},
): ChildProcess {
  return spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, COUNTERSTEP_ENDPOINT: server.url, COUNTERSTEP_TOKEN: 'ada', ...env },
  });
}

export async function runProgram(
  args: readonly string[],
  server: Pick<Server, 'url'>,
  options: RunOptions = {},
): Promise<Ran> {
  const child = spawnProgram(args, server, options.env);
  let out = '';
  let err = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    err += chunk.toString();
  });
  child.stdin?.end(options.stdin ?? '');
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, out, err };
}
