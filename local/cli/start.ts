import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { SagaView } from '../../lambdas/service/wire.ts';
import type { Client } from './client.ts';
import { contextOf, idPath } from './command-context.ts';
import { EXIT, exitCodeOf } from './exit-codes.ts';
import type { Output } from './output.ts';
import { progress } from './progress.ts';
import { sagaText } from './saga-text.ts';
import { durationMs, readBytes } from './values.ts';

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 2_000;

interface BeginOptions {
  readonly key?: string;
  readonly wait?: boolean;
  readonly timeout: string;
}

interface StartOptions extends BeginOptions {
  readonly input: string;
}

export function addStart(program: Command): void {
  program
    .command('start')
    .description('start a saga')
    .argument('<saga>', 'name of the saga definition')
    .requiredOption('-i, --input <file>', 'JSON file with the input, or - for standard input')
    .option('-k, --key <key>', 'idempotency key; reuse it to repeat a start that was not answered')
    .option(
      '-w, --wait',
      'wait until the saga is final or needs a person; beside a table, tell what happens',
    )
    .option('--timeout <duration>', 'how long --wait waits', '10m')
    .action((name: string, options: StartOptions, command: Command) =>
      begin(command, options, idPath('/v1/sagas', name), () => readBytes(options.input)),
    );

  program
    .command('rerun')
    .description('run a compensated saga again from its checkpoint, as a saga of its own')
    .argument('<id>', 'id of the saga')
    .option('-k, --key <key>', 'idempotency key; reuse it to repeat a rerun that was not answered')
    .option('-w, --wait', 'wait until the new saga is final or needs a person')
    .option('--timeout <duration>', 'how long --wait waits', '10m')
    .action((id: string, options: BeginOptions, command: Command) =>
      begin(command, options, idPath('/v1/sagas', id, '/rerun'), () => '{}'),
    );
}

/** Starts a saga under a key, and waits for it where asked to. */
async function begin(
  command: Command,
  options: BeginOptions,
  path: string,
  read: () => Uint8Array | string,
): Promise<void> {
  const { client, output } = contextOf(command);
  const timeoutMs = durationMs(options.timeout, '--timeout');
  const body = read();
  const key = options.key ?? randomUUID();
  // Said before the request is sent: if its answer is lost, the key is what makes a repeat safe.
  if (options.key === undefined) {
    output.note(`key ${key} (to repeat this start, reuse it: --key ${key})`);
  }
  const headers = { 'idempotency-key': key };
  let saga = await client.json<SagaView>(path, { method: 'POST', headers, body });
  const { replayed } = saga;
  if (replayed === true) output.note('this saga was started before; nothing new was started');
  if (options.wait === true) {
    saga = await settled(client, output, saga, timeoutMs);
    process.exitCode = exitCodeOf(saga.state);
    if (process.exitCode === EXIT.stillRunning) {
      output.note(`still ${saga.state}; ask again with: counterstep status ${saga.id}`);
    }
  }
  const shown = replayed === true ? { ...saga, replayed } : saga;
  output.show(shown, (view) => sagaText(view, output));
}

/** The saga once it is final, needs a person, or the time is up. */
async function settled(
  client: Client,
  output: Output,
  saga: SagaView,
  timeoutMs: number,
): Promise<SagaView> {
  const endsAt = Date.now() + timeoutMs;
  let current = saga;
  for (let pause = FIRST_PAUSE_MS; exitCodeOf(current.state) === EXIT.stillRunning; ) {
    const left = endsAt - Date.now();
    if (left <= 0) return current;
    await sleep(Math.min(pause, left));
    pause = Math.min(MAX_PAUSE_MS, pause * 1.5);
    const next = await client.json<SagaView>(idPath('/v1/sagas', saga.id));
    if (!output.json) for (const line of progress(current, next)) output.note(line);
    current = next;
  }
  return current;
}
