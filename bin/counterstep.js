#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const source = new URL('../local/cli/main.ts', import.meta.url);

if (existsSync(source)) {
  // A checkout: the same program from its source, whatever was built of it before.
  const flags = ['--conditions=counterstep-source', '--import', import.meta.resolve('tsx')];
  const child = spawn(
    process.execPath,
    [...flags, fileURLToPath(source), ...process.argv.slice(2)],
    { stdio: 'inherit' },
  );
  // Ctrl-C reaches the child by itself, being in the same terminal; a second one would end it at once.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('exit', (code, signal) => {
    process.exitCode = signal === null ? (code ?? 1) : 1;
  });
} else {
  await import(new URL('../dist/local/cli/main.js', import.meta.url).href);
}
