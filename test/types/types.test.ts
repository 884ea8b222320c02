import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const own = join(import.meta.dirname, 'tsconfig.json');

/** Everything the compiler prints; the empty text where it is content. */
function compile(project: string): Promise<string> {
  return new Promise((answer) => {
    execFile(join(root, 'node_modules/.bin/tsc'), ['-p', project], { cwd: root }, (error, out) => {
      answer(error === null ? '' : `${out}${error.message}`);
    });
  });
}

test('every mistake that is expected to be refused is refused, and nothing else', async () => {
  expect(await compile(own)).toBe('');
});

test('control: an expectation that is not met fails the run', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'counterstep-types-'));
  try {
    const control = join(folder, 'control.mts');
    await writeFile(
      control,
      '// @ts-expect-error this line is right\nexport const one: number = 1;\n',
    );
    const project = join(folder, 'tsconfig.json');
    await writeFile(
      project,
      JSON.stringify({
        extends: own,
        compilerOptions: { typeRoots: [join(root, 'node_modules/@types')] },
        files: [control, join(import.meta.dirname, 'sagas.ts')],
        include: [],
      }),
    );
    const output = await compile(project);
    expect(output).toContain('control.mts');
    expect(output).toContain("Unused '@ts-expect-error' directive");
  } finally {
    await rm(folder, { recursive: true });
  }
});
