import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { Usage } from '../../bench/deployed.ts';
import { ASSUMED, bill, total } from '../../scripts/costs/bill.ts';
import { readPrices } from '../../scripts/costs/prices.ts';
import { ROOT } from './readme.ts';

const prices = readPrices(`${ROOT}/prices.json`);

test('docs/costs.md says what is counted now', async () => {
  const script = ['--conditions=counterstep-source', '--import', 'tsx', 'scripts/costs.ts'];
  const run = promisify(execFile)(process.execPath, [...script, '--check'], { cwd: ROOT });
  await expect(run).resolves.toMatchObject({ stdout: expect.stringContaining('per million') });
});

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
    published: 0,
    publishedBytes: 0,
    logBytes: 0,
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

  test('sums its groups to the whole', () => {
    const lines = bill(
      { ...nothing, toolCalls: 4, published: 2, logBytes: 300 },
      'Express',
      prices,
    );
    expect(total(lines)).toBeCloseTo(total(lines, 'saga') + total(lines, 'watching'), 9);
  });
});

test('a price list that lacks a price is refused by name', () => {
  expect(() => readPrices(`${ROOT}/package.json`)).toThrow(/price/);
});
