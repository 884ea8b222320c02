import type { Usage } from '../../bench/deployed.ts';
import type { Kind } from '../../bench/run.ts';
import { ASSUMED, bill, type Line, type Machine, total } from './bill.ts';
import { others, usd } from './others.ts';
import type { PriceList } from './prices.ts';

export interface Counted {
  /** As deployed by default: a saga's events fall into two batches of the stream. */
  readonly usages: Readonly<Record<Kind, Usage>>;
  /** The same with one batch. */
  readonly oneBatch: Readonly<Record<Kind, Usage>>;
}

const KINDS: readonly Kind[] = ['completing', 'failing'];
const MACHINES: readonly Machine[] = ['Express', 'Standard'];

/** The whole of `docs/costs.md`. */
export function page(counted: Counted, list: PriceList): string {
  return [
    '# What a saga costs',
    '',
    `USD per million sagas of four steps, in ${list.region} at the list prices of ${list.date}. \`npm run costs\` writes this`,
    'page: it runs one saga that completes and one whose fourth step is refused through the functions as they are',
    'deployed, over a stand-in for DynamoDB, and counts. Nothing here was measured on AWS.',
    '',
    ...summary(counted, list),
    ...MACHINES.flatMap((machine) => details(machine, counted, list)),
    ...saving(counted, list),
    ...kept(counted, list),
    ...assumptions(),
    ...priceTable(list),
  ].join('\n');
}

function summary({ usages }: Counted, list: PriceList): string[] {
  const ours = MACHINES.flatMap((machine) => {
    const bills = KINDS.map((kind) => bill(usages[kind], machine, list));
    const row = (name: string, group: Line['group'] | undefined, counts: string): string[] => [
      name,
      ...bills.map((lines) => usd(total(lines, group))),
      counts,
    ];
    return [
      row(`Counterstep, ${machine}`, 'saga', 'with ledger, projection, API and events'),
      row(`Counterstep, ${machine}, watched over`, undefined, 'and logs and traces as by default'),
    ];
  });
  const theirs = others(list).map((each) => [
    each.name,
    each.completing,
    each.failing,
    each.counted,
  ]);
  return [
    ...table(['', 'completing', 'failing', 'counted'], [...ours, ...theirs]),
    '',
    'Logs and traces are left out in the rows below Counterstep.',
    '',
  ];
}

function details(machine: Machine, { usages }: Counted, list: PriceList): string[] {
  const [completing = [], failing = []] = KINDS.map((kind) => bill(usages[kind], machine, list));
  const rows = completing.map((line, index) => {
    const other = failing[index];
    return [line.part, line.quantity, usd(line.usd), other?.quantity ?? '', usd(other?.usd ?? 0)];
  });
  const sums = ['together', '', usd(total(completing)), '', usd(total(failing))];
  return [
    `## ${machine}, part by part`,
    '',
    ...table(['', 'completing', 'USD', 'failing', 'USD'], [...rows, sums]),
    '',
  ];
}

const USED = 0.6;

/** What could be done about it, for the completing saga on Express. */
function saving(counted: Counted, list: PriceList): string[] {
  const { prices } = list;
  const usage = counted.usages.completing;
  const now = bill(usage, 'Express', list);
  const part = (name: string): number => now.find((line) => line.part === name)?.usd ?? 0;
  const one = bill(counted.oneBatch.completing, 'Express', list);
  const fewer = total(now) - total(one);
  const { drive, start } = usage.units;
  const writes = drive.writes + start.writes + counted.oneBatch.completing.units.outbox.writes;
  const provisioned = (prices.dynamoProvisionedWriteHour.usd / 3_600 / USED) * 1_000_000;
  const platform =
    ((usage.toolCalls + usage.ledgerCalls + 1) * ASSUMED.platformLogBytes * prices.logGb.usd) /
    1_000;
  const rows: [string, number][] = [
    [
      'log of the machine at level `ERROR` (`logLevel`): the ledger says what happened',
      part('log of the machine, level ALL'),
    ],
    [
      'a batching window of the outbox in which a whole saga fits (`outbox.maxBatchingWindow`), lists lag as long',
      fewer,
    ],
    ['no START, END and REPORT lines (JSON logs with system level WARN)', platform],
    [
      `provisioned write capacity, ${USED * 100} % used, where the load is steady`,
      writes * (prices.dynamoWrite.usd - provisioned),
    ],
  ];
  const saved = rows.reduce((sum, [, amount]) => sum + amount, 0);
  const inSaga = rows[1]?.[1] ?? 0;
  const steady = rows[3]?.[1] ?? 0;
  const least = total(now, 'saga') - inSaga - steady;
  const aim = 20;
  const bare = total(now, 'saga');
  return [
    '## What would bring it down',
    '',
    bare < aim
      ? `A completing saga on Express, with ledger, projection, API and events, stays below ${aim} USD per million.`
      : `The aim for a completing saga on Express, with ledger, projection, API and events, was ${aim} USD per million. It is missed by ${usd(bare - aim)}: most of it is write request units, one for each event. Together the second and the fourth line below bring it to ${usd(least)}.`,
    '',
    ...table(
      ['completing, Express', 'USD less'],
      [...rows.map(([what, amount]) => [what, usd(amount)]), ['all of them', usd(saved)]],
    ),
    '',
  ];
}

function kept({ usages }: Counted, { prices }: PriceList): string[] {
  const monthly = prices.dynamoGbMonth.usd + prices.dynamoBackupGbMonth.usd;
  const rows = KINDS.map((kind) => {
    const bytes = usages[kind].ledgerBytes + ASSUMED.projectionBytes;
    return [
      kind,
      `${usages[kind].ledgerBytes} bytes in ${usages[kind].ledgerEvents} events`,
      usd((bytes / 1e9) * 1_000_000 * monthly),
    ];
  });
  return [
    '## What is kept',
    '',
    'Each month that a million sagas are kept, with point-in-time recovery and the projection:',
    '',
    ...table(['', 'ledger of one saga', 'USD a month'], rows),
    '',
  ];
}

function assumptions(): string[] {
  const a = ASSUMED;
  return [
    '## What is assumed',
    '',
    `- Functions have ${a.memoryMb} MB and run ${a.toolMs} ms (a tool, ${a.toolMs / 2} of them for its partner), ${a.ledgerMs} ms (the ledger), ${a.apiMs} ms (the API), ${a.outboxMs} ms (a batch of ${a.outboxBatch} records). Cold starts are left out.`,
    '- Every invocation reads the whole ledger, as in a process that does not know the saga. A warm one reads less.',
    `- Between two states of an Express execution pass ${a.betweenStatesMs} ms; it is billed with ${a.expressMb} MB.`,
    `- Lambda writes ${a.platformLogBytes} bytes of its own for each invocation; one entry of a machine's log has ${a.machineLogBytes} bytes.`,
    '- The start is one request; whoever waits listens to the event bus instead of asking.',
    '- The sweep, alarms and the dashboard cost the same however many sagas run, some dollars a month.',
    '',
  ];
}

function priceTable({ prices, note }: PriceList): string[] {
  return [
    '## Prices',
    '',
    note,
    '',
    ...table(
      ['USD', 'per', 'page', 'confirmed'],
      Object.values(prices).map(({ usd: price, per, page: at, confirmed }) => [
        String(price),
        per,
        `<${at}>`,
        confirmed ? 'yes' : 'no',
      ]),
    ),
    '',
  ];
}

/** Columns as wide as their widest cell. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((_, column) =>
    Math.max(3, ...[head, ...rows].map((row) => (row[column] ?? '').length)),
  );
  const line = (row: readonly string[]): string =>
    `| ${widths.map((width, column) => (row[column] ?? '').padEnd(width)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)];
}
