import type { Usage } from '../../bench/deployed.ts';
import type { Units } from '../../bench/stand-in.ts';
import { ASSUMED, bill, fullLog, invocationUsd, type Line, total } from './bill.ts';
import { between, type Counted, splitShare } from './count.ts';
import type { PriceList } from './prices.ts';

/** What one choice adds to a completing saga on Express (USD per million); below 0: takes away. */
export interface Choice {
  readonly what: string;
  readonly usd: number;
}

/** The window of those who want lists and events sooner. */
const SHORT_WINDOW_MS = 1_000;
/** Of provisioned capacity. */
const USED = 0.6;

export function choices(counted: Counted, list: PriceList): Choice[] {
  const { prices } = list;
  const usage = counted.usages.completing;
  const one = counted.inOneBatch.completing;
  const two = counted.inTwoBatches.completing;
  const now = sagaUsd(usage, list);
  const short = between(one, two, splitShare(one, SHORT_WINDOW_MS));
  const calls = usage.toolCalls + usage.ledgerCalls + 1 + usage.ledgerEvents / ASSUMED.outboxBatch;
  const alone = invocationUsd(ASSUMED.outboxAloneMs, list) - part(usage, 'outbox function', list);
  const { drive, start, outbox } = usage.units;
  const provisioned = (prices.dynamoProvisionedWriteHour.usd / 3_600 / USED) * 1_000_000;
  const logUsd = (bytes: number): number => (bytes / 1_000) * prices.logGb.usd;
  return [
    {
      what: 'the machine logs at level `ALL` (`logLevel`): each step of each execution',
      usd: logUsd(fullLog(usage)),
    },
    {
      what: 'START, END and REPORT lines of every invocation (`systemLogLevelV2`: `INFO`)',
      usd: logUsd(calls * ASSUMED.platformLogBytes),
    },
    {
      what: '`started` is published too (`outbox.events`)',
      usd: prices.busEvent.usd,
    },
    {
      what: `the outbox gathers for ${SHORT_WINDOW_MS / 1_000} s (\`outbox.maxBatchingWindow\`): ${share(one, SHORT_WINDOW_MS)} of sagas fall into two batches`,
      usd: sagaUsd(short, list) - now,
    },
    {
      what: `few sagas run: each has a batch of its own, of ${ASSUMED.outboxAloneMs} ms, and none falls into two`,
      usd: sagaUsd(one, list) - now + alone,
    },
    {
      what: 'an event that begins another KB: a larger input, result or set of arguments',
      usd: prices.dynamoWrite.usd,
    },
    {
      what: `provisioned write capacity (\`billingMode\`), ${USED * 100} % used, where the load is steady`,
      usd: (drive.writes + start.writes + outbox.writes) * (provisioned - prices.dynamoWrite.usd),
    },
    {
      what: 'its tenant has a budget (`tenants`): charged before the first event, given back after the last, by a transaction each',
      usd: chargedUsd(counted, list),
    },
    {
      what: 'every tool has a `breaker`, which is closed: each call reads it, and none that works writes',
      usd: usage.toolCalls * prices.dynamoRead.usd,
    },
  ];
}

/** A transaction pays each of its writes twice; over the stand-in, which has none, they are single. */
const IN_TRANSACTION = 2;

function chargedUsd({ inOneBatch, charged }: Counted, { prices }: PriceList): number {
  const more = (name: keyof Units): number => {
    const of = ({ units: { drive, start } }: Usage): number => drive[name] + start[name];
    return of(charged) - of(inOneBatch.completing);
  };
  return (
    more('writes') * IN_TRANSACTION * prices.dynamoWrite.usd + more('reads') * prices.dynamoRead.usd
  );
}

function sagaUsd(usage: Usage, list: PriceList): number {
  return total(bill(usage, 'Express', list), 'saga');
}

function part(usage: Usage, name: Line['part'], list: PriceList): number {
  return bill(usage, 'Express', list).find((line) => line.part === name)?.usd ?? 0;
}

function share(usage: Usage, windowMs: number): string {
  return `${Math.round(splitShare(usage, windowMs) * 100)} %`;
}
