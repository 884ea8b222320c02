import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { addChange } from './change.ts';
import { DEFAULT_ENDPOINT } from './client.ts';
import { addDev } from './dev.ts';
import { EXIT_HELP } from './exit-codes.ts';
import { addRead } from './read.ts';
import { addRebuild } from './rebuild.ts';
import { addRegistry } from './registry.ts';
import { addReview } from './review.ts';
import { addStart } from './start.ts';
import { addToken } from './token.ts';
import { addVerify } from './verify.ts';

export function buildProgram(): Command {
  const program = new Command('counterstep')
    .description('Sagas whose partial failures are undone, proven and decided on.')
    .version(packageVersion())
    .option(
      '--endpoint <url>',
      `the API (or COUNTERSTEP_ENDPOINT; default ${DEFAULT_ENDPOINT}; COUNTERSTEP_TOKEN is sent as bearer token)`,
    )
    .option(
      '--sigv4',
      'sign requests with the AWS credentials of the environment (or COUNTERSTEP_AUTH=iam; the default for hosts of API Gateway where no token is set)',
    )
    .option('--json', 'print JSON (the default where the output is no terminal)')
    .option('--table', 'print for people (the default on a terminal)')
    .addHelpText('after', EXIT_HELP)
    .showHelpAfterError('(--help shows what this command takes)');
  addDev(program);
  addStart(program);
  addRead(program);
  addVerify(program);
  addReview(program);
  addChange(program);
  addRegistry(program);
  addToken(program);
  addRebuild(program);
  return program;
}

/** The same three folders up from the source and, one deeper, from what is built of it. */
function packageVersion(): string {
  for (const up of ['../../package.json', '../../../package.json']) {
    try {
      const { name, version } = JSON.parse(readFileSync(new URL(up, import.meta.url), 'utf8')) as {
        readonly name?: unknown;
        readonly version?: unknown;
      };
      if (name === 'counterstep') return String(version);
    } catch {
      // Not there: it is the other place.
    }
  }
  return 'unknown';
}
