import type { Kind } from '../../bench/run.ts';
import { ASSUMED, bill, invocationUsd, type Line, type Machine, total } from './bill.ts';
import { choices } from './choices.ts';
import { type Counted, splitShare } from './count.ts';
import { others, usd } from './others.ts';
import type { PriceList } from './prices.ts';

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
    ...aim(counted, list),
    ...kept(counted, list),
    ...assumptions(counted),
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

/** What the completing saga on Express, all but logs and traces, is to stay below. */
export const AIM_USD = 20;

function aim(counted: Counted, list: PriceList): string[] {
  const usage = counted.usages.completing;
  const lines = bill(usage, 'Express', list);
  const now = total(lines, 'saga');
  const left = AIM_USD - now;
  const functions = lines.find(({ part }) => part === 'tool and ledger functions')?.usd ?? 0;
  const msUsd = usage.toolCalls * (invocationUsd(1, list) - invocationUsd(0, list));
  return [
    '## What it comes to',
    '',
    left > 0
      ? `A completing saga on Express, with ledger, projection, API and events, is to cost less than ${AIM_USD} USD per million: it stays ${usd(left)} below, and a test fails where it does not. Half of it is write request units, one for each event.`
      : `A completing saga on Express, with ledger, projection, API and events, is to cost less than ${AIM_USD} USD per million: it misses that by ${usd(-left)}.`,
    '',
    ...(left > 0
      ? [
          `That is without logs and traces, which are on by default: with them it is ${usd(total(lines))}. And ${usd(functions)} of it, the tool and ledger functions, rests on assumed milliseconds (below): tools that take ${Math.ceil(left / msUsd)} ms longer for each call are enough to pass ${AIM_USD}. What was counted, and the test holds, are requests, units, events and states.`,
          '',
        ]
      : []),
    'What a choice adds to it, or takes away:',
    '',
    ...table(
      ['completing, Express', 'USD'],
      choices(counted, list).map(({ what, usd: amount }) => [what, signed(amount)]),
    ),
    '',
    'A breaker writes where a call fails, one unit for each, and where it opens or closes.',
    '',
  ];
}

function signed(amount: number): string {
  return `${amount < 0 ? '−' : '+'}${usd(Math.abs(amount))}`;
}

function kept({ usages }: Counted, { prices }: PriceList): string[] {
  const monthly = prices.dynamoGbMonth.usd + prices.dynamoBackupGbMonth.usd;
  const rows = KINDS.map((kind) => {
    const { ledgerBytes, ledgerEvents } = usages[kind];
    const overhead = ledgerEvents * ASSUMED.itemOverheadBytes;
    const bytes = ledgerBytes + overhead + ASSUMED.projectionBytes;
    return [
      kind,
      `${ledgerBytes} bytes in ${ledgerEvents} events`,
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

function assumptions({ inOneBatch }: Counted): string[] {
  const a = ASSUMED;
  const share = (kind: Kind): string => `${Math.round(splitShare(inOneBatch[kind]) * 100)} %`;
  return [
    '## What is assumed',
    '',
    `- Functions have ${a.memoryMb} MB and run ${a.toolMs} ms (a tool, ${a.toolMs / 2} of them for its partner), ${a.ledgerMs} ms (the ledger), ${a.apiMs} ms (the API), ${a.outboxMs} ms (a batch of ${a.outboxBatch} records). Cold starts are left out.`,
    '- Every invocation reads the whole ledger, as in a process that does not know the saga. A warm one reads less. A read that finds nothing counts as the least that a read can cost.',
    `- Between two states of an Express execution pass ${a.betweenStatesMs} ms; it is billed with ${a.expressMb} MB.`,
    `- The outbox gathers for ${a.windowMs / 1_000} s at a time, one window upon the other. An end of one falls into ${share('completing')} of the completing sagas and ${share('failing')} of the failing ones (the time of their Express execution, against the window): these are noted twice. Each name of a definition is noted once for all its sagas, and left out.`,
    `- Lambda writes ${a.platformLogBytes} bytes of its own for each invocation that failed; a line that the logger writes has ${a.lineBytes} bytes beside what it says; one entry of a machine's log has ${a.machineLogBytes} bytes.`,
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
