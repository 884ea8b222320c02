import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleWith } from './bundle.ts';
import type { Edit, Found } from './mutant.ts';

export type Result =
  | { readonly kind: 'found'; readonly found: Found; readonly tookMs: number }
  | { readonly kind: 'survived'; readonly tookMs: number }
  /** The prover came to no end, or could not be run at all. */
  | { readonly kind: 'failed'; readonly why: string; readonly tookMs: number };

export interface RunOptions {
  readonly root: string;
  readonly seeds: number;
  /** Milliseconds. */
  readonly timeoutMs: number;
}

/** Runs the prover over an engine with these edits, in a folder of its own that is gone afterwards. */
export async function run(edits: readonly Edit[], options: RunOptions): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'counterstep-mutant-'));
  const began = performance.now();
  const tookMs = (): number => Math.round(performance.now() - began);
  try {
    symlinkSync(join(options.root, 'node_modules'), join(folder, 'node_modules'));
    const bundle = join(folder, 'prove.mjs');
    await bundleWith(options.root, edits, bundle);
    const found = await prove(bundle, options);
    return found === null
      ? { kind: 'survived', tookMs: tookMs() }
      : { kind: 'found', found, tookMs: tookMs() };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { kind: 'failed', why, tookMs: tookMs() };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function prove(bundle: string, options: RunOptions): Promise<Found | null> {
  const { seeds, timeoutMs } = options;
  const args = [bundle, '--seeds', String(seeds)];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { timeout: timeoutMs }, (error, stdout, stderr) => {
      if (error?.killed === true) {
        reject(new Error(`the prover came to no end within ${timeoutMs / 1000} s`));
      } else if (error !== null) {
        reject(new Error(stderr.trim().split('\n').slice(0, 8).join('\n')));
      } else {
        const line = stdout.trim().split('\n').at(-1) ?? '';
        resolve(JSON.parse(line) as Found | null);
      }
    });
  });
}
