#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const built = new URL('../dist/local/cli/main.js', import.meta.url);
const source = new URL('../local/cli/main.ts', import.meta.url);

if (existsSync(built)) {
  await import(built.href);
} else {
  // A checkout that was not built: the same program from its source.
  const flags = ['--conditions=counterstep-source', '--import', import.meta.resolve('tsx')];
  const child = spawn(
    process.execPath,
    [...flags, fileURLToPath(source), ...process.argv.slice(2)],
    {
      stdio: 'inherit',
    },
  );
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => {
    process.exitCode = signal === null ? (code ?? 1) : 1;
  });
}
