import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Block, ROOT } from './readme.ts';

/** Makes the folder a project in which the package is installed, with the named blocks as its files. */
export function projectIn(folder: string, blocks: readonly Block[]): void {
  mkdirSync(join(folder, 'node_modules'));
  symlinkSync(ROOT, join(folder, 'node_modules/counterstep'));
  for (const name of ['zod', 'vitest'])
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: { typeRoots: [join(ROOT, 'node_modules/@types')] },
      include: ['*.ts'],
    }),
  );
  for (const { name, text } of blocks)
    if (name !== undefined) writeFileSync(join(folder, name), text);
}
