import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Usage } from '../../bench/deployed.ts';
import { ASSUMED, bill, total } from '../../scripts/costs/bill.ts';
import { choices } from '../../scripts/costs/choices.ts';
import { between, type Counted, splitShare } from '../../scripts/costs/count.ts';
import { AIM_USD } from '../../scripts/costs/page.ts';
import { readPrices } from '../../scripts/costs/prices.ts';
import { ROOT } from './readme.ts';

const prices = readPrices(`${ROOT}/prices.json`);

/** In a process of its own: the stand-in does not run in the tests' one. */
function costs(flag: '--check' | '--json'): Promise<{ readonly stdout: string }> {
  const script = ['--conditions=counterstep-source', '--import', 'tsx', 'scripts/costs.ts', flag];
  return promisify(execFile)(process.execPath, script, { cwd: ROOT });
}

test('docs/costs.md says what is counted now', async () => {
  await expect(costs('--check')).resolves.toMatchObject({
    stdout: expect.stringContaining('per million'),
  });
});

const LOG = 'log of the machine, level ERROR';

describe('a bill', () => {
  const units = { writes: 0, reads: 0 };
  const nothing: Usage = {
    kind: 'completing',
    states: 0,
    ledgerCalls: 0,
    toolCalls: 0,
    ledgerEvents: 0,
    ledgerBytes: 0,
    units: { drive: units, start: units, outbox: units },
    failedCalls: 0,
    failed: false,
    published: 0,
    publishedBytes: 0,
    logBytes: 0,
    logLines: 0,
  };
  const part = (usage: Usage, machine: 'Express' | 'Standard', name: string) =>
    bill(usage, machine, prices).find((line) => line.part === name)?.usd;

  test('counts the start of a Standard execution as a transition', () => {
    const usage = { ...nothing, states: 6 };
    expect(part(usage, 'Standard', 'state machine')).toBe(7 * 25);
  });

  test('rounds an Express execution up to the next tenth of a second', () => {
    const of = (toolCalls: number) =>
      part({ ...nothing, toolCalls, states: toolCalls }, 'Express', 'state machine') ?? 0;
    const tenth = 0.1 * (ASSUMED.expressMb / 1024) * 16.67;
    // 125 ms and 250 ms
    expect(of(1)).toBeCloseTo(1 + 2 * tenth, 6);
    expect(of(2)).toBeCloseTo(1 + 3 * tenth, 6);
  });

  test('takes units, events and requests at their prices', () => {
    const drive = { writes: 10, reads: 8 };
    const usage = { ...nothing, units: { ...nothing.units, drive }, published: 2 };
    expect(part(usage, 'Express', 'ledger and registry')).toBeCloseTo(6.25 + 1, 6);
    expect(part(usage, 'Express', 'event bus')).toBe(2);
    expect(part(usage, 'Express', 'start: HTTP API')).toBe(1);
  });

  test('logs what failed, and of what went well no line of a machine', () => {
    expect(part({ ...nothing, toolCalls: 4 }, 'Express', LOG)).toBe(0);
    const failing = { ...nothing, failedCalls: 1, failed: true };
    expect(part(failing, 'Express', LOG)).toBeCloseTo(3 * 0.7 * 0.5, 6);
    expect(part(failing, 'Standard', LOG)).toBeCloseTo(3 * 0.7 * 0.5, 6);
  });

  test('sums its groups to the whole', () => {
    const lines = bill(
      { ...nothing, toolCalls: 4, published: 2, logBytes: 300 },
      'Express',
      prices,
    );
    expect(total(lines)).toBeCloseTo(total(lines, 'saga') + total(lines, 'watching'), 9);
  });
});

describe('what is counted', () => {
  let counts: Counted;
  beforeAll(async () => {
    counts = JSON.parse((await costs('--json')).stdout) as Counted;
  }, 60_000);

  test('a completing saga on Express stays below 20 USD per million', () => {
    const lines = bill(counts.usages.completing, 'Express', prices);
    expect(AIM_USD).toBe(20);
    expect(total(lines, 'saga')).toBeLessThan(AIM_USD);
  });

  test('every price that it is reckoned by was seen on a page', () => {
    const unseen = Object.entries(prices.prices).filter(([, { confirmed }]) => !confirmed);
    expect(unseen).toEqual([]);
  });

  test('a saga in one batch is written once, in the list of its name', () => {
    const { completing, failing } = counts.inOneBatch;
    expect(completing.units.outbox).toEqual({ writes: 2, reads: 0.5 });
    expect(failing.units.outbox).toEqual({ writes: 3, reads: 0.5 });
    expect(counts.inTwoBatches.completing.units.outbox).toEqual({ writes: 5, reads: 1 });
  });

  test('a start looks for the saga once', () => {
    expect(counts.usages.completing.units.start.reads).toBe(1);
  });

  test('between one batch and two lie as many as an end of a window falls into', () => {
    const { completing } = counts.inOneBatch;
    const share = splitShare(completing);
    expect(share).toBeGreaterThan(0);
    expect(share).toBeLessThan(1);
    expect(splitShare(completing, 2 * ASSUMED.windowMs)).toBeCloseTo(share / 2, 9);
    expect(splitShare(completing, 1)).toBe(1);
    expect(counts.usages.completing.units.outbox.writes).toBeCloseTo(2 + 3 * share, 9);
    const twice = counts.inTwoBatches.completing;
    expect(between(completing, twice, 1).units.outbox).toEqual(twice.units.outbox);
  });

  test('each choice has its price', () => {
    const [all, platform, started, short, alone, larger, provisioned, tenant, breaker] = choices(
      counts,
      prices,
    );
    expect(all?.usd).toBeGreaterThan(5);
    expect(platform?.usd).toBeGreaterThan(0.5);
    expect(started?.usd).toBe(1);
    expect(short?.usd).toBeGreaterThan(0.5);
    expect(alone?.usd).toBeLessThan(1);
    expect(larger?.usd).toBe(0.625);
    expect(provisioned?.usd).toBeLessThan(-1);
    // Two transactions of two writes; what the tenant holds is read at the start, and what the saga holds at its end.
    expect(tenant?.usd).toBeCloseTo(8 * 0.625 + 2 * 0.125, 9);
    expect(breaker?.usd).toBe(4 * 0.125);
  });
});

test('a price list that lacks a price is refused by name', () => {
  expect(() => readPrices(`${ROOT}/package.json`)).toThrow(/price/);
});
