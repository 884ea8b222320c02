import { readFileSync, writeFileSync } from 'node:fs';
import { usageOf } from '../bench/deployed.ts';
import { bill, type Machine, total } from './costs/bill.ts';
import { type Counted, page } from './costs/page.ts';
import { readPrices } from './costs/prices.ts';

/**
 * `npm run costs`: counts what a saga uses and writes `docs/costs.md` by the prices in `prices.json`.
 * With `--check` it writes nothing, and fails where the page says something else.
 */
const FILE = 'docs/costs.md';

const list = readPrices('prices.json');
const counted: Counted = {
  usages: { completing: await usageOf('completing', 2), failing: await usageOf('failing', 2) },
  oneBatch: { completing: await usageOf('completing', 1), failing: await usageOf('failing', 1) },
};
const text = page(counted, list);
if (!process.argv.includes('--check')) {
  writeFileSync(FILE, text);
} else if (readFileSync(FILE, 'utf8') !== text) {
  process.stderr.write(
    `${FILE} is not what is counted now: run \`npm run costs\` and read the change\n`,
  );
  process.exitCode = 1;
}
for (const machine of ['Express', 'Standard'] satisfies Machine[]) {
  for (const usage of Object.values(counted.usages)) {
    const lines = bill(usage, machine, list);
    const sums = `${total(lines, 'saga').toFixed(2)} USD per million, ${total(lines).toFixed(2)} with logs and traces`;
    process.stdout.write(`${machine}, ${usage.kind}: ${sums}\n`);
  }
}
