import type { Command } from 'commander';
import { CliError } from './cli-error.ts';
import { contextOf } from './command-context.ts';
import { wholeNumber } from './values.ts';

interface DevOptions {
  readonly config?: string;
  readonly port?: string;
  readonly data?: string;
}

export function addDev(program: Command): void {
  program
    .command('dev')
    .description('run the whole plane in this process, with real sagas and a durable ledger')
    .option('-c, --config <file>', 'configuration file (default: counterstep.config.ts here)')
    .option('-p, --port <number>', 'port to listen on')
    .option('-d, --data <folder>', 'where the ledgers live')
    .action(async (options: DevOptions, command: Command) => {
      const { output } = contextOf(command);
      const port = options.port === undefined ? undefined : wholeNumber(options.port, '--port');
      if (port !== undefined && port > 65_535)
        throw new CliError('--port is no port', 'use 0 to 65535');
      // Only this command needs the engine, its stores and the interpreter.
      const { runDev } = await import('../dev.ts');
      const plane = await runDev({
        ...(options.config === undefined ? {} : { config: options.config }),
        ...(port === undefined ? {} : { port }),
        ...(options.data === undefined ? {} : { dataDir: options.data }),
        log: (line) => output.note(line),
      });
      output.note(`listening on ${plane.url} (stop with Ctrl-C)`);
      await stopped();
      output.note('finishing what is under way');
      await plane.close();
    });
}

/** A second signal ends the process at once, as it would without us. */
function stopped(): Promise<void> {
  return new Promise((resolve) => {
    const signals = ['SIGINT', 'SIGTERM'] as const;
    const stop = (): void => {
      for (const signal of signals) process.off(signal, stop);
      resolve();
    };
    for (const signal of signals) process.on(signal, stop);
  });
}
