import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { projectIn } from './project.ts';
import { blocksOf, ROOT } from './readme.ts';

/** The reference of the language: its files, in a project in which the package is installed. */
const folder = mkdtempSync(join(tmpdir(), 'counterstep-language-'));
const blocks = blocksOf(readFileSync(join(ROOT, 'docs/language.md'), 'utf8'));
const names = blocks.flatMap(({ name }) => name ?? []);

beforeAll(() => projectIn(folder, blocks));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('its files compile together', async () => {
  expect(names).toEqual(['contracts.ts', 'saga.ts', 'tools.ts']);
  const tsc = promisify(execFile)(join(ROOT, 'node_modules/.bin/tsc'), ['-p', '.'], {
    cwd: folder,
  });
  expect(await tsc.catch(({ stdout }: { readonly stdout: string }) => ({ stdout }))).toMatchObject({
    stdout: '',
  });
});

test('its saga survives refusals, lost answers and throttling of each step and each undo', async () => {
  const played = `
    import { failureMatrix } from 'counterstep/testing';
    import { enrol } from './saga.ts';
    for (const only of ['refused', 'answer_lost', 'throttled'])
      process.stdout.write(String((await failureMatrix(enrol, { only })).notReached.length) + ' ');
    process.exit();
  `;
  writeFileSync(join(folder, 'played.mts'), played);
  const args = ['--conditions=counterstep-source', '--import', 'tsx', join(folder, 'played.mts')];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT });
  expect(stdout).toBe('0 0 0 ');
});
