import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Progress, RebuildProgress, RebuildReport } from '../../lambdas/outbox/rebuild.ts';
import { type Transition, transitionsIn } from '../../statemachines/transitions.ts';
import { lineLog } from '../console-log.ts';
import { CliError } from './cli-error.ts';
import { outputOf } from './command-context.ts';
import { EXIT } from './exit-codes.ts';
import { pairs } from './output.ts';

interface RebuildOptions {
  readonly ledgerTable: string;
  readonly coordinationTable: string;
  readonly eventBus?: string;
  readonly since?: string;
  readonly events?: string;
  readonly segments: string;
  readonly progress: string;
}

const HELP = `
Reads every ledger of a deployed plane and makes lists and noted heads anew, beside live traffic.
Runs with the AWS credentials and region of the environment: they need what outbox.grantRebuild
grants. After a break, the same command goes on where it ended.`;

export function addRebuild(program: Command): void {
  program
    .command('rebuild')
    .description("rebuild a deployed plane's projection from its ledgers (for operators)")
    .requiredOption('--ledger-table <name>', 'the ledger table')
    .requiredOption('--coordination-table <name>', 'the coordination table')
    .option('--event-bus <name>', 'also publish what is not known to be published; needs --since')
    .option(
      '--since <time>',
      'ISO 8601; what happened before then counts as published (a lost projection knows of nothing)',
    )
    .option('--events <names>', "what to publish, by commas, where the plane's `events` say so")
    .option('--segments <count>', 'parts of the table read at once', '4')
    .option('--progress <file>', 'where it keeps how far it came', 'counterstep-rebuild.json')
    .addHelpText('after', HELP)
    .action(async (options: RebuildOptions, command: Command) => {
      const output = outputOf(command);
      const publish = publishIn(options);
      const segments = segmentsIn(options.segments);
      const { rebuildDeployed } = await import('../../lambdas/aws/rebuild.ts');
      const report = await rebuildDeployed({
        ledgerTable: options.ledgerTable,
        coordinationTable: options.coordinationTable,
        ...(publish === undefined ? {} : { publish }),
        segments,
        progress: progressFile(options.progress),
        log: lineLog((line) => output.note(line), Date.now),
      });
      const clean = report.tampered.length + report.failed.length === 0;
      if (!clean) process.exitCode = EXIT.error;
      output.show(report, reportText);
    });
}

function reportText({ sagas, tampered, failed }: RebuildReport): string {
  const names = (ids: RebuildReport['failed']): string | undefined =>
    ids.length === 0 ? undefined : ids.map((id) => `${id.tenant}/${id.sagaId}`).join(', ');
  return pairs([
    ['sagas', String(sagas)],
    ['tampered with', names(tampered)],
    ['failed', names(failed)],
  ]);
}

function publishIn({ eventBus, since, events }: RebuildOptions) {
  if (eventBus === undefined && since === undefined && events === undefined) return undefined;
  const at = Date.parse(since ?? '');
  if (eventBus === undefined || Number.isNaN(at)) {
    throw new CliError(
      '--event-bus and --since belong together, and --events goes with them',
      'give both, --since as a time such as 2026-01-31T12:00:00Z, or neither',
    );
  }
  return { eventBus, since: at, ...(events === undefined ? {} : { events: eventsIn(events) }) };
}

function eventsIn(text: string): readonly Transition[] {
  try {
    return transitionsIn(text.split(','));
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new CliError(error.message, 'name them as `outbox.events` of the plane does');
  }
}

function segmentsIn(text: string): number {
  const segments = Number(text);
  if (Number.isInteger(segments) && segments >= 1 && segments <= 64) return segments;
  throw new CliError(`--segments ${text} is no count of segments`, 'give a number from 1 to 64');
}

/** Replaced as a whole, so that a break never leaves half of it. */
function progressFile(path: string): RebuildProgress {
  return {
    async load() {
      if (!existsSync(path)) return undefined;
      const progress = parsed(path);
      const done = progress.segments.every(({ kind }) => kind === 'done');
      // What ended is begun again.
      return done ? undefined : progress;
    },
    async save(progress) {
      writeFileSync(`${path}.new`, JSON.stringify(progress));
      renameSync(`${path}.new`, path);
    },
  };
}

function parsed(path: string): Progress {
  try {
    const value = JSON.parse(readFileSync(path, 'utf8')) as Partial<Progress>;
    if (Array.isArray(value.segments) && value.segments.length > 0) return value as Progress;
  } catch {
    // Told below.
  }
  throw new CliError(
    `${path} is no progress of a rebuild`,
    'delete it to begin from the start, or name another file with --progress',
  );
}
