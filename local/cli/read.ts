import type { Command } from 'commander';
import type {
  LedgerPageView,
  SagaPageView,
  SagaView,
  StandingView,
} from '../../lambdas/service/wire.ts';
import type { Client } from './client.ts';
import { contextOf, idPath, queryOf } from './command-context.ts';
import { exitCodeOf } from './exit-codes.ts';
import { type Output, shortTime, table } from './output.ts';
import { idsText, sagaText } from './saga-text.ts';

interface ListOptions {
  readonly state?: string;
  readonly name?: string;
  readonly olderThan?: string;
  readonly limit?: string;
  readonly cursor?: string;
}

export function addRead(program: Command): void {
  program
    .command('list')
    .description('list sagas, oldest first')
    .option('--state <states>', 'only these states, separated by commas')
    .option('--name <definition>', 'only sagas of this definition')
    .option(
      '--older-than <age>',
      'only sagas started before that: 15m, 2h, 7d or an ISO 8601 moment',
    )
    .option('--limit <number>', 'entries on the page')
    .option('--cursor <cursor>', 'from the page before')
    .action(async (options: ListOptions, command: Command) => {
      const { client, output } = contextOf(command);
      const page = await client.json<SagaPageView>(`/v1/sagas${queryOf({ ...options })}`);
      output.show(page, listText);
      more(output, page.cursor);
    });

  program
    .command('status')
    .description('show a saga; the exit code tells its state')
    .argument('<id>', 'id of the saga')
    .action(async (id: string, _options: unknown, command: Command) => {
      const { client, output } = contextOf(command);
      const saga = await client.json<SagaView>(idPath('/v1/sagas', id));
      process.exitCode = exitCodeOf(saga.state);
      output.show(saga, (view) => sagaText(view, output));
    });

  program
    .command('ledger')
    .description('print the ledger of a saga')
    .argument('<id>', 'id of the saga')
    .option('--ndjson', 'the whole ledger as lines that "verify" takes')
    .action(async (id: string, options: { readonly ndjson?: boolean }, command: Command) => {
      const { client, output } = contextOf(command);
      const path = idPath('/v1/sagas', id, '/ledger');
      if (options.ndjson === true) {
        const decoder = new TextDecoder();
        for await (const chunk of await client.chunks(`${path}?format=ndjson`)) {
          output.write(decoder.decode(chunk, { stream: true }));
        }
        return;
      }
      output.show({ records: await allRecords(client, path) }, ledgerText);
    });

  program
    .command('standing')
    .description('what stands of a saga')
    .argument('<id>', 'id of the saga')
    .action(async (id: string, _options: unknown, command: Command) => {
      const { client, output } = contextOf(command);
      const standing = await client.json<StandingView>(idPath('/v1/sagas', id, '/standing'));
      output.show(standing, standingText);
    });
}

export function more(output: Output, cursor: string | undefined): void {
  if (cursor !== undefined && !output.json) output.note(`there is more: --cursor ${cursor}`);
}

function listText({ sagas }: SagaPageView): string {
  const rows = sagas.map((saga) => [
    saga.id,
    `${saga.name} ${saga.version}`,
    saga.checkpoint === undefined ? saga.state : `${saga.state} to ${saga.checkpoint}`,
    shortTime(saga.startedAt),
    shortTime(saga.changedAt),
    saga.reviewReason ?? '',
    saga.tampered === undefined ? '' : `event ${saga.tampered.seq} ${saga.tampered.found}`,
  ]);
  const head = ['ID', 'DEFINITION', 'STATE', 'STARTED', 'CHANGED', 'REVIEW', 'TAMPERED WITH'];
  return table(head, rows);
}

type Records = LedgerPageView['records'];

async function allRecords(client: Client, path: string): Promise<Records> {
  const records: Records = [];
  let cursor: string | undefined;
  do {
    const page = await client.json<LedgerPageView>(`${path}${queryOf({ limit: '1000', cursor })}`);
    records.push(...page.records);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return records;
}

function ledgerText({ records }: { readonly records: Records }): string {
  const rows = records.map(({ seq, event = {} }) => {
    const word = (name: string): string => {
      const value = event[name];
      return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
    };
    const at = typeof event.at === 'number' ? shortTime(new Date(event.at).toISOString()) : '';
    const what = [word('step'), word('action')].filter((part) => part !== '').join(' ');
    return [
      String(seq),
      at,
      word('type') || '(unreadable)',
      what,
      word('code') || word('reason'),
      word('state'),
      word('epoch'),
      word('actor'),
    ];
  });
  return table(['SEQ', 'AT', 'EVENT', 'STEP', 'WHY', 'STATE', 'EPOCH', 'BY'], rows);
}

export function standingText(standing: StandingView): string {
  const rows = standing.steps.map((step) => [
    step.step,
    step.effect,
    step.standing,
    step.words,
    allIdsText(step),
    costText(step),
    step.extra.map(idsText).join('; '),
  ]);
  const steps = table(['STEP', 'EFFECT', 'STANDING', 'WORDS', 'IDS', 'COST', 'BESIDE IT'], rows);
  return `${standing.summary}\n\n${steps}`;
}

/** An undo's id is shown beside the effect's own of the same name. */
function allIdsText({ externalIds, recoveryIds = {} }: StandingView['steps'][number]): string {
  const hidden = Object.entries(recoveryIds).filter(([name, id]) => externalIds[name] !== id);
  const own = idsText(externalIds);
  return hidden.length === 0 ? own : `${own} (undo: ${idsText(Object.fromEntries(hidden))})`;
}

function costText({ cost, overshoot }: StandingView['steps'][number]): string {
  if (cost === undefined) return '';
  const over = overshoot === undefined ? '' : `, ${overshoot.costMinor} more than planned`;
  return `${cost.costMinor} ${cost.currency} (minor units)${over}`;
}
