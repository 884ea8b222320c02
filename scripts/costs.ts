import { readFileSync, writeFileSync } from 'node:fs';
import { bill, type Machine, total } from './costs/bill.ts';
import { type Counted, counted } from './costs/count.ts';
import { page } from './costs/page.ts';
import { readPrices } from './costs/prices.ts';

/**
 * `npm run costs`: counts what a saga uses and writes `docs/costs.md` by the prices in `prices.json`.
 * With `--check` it writes nothing, and fails where the page says something else; with `--json` it
 * prints what was counted instead.
 */
const FILE = 'docs/costs.md';

const counts = await counted();
if (process.argv.includes('--json')) process.stdout.write(JSON.stringify(counts));
else report(counts);

function report(counts: Counted): void {
  const list = readPrices('prices.json');
  const text = page(counts, list);
  if (!process.argv.includes('--check')) {
    writeFileSync(FILE, text);
  } else if (readFileSync(FILE, 'utf8') !== text) {
    process.stderr.write(
      `${FILE} is not what is counted now: run \`npm run costs\` and read the change\n`,
    );
    process.exitCode = 1;
  }
  for (const machine of ['Express', 'Standard'] satisfies Machine[]) {
    for (const usage of Object.values(counts.usages)) {
      const lines = bill(usage, machine, list);
      const sums = `${total(lines, 'saga').toFixed(2)} USD per million, ${total(lines).toFixed(2)} with logs and traces`;
      process.stdout.write(`${machine}, ${usage.kind}: ${sums}\n`);
    }
  }
}
