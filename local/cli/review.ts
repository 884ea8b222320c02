import type { Command } from 'commander';
import type { ReviewPageView, ReviewView, SagaView } from '../../lambdas/service/wire.ts';
import { parseIJson } from '../../statemachines/ledger/parse-ijson.ts';
import { CliError } from './cli-error.ts';
import { contextOf, idPath, queryOf } from './command-context.ts';
import { inFlags } from './decision-flags.ts';
import { decisionOptions } from './decision-options.ts';
import { pairs, shortTime, table } from './output.ts';
import { more, standingText } from './read.ts';
import { sagaText } from './saga-text.ts';
import { pair, readBytes, wholeNumber } from './values.ts';

export function addReview(program: Command): void {
  const review = program
    .command('review')
    .description('what waits for a person: list, show, decide')
    .argument('[id]', 'show this review; without it, list them')
    .action(async (id: string | undefined, _options: unknown, command: Command) => {
      await (id === undefined ? list({}, command) : show(id, command));
    });

  review
    .command('list')
    .description('open reviews and open incidents')
    .option('--limit <number>', 'entries on the page')
    .option('--cursor <cursor>', 'from the page before')
    .action(list);

  review
    .command('show')
    .description('the snapshot to decide on')
    .argument('<id>', 'id of the review')
    .action((id: string, _options: unknown, command: Command) => show(id, command));

  review
    .command('decide')
    .description('decide a review: exactly one decision')
    .argument('<id>', 'id of the review')
    .option('--retry', 'try again what failed or was held, with a fresh budget')
    .option('--recover', 'go no further: undo what was done')
    .option('--approve', 'let the recovery run (with --plan-hash, --max-cost, --currency)')
    .option('--reject', 'do not approve; the review stays open')
    .option('--resolve <step>', 'nothing of this step stands any more (with --evidence)')
    .option(
      '--answer <outcome>',
      "committed or absent, in the provider's place (with --step, --evidence)",
    )
    .option('--close', 'close an incident (with --evidence)')
    .option('--plan-hash <hash>', 'the plan that was read')
    .option('--max-cost <minor>', 'what recovery may cost, in minor units (cents)')
    .option('--currency <code>', 'currency of --max-cost, for example EUR')
    .option('--step <step>', 'the step that is answered for')
    .option('--action <action>', 'forward, compensate, supersede or contain', 'forward')
    .option('--result <file>', 'JSON of what the tool would have answered, or - for standard input')
    .option('--external-id <name=value>', 'an id at the provider; may be repeated', pair)
    .option('--evidence <text>', 'what was done or seen, and where')
    .option('--everything', 'with --recover: undo what a checkpoint would keep, too')
    .option('--latest', 'later drives run the machine version deployed now')
    .action(async (id: string, options: DecideOptions, command: Command) => {
      const { client, output } = contextOf(command);
      const path = idPath('/v1/reviews', id, '/decision');
      const saga = await client.post<SagaView>(path, decisionOf(options)).catch((error) => {
        throw inFlags(error);
      });
      output.show(saga, (view) => sagaText(view, output));
    });
}

async function list(
  options: { readonly limit?: string; readonly cursor?: string },
  command: Command,
): Promise<void> {
  const { client, output } = contextOf(command);
  const { limit, cursor } = options;
  const page = await client.json<ReviewPageView>(`/v1/reviews${queryOf({ limit, cursor })}`);
  output.show(page, listText);
  more(output, page.cursor);
}

async function show(id: string, command: Command): Promise<void> {
  const { client, output } = contextOf(command);
  output.show(await client.json<ReviewView>(idPath('/v1/reviews', id)), reviewText);
}

interface DecideOptions {
  readonly retry?: boolean;
  readonly recover?: boolean;
  readonly approve?: boolean;
  readonly reject?: boolean;
  readonly close?: boolean;
  readonly resolve?: string;
  readonly answer?: string;
  readonly planHash?: string;
  readonly maxCost?: string;
  readonly currency?: string;
  readonly step?: string;
  readonly action: string;
  readonly result?: string;
  readonly externalId?: Readonly<Record<string, string>>;
  readonly evidence?: string;
  readonly everything?: boolean;
  readonly latest?: boolean;
}

const DECISIONS = ['retry', 'recover', 'approve', 'reject', 'resolve', 'answer', 'close'] as const;

function decisionOf(options: DecideOptions): Record<string, unknown> {
  const chosen = DECISIONS.filter((name) => options[name] !== undefined);
  const [decision] = chosen;
  if (decision === undefined || chosen.length > 1) {
    const flags = DECISIONS.map((name) => `--${name}`).join(', ');
    throw new CliError(`${chosen.length} decisions are given`, `give exactly one of ${flags}`);
  }
  const { evidence, planHash, externalId } = options;
  return {
    decision,
    ...(evidence === undefined ? {} : { evidence }),
    ...(planHash === undefined ? {} : { planHash }),
    ...(options.maxCost === undefined
      ? {}
      : { maxCost: maxCostOf(options.maxCost, options.currency) }),
    ...(decision === 'resolve' ? { step: options.resolve } : {}),
    ...(decision === 'answer' ? answerOf(options) : {}),
    ...(externalId === undefined ? {} : { externalIds: externalId }),
    ...(options.everything === true ? { everything: true } : {}),
    ...(options.latest === true ? { machine: 'latest' } : {}),
  };
}

function answerOf(options: DecideOptions): Record<string, unknown> {
  const { step, action, answer, result } = options;
  return {
    answer,
    action,
    ...(step === undefined ? {} : { step }),
    ...(result === undefined ? {} : { result: jsonIn(result) }),
  };
}

function maxCostOf(text: string, currency: string | undefined): Record<string, unknown> {
  if (currency === undefined) {
    throw new CliError('--max-cost has no currency', 'add for example --currency EUR');
  }
  return { costMinor: wholeNumber(text, '--max-cost'), currency };
}

function jsonIn(path: string): unknown {
  try {
    return parseIJson(readBytes(path));
  } catch (error) {
    if (error instanceof CliError) throw error;
    const why = error instanceof Error ? error.message : 'unknown';
    throw new CliError(`--result is not usable JSON: ${why}`, 'mend the file', error);
  }
}

function listText({ reviews }: ReviewPageView): string {
  const rows = reviews.map((review) => [
    review.id,
    review.kind,
    review.reason,
    review.steps.join(', '),
    `${review.saga.name} ${review.saga.version}`,
    shortTime(review.openedAt),
    review.overdue === true
      ? `overdue since ${shortTime(review.deadlineAt)}`
      : shortTime(review.deadlineAt),
  ]);
  return table(['ID', 'KIND', 'REASON', 'STEPS', 'DEFINITION', 'OPENED', 'DEADLINE'], rows);
}

function reviewText(review: ReviewView): string {
  const { plan, decided, maxCost } = review;
  const cost =
    maxCost === undefined ? undefined : `${maxCost.costMinor} ${maxCost.currency} (minor units)`;
  const head = pairs([
    ['review', `${review.id} (${review.status})`],
    ['saga', `${review.saga.id}, ${review.saga.name} ${review.saga.version}, ${review.saga.state}`],
    ['reason', review.reason],
    ['what', review.explanation],
    ['opened', shortTime(review.openedAt)],
    ['deadline', review.deadlineAt === undefined ? undefined : shortTime(review.deadlineAt)],
    ['plan', plan === undefined ? undefined : plan.hash],
    ['checkpoint', plan?.checkpoint === undefined ? undefined : `${plan.checkpoint} is kept`],
    ['cost', cost],
    [
      'decided',
      decided === undefined
        ? undefined
        : `${decided.decision} by ${decided.by}, ${shortTime(decided.at)}`,
    ],
  ]);
  const rows = (plan?.entries ?? []).map((entry) => [
    entry.step,
    entry.action,
    entry.after.join(', '),
    entry.conditional === true ? 'if it turns out to have committed' : '',
    entry.estimate === undefined ? '' : `${entry.estimate.costMinor} ${entry.estimate.currency}`,
  ]);
  const recovery =
    plan === undefined
      ? ''
      : `\n\n${table(['RECOVERY OF', 'BY', 'AFTER', 'WHEN', 'ESTIMATE'], rows)}`;
  const advice = review.suggestions.map(
    (each) =>
      `advice by ${each.by}, ${shortTime(each.at)}: ${each.gone ?? JSON.stringify(each.value)}`,
  );
  const lines = advice.length === 0 ? '' : `\n\n${advice.join('\n')}`;
  const options = decisionOptions(review).map((each) => `  ${each}`);
  const decide =
    options.length === 0
      ? ''
      : `\n\ndecide with: counterstep review decide ${review.id}, and one of\n${options.join('\n')}`;
  return `${head}${recovery}\n\n${standingText(review.standing)}${lines}${decide}`;
}
