import type { Command } from 'commander';
import type { SagaView } from '../../lambdas/service/wire.ts';
import { contextOf, idPath } from './command-context.ts';
import { sagaText } from './saga-text.ts';

export function addChange(program: Command): void {
  program
    .command('cancel')
    .description('ask for recovery: what was done since the last checkpoint is undone')
    .argument('<id>', 'id of the saga')
    .requiredOption('--reason <text>', 'why; it is kept in the ledger')
    .option('--everything', 'undo what a checkpoint would keep, too')
    .action(
      (
        id: string,
        options: { readonly reason: string; readonly everything?: true },
        command: Command,
      ) => change(command, id, '/cancel', options),
    );

  program
    .command('resume')
    .description('start the next drive now; what failed gets a fresh budget')
    .argument('<id>', 'id of the saga')
    .option('--latest', 'on the machine version deployed now')
    .option('--note <text>', 'what was mended; it is kept in the ledger')
    .action(
      (
        id: string,
        options: { readonly latest?: boolean; readonly note?: string },
        command: Command,
      ) =>
        change(command, id, '/resume', {
          ...(options.latest === true ? { machine: 'latest' } : {}),
          ...(options.note === undefined ? {} : { note: options.note }),
        }),
    );

  program
    .command('erase')
    .description('erase the stored arguments and results of a saga that is final')
    .argument('<id>', 'id of the saga')
    .requiredOption('--reason <text>', 'why; it is kept in the ledger')
    .action((id: string, options: { readonly reason: string }, command: Command) =>
      change(command, id, '/erasure', { reason: options.reason }),
    );
}

async function change(command: Command, id: string, what: string, body: unknown): Promise<void> {
  const { client, output } = contextOf(command);
  const saga = await client.post<SagaView>(idPath('/v1/sagas', id, what), body);
  output.show(saga, (view) => sagaText(view, output));
}
