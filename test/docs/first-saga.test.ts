import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { projectIn } from './project.ts';
import { BLOCKS, ROOT } from './readme.ts';

/**
 * The README's first saga, as its reader meets it: a project of its own in which the package is
 * installed, its files compiled, its commands typed into a shell.
 */
const CLI = join(ROOT, 'bin/counterstep.js');
const folder = mkdtempSync(join(tmpdir(), 'counterstep-first-'));

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly output: string;
}

beforeAll(() => projectIn(folder, BLOCKS));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(file: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ran> {
  const options = { cwd: folder, env: { ...process.env, ...env } };
  return new Promise((done) => {
    execFile(file, args, options, (error, stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : error === null ? 0 : -1;
      done({ code, stdout, output: `${stdout}${stderr}` });
    });
  });
}

/** Each command of the README, and the exit code it promises. Those that need an account are `bash`. */
const commands = BLOCKS.filter(({ language }) => language === 'sh')
  .flatMap(({ text }) => text.trim().split('\n'))
  .filter((line) => !line.startsWith('npm') && line !== 'npx counterstep dev')
  .map((line) => {
    const [, command = '', code = '0'] = /^(.*?)(?:\s+# exits (\d).*)?$/.exec(line) ?? [];
    return { command, code: Number(code) };
  });

test('its files are those the text names', () => {
  const names = BLOCKS.flatMap(({ name }) => name ?? []);
  expect(names).toEqual([
    'saga.ts',
    'tools.ts',
    'counterstep.config.ts',
    'saga.test.ts',
    'vitest.config.ts',
  ]);
});

test('it compiles', async () => {
  expect(await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', '.'])).toMatchObject({ output: '' });
});

test('it survives its failure matrix', async () => {
  // The package is not built here: its exports are taken from the source, as the README's file says.
  const ran = await run(join(ROOT, 'node_modules/.bin/vitest'), ['run'], { CI: '1' });
  expect(ran.output).toContain('1 passed');
  expect(ran.code).toBe(0);
});

test('its commands do what the text says', async () => {
  const plane = spawn(process.execPath, [CLI, 'dev', '--port', '0'], {
    cwd: folder,
    // In a process group of its own, as in a terminal of its own.
    detached: true,
  });
  const ended = new Promise((resolve) => plane.once('exit', resolve));
  try {
    const COUNTERSTEP_ENDPOINT = await listening(plane.stderr);
    expect(commands).toHaveLength(6);
    const npx = 'npx() { shift; "$NODE" "$CLI" "$@"; }';
    const env = { COUNTERSTEP_ENDPOINT, NODE: process.execPath, CLI };
    const outputs: string[] = [];
    for (const { command, code } of commands) {
      const ran = await run('sh', ['-c', `${npx}\n${command}`], env);
      expect({ command, ...ran }).toMatchObject({ command, code });
      outputs.push(ran.stdout);
    }
    expect(outputs.at(-1)).toContain('"valid"');

    const standing = commands.find(({ command }) => command.includes(' standing '));
    const asked = standing?.command.replace('counterstep', 'counterstep --table');
    const shown = BLOCKS.filter(({ language }) => language === 'text');
    const { stdout } = await run('sh', ['-c', `${npx}\n${asked}`], env);
    expect([stdout]).toEqual(shown.map(({ text }) => text));
  } finally {
    // Ctrl-C.
    if (plane.pid !== undefined) process.kill(-plane.pid, 'SIGINT');
    await ended;
  }
  expect(await ended).toBe(0);
});

/** Where the plane says that it listens. */
async function listening(stderr: NodeJS.ReadableStream): Promise<string> {
  const lines: string[] = [];
  for await (const line of createInterface({ input: stderr })) {
    const found = /listening on (\S+)/.exec(line);
    if (found?.[1] !== undefined) return found[1];
    lines.push(line);
  }
  throw new Error(`the plane did not come up: ${lines.join('\n')}`);
}
