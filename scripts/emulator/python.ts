import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** What is fetched or made once and may be deleted at any time. Git does not see it. */
export const CACHE = resolve(import.meta.dirname, '../../.cache');

const OLDEST_PYTHON = [3, 10] as const;

/**
 * A virtual environment with exactly the packages of a requirements file, made where it is not there
 * yet. Answers its Python.
 * @throws Error that says what to install, where there is no fitting Python or pip fails
 */
export function pythonWith(requirements: string, say: (line: string) => void): string {
  const text = readFileSync(requirements, 'utf8');
  const key = createHash('sha256').update(text).digest('hex').slice(0, 12);
  const folder = join(CACHE, `python-${key}`);
  const python = join(folder, 'bin', 'python');
  const complete = join(folder, 'complete');
  if (existsSync(complete) && run(python, ['--version']).ok) return python;
  const base = basePython();
  say(`making a Python environment in ${folder}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(CACHE, { recursive: true });
  demand(
    run(base, ['-m', 'venv', folder]),
    'the virtual environment could not be made: install the `venv` module of Python 3 (on Debian `python3-venv`)',
  );
  demand(
    run(python, [
      ...['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'],
      ...['--no-deps', '--requirement', requirements],
    ]),
    'pip could not install the packages: see its words above, and whether the Python package index can be reached',
  );
  writeFileSync(complete, text);
  return python;
}

/** `PYTHON` names another than `python3`. */
function basePython(): string {
  const python = process.env.PYTHON ?? 'python3';
  const [major, minor] = OLDEST_PYTHON;
  const { ok, output } = run(python, ['-c', 'import sys; print(*sys.version_info[:2])']);
  const [foundMajor = 0, foundMinor = 0] = ok ? output.trim().split(' ').map(Number) : [];
  if (foundMajor === major && foundMinor >= minor) return python;
  const found = ok ? `is ${foundMajor}.${foundMinor}` : 'cannot be run';
  throw new Error(
    `the emulator needs Python ${major}.${minor} or newer, and \`${python}\` ${found}: install Python 3, or name another with the variable PYTHON`,
  );
}

interface Ran {
  readonly ok: boolean;
  readonly output: string;
}

function run(command: string, args: readonly string[]): Ran {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  return { ok: status === 0, output: `${stdout ?? ''}${stderr ?? ''}` };
}

function demand({ ok, output }: Ran, otherwise: string): void {
  if (!ok) throw new Error(`${output.trim()}\n${otherwise}`.trim());
}
