import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { startMinistack } from './emulator/ministack.ts';
import { CACHE } from './emulator/python.ts';

/**
 * `npm run emulator [-- --port 4566] [-- --file endpoint.json]`: a free stand-in for AWS on this
 * machine, until Ctrl-C. Prints one line of JSON once it listens, and writes the same to the file.
 */
const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    file: { type: 'string', default: join(CACHE, 'emulator.json') },
  },
});

try {
  await run();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function run(): Promise<void> {
  const port = values.port === undefined ? undefined : Number(values.port);
  if (port !== undefined && !(Number.isInteger(port) && port > 0 && port < 65_536)) {
    throw new Error(`--port must be 1 to 65535: "${values.port}" is none`);
  }
  const emulator = await startMinistack({
    ...(port === undefined ? {} : { port }),
    say: (line) => process.stderr.write(`${line}\n`),
  });
  const { endpoint, pid, logFile } = emulator;
  const line = `${JSON.stringify({ endpoint, pid, logFile })}\n`;
  mkdirSync(dirname(values.file), { recursive: true });
  writeFileSync(values.file, line);
  process.stdout.write(line);
  const stop = (): void => void emulator.stop();
  process.once('SIGINT', stop);
  process.once('SIGTERM', stop);
  await emulator.ended;
  rmSync(values.file, { force: true });
}
