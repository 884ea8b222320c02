import type { Command } from 'commander';
import { isRole, ROLES, type Role } from '../../statemachines/access.ts';
import { CliError } from './cli-error.ts';
import { contextOf } from './command-context.ts';
import { durationMs } from './values.ts';

interface TokenOptions {
  readonly tenant: string;
  readonly roles: string;
  readonly id: string;
  readonly expires: string;
  readonly config?: string;
  readonly data?: string;
}

export function addToken(program: Command): void {
  program
    .command('token')
    .description('issue a token for a local plane whose configuration says auth: "tokens"')
    .requiredOption('--tenant <name>', 'the one tenant it is good for')
    .requiredOption('--roles <list>', `separated by commas: ${ROLES.join(', ')}`)
    .option('--id <name>', 'the person or agent it stands for', 'developer')
    .option('--expires <duration>', 'how long it is good for', '12h')
    .option('-c, --config <file>', 'configuration file (default: counterstep.config.ts here)')
    .option('-d, --data <folder>', 'where the ledgers live')
    .action(async (options: TokenOptions, command: Command) => {
      const { output } = contextOf(command);
      const lifetimeMs = durationMs(options.expires, '--expires');
      const { tenant, id } = options;
      const roles = rolesOf(options.roles);
      const { dataDirOf } = await import('../dev.ts');
      const { Tokens } = await import('../tokens.ts');
      const tokens = Tokens.open(options.data ?? (await dataDirOf(options.config)));
      const token = await tokens.issue({ tenant, roles, id, lifetimeMs });
      // Bare, also in a pipe: COUNTERSTEP_TOKEN=$(counterstep token …).
      const json = command.optsWithGlobals<{ readonly json?: boolean }>().json === true;
      output.write(json ? `${JSON.stringify({ token, tenant, roles, id })}\n` : `${token}\n`);
    });
}

function rolesOf(text: string): Role[] {
  return text.split(',').map((word) => {
    const role = word.trim();
    if (isRole(role)) return role;
    throw new CliError(`there is no role "${role}"`, `use ${ROLES.join(', ')}`);
  });
}
