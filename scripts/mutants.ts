import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bank } from './mutants/bank.ts';
import type { Mutant } from './mutants/mutant.ts';
import { writePage } from './mutants/page.ts';
import { type Result, type RunOptions, run } from './mutants/run.ts';

/**
 * Breaks the engine on purpose, one rule at a time, and asks the prover to find it. Ends with 1 where the
 * engine as it is has a finding, or a mutant has none. `npm run mutants -- --only checkpoint-undone`
 * takes one, `--seeds 1000` looks further, `--write` renews the table in `docs/simulation.md`.
 */
const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seeds: { type: 'string', default: '300' },
    write: { type: 'boolean', default: false },
    processes: { type: 'string', default: String(Math.min(2, availableParallelism())) },
    'timeout-s': { type: 'string', default: '900' },
  },
});

const root = join(import.meta.dirname, '..');
const options: RunOptions = {
  root,
  seeds: Number(values.seeds),
  timeoutMs: Number(values['timeout-s']) * 1000,
};
const chosen = bank.filter(({ name }) => values.only === undefined || name === values.only);
if (values.write && values.only !== undefined) throw new Error('--write takes the whole bank');
if (chosen.length === 0) throw new Error(`there is no mutant "${values.only}"`);

const engine = await run([], options);
say(`the engine as it is: ${wordsOf(engine)}`);
if (engine.kind === 'survived') await mutants();
else process.exitCode = 1;

async function mutants(): Promise<void> {
  const results = new Map<Mutant, Result>();
  const left = [...chosen];
  const work = async (): Promise<void> => {
    for (let mutant = left.shift(); mutant !== undefined; mutant = left.shift()) {
      const result = await run(mutant.edits, options);
      results.set(mutant, result);
      say(`${mutant.name}: ${wordsOf(result)}`);
    }
  };
  await Promise.all(Array.from({ length: Number(values.processes) }, work));
  const missed = [...results].filter(([, { kind }]) => kind !== 'found');
  for (const [{ name, why }] of missed) say(`not found: ${name} (${why})`);
  say(`${results.size - missed.length} of ${results.size} mutants found`);
  if (missed.length > 0) process.exitCode = 1;
  if (values.write) writePage(join(root, 'docs/simulation.md'), bank, results);
}

function wordsOf(result: Result): string {
  const took = `${(result.tookMs / 1000).toFixed(1)} s`;
  switch (result.kind) {
    case 'found':
      return `found by ${result.found.by}: ${result.found.finding} (${took})`;
    case 'survived':
      return `no finding (${took})`;
    case 'failed':
      return `FAILED: ${result.why} (${took})`;
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
