import { CliError } from './cli-error.ts';
import { EXIT } from './exit-codes.ts';
import { clean } from './output.ts';
import { buildProgram } from './program.ts';

// A reader that has seen enough (`| head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(process.exitCode ?? EXIT.ok);
  throw error;
});

try {
  await buildProgram().parseAsync(process.argv);
} catch (error) {
  process.exitCode = EXIT.error;
  const line = error instanceof Error ? error.message : String(error);
  process.stderr.write(`error: ${clean(line)}\n`);
  if (error instanceof CliError) process.stderr.write(`  ${clean(error.remedy)}\n`);
  else if (process.env.DEBUG !== undefined && error instanceof Error) {
    process.stderr.write(`${error.stack ?? ''}\n`);
  }
}
