import type { Command } from 'commander';
import type { ToolView } from '../../lambdas/service/wire.ts';
import { CliError } from './cli-error.ts';
import { contextOf, idPath, outputOf } from './command-context.ts';
import { shortTime, table } from './output.ts';

export function addRegistry(program: Command): void {
  program
    .command('tools')
    .description('the tools: what each does and how it is undone')
    .action(async (_options: unknown, command: Command) => {
      const { client, output } = contextOf(command);
      output.show(await client.json<{ tools: ToolView[] }>('/v1/tools'), toolsText);
    });

  program
    .command('graph')
    .description('draw a saga definition as a Mermaid flowchart')
    .argument('<saga>', 'name of the saga definition')
    .option(
      '-c, --config <file>',
      'read the definition from a configuration file, not from the endpoint',
    )
    .action(async (name: string, options: { readonly config?: string }, command: Command) => {
      const mermaid =
        options.config === undefined
          ? await contextOf(command).client.text(idPath('/v1/definitions', name, '/graph'))
          : await graphFromConfig(name, options.config);
      // A picture is text for other tools, so JSON only where it was asked for.
      const asked = command.optsWithGlobals<{ readonly json?: boolean }>().json === true;
      outputOf(command).write(asked ? `${JSON.stringify({ saga: name, mermaid })}\n` : mermaid);
    });
}

async function graphFromConfig(name: string, path: string): Promise<string> {
  const [{ loadConfig }, { sagaGraph }] = await Promise.all([
    import('../config.ts'),
    import('../../statemachines/plan/mermaid.ts'),
  ]);
  const { sagas } = await loadConfig(path);
  const saga = sagas.find((each) => each.name === name);
  if (saga !== undefined) return sagaGraph(saga.plan);
  const names = sagas.map((each) => each.name).join(', ');
  throw new CliError('the configuration has no saga of this name', `use one of: ${names}`);
}

function toolsText({ tools }: { readonly tools: readonly ToolView[] }): string {
  const rows = tools.map((tool) => [
    tool.name,
    tool.version,
    tool.effect,
    [`forward ${tool.forward.dedupe}`, undo(tool)].filter((part) => part !== '').join(', '),
    breaker(tool),
    tool.description,
  ]);
  const head = ['TOOL', 'VERSION', 'EFFECT', 'REPEATS KEPT APART BY', 'BREAKER', 'WHAT IT DOES'];
  return table(head, rows);
}

function breaker({ breaker: found }: ToolView): string {
  if (found === undefined) return '';
  if (found.state === 'closed' || found.until === undefined) return found.state.replace('_', ' ');
  return `${found.state.replace('_', ' ')} until ${shortTime(found.until)}`;
}

function undo(tool: ToolView): string {
  if (tool.compensate !== undefined) return `compensate ${tool.compensate.dedupe}`;
  return tool.contain === undefined ? '' : `contain ${tool.contain.dedupe}`;
}
