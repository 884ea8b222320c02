import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bundle } from '../scripts/bundle.ts';
import { TABLE_VARIABLES } from '../statemachines/asl/environment.ts';

export interface ImportTime {
  readonly entry: string;
  readonly bytes: number;
  /** Median over processes of the time from the import to the handler. */
  readonly importMs: number;
}

/** What is imported here is the code alone: no source map is read, and nothing is traced. */
const SCRIPT = `const from = performance.now();
const { handler } = await import(process.argv[1]);
console.log(typeof handler, performance.now() - from);`;

/** How long a function's bundle takes to load, in fresh processes one after the other. */
export async function importTime(entry: string, runs: number): Promise<ImportTime> {
  const folder = mkdtempSync(join(tmpdir(), 'counterstep-import-'));
  try {
    const { code, bytes } = await bundle(entry);
    const file = join(folder, 'index.mjs');
    writeFileSync(file, code);
    const times: number[] = [];
    for (let run = 0; run < runs; run += 1) times.push(await once(file));
    times.sort((a, b) => a - b);
    const median = times[Math.floor(times.length / 2)] ?? Number.NaN;
    return { entry, bytes, importMs: Math.round(median) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What the example functions ask of their environment while they load. */
const ENVIRONMENT = {
  AWS_REGION: 'eu-central-1',
  AWS_ACCESS_KEY_ID: 'key',
  AWS_SECRET_ACCESS_KEY: 'secret',
  PARTNERS_URL: 'https://partners.example.com',
  PARTNERS_TABLE: 'table-name',
  MAIL_FROM: 'refunds@shop.example',
  ...Object.fromEntries(Object.values(TABLE_VARIABLES).map((name) => [name, 'table-name'])),
};

async function once(file: string): Promise<number> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', SCRIPT, `file://${file}`],
    { env: ENVIRONMENT },
  ).catch((error: { readonly stderr: string }) => {
    // Node prints the minified line that threw before it says why.
    const why = error.stderr.split('\n').find((line) => /^\w*Error/.test(line));
    throw new Error(`the bundle cannot be imported: ${why ?? 'see the process'}`);
  });
  const [kind, ms] = stdout.trim().split(' ');
  if (kind !== 'function') throw new Error(`${file} exports no handler, but ${kind ?? 'nothing'}`);
  return Number(ms);
}
