import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Bundle, bundle } from './bundle.ts';

/**
 * `npm run bundles`: bundles every Lambda function as a deployment does, says how large each is and
 * what it holds, and fails where one is above its budget in `bundle-budget.json`. Sizes are bytes of
 * minified JavaScript.
 */
interface Budget {
  /** For every entry point that has none of its own. */
  readonly default: number;
  readonly entries: Readonly<Record<string, number>>;
}

const TOP = 8;

const budget = JSON.parse(readFileSync('bundle-budget.json', 'utf8')) as Budget;
const entries = ['examples', 'lambdas'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.lambda.ts'))
    .map((path) => join(folder, path)),
);
const problems = Object.keys(budget.entries)
  .filter((entry) => !entries.includes(entry))
  .map((entry) => `${entry} has a budget but does not exist: take it out of bundle-budget.json`);

for (const entry of entries.sort()) {
  const made = await bundle(entry);
  const limit = budget.entries[entry] ?? budget.default;
  print(`${String(made.bytes).padStart(7)} of ${limit}  ${entry}`);
  print(`        ${parts(made)}`);
  if (made.bytes > limit) {
    problems.push(
      `${entry} has ${made.bytes} bytes, ${made.bytes - limit} above its budget: see above what it holds; drop what it does not need, or raise the budget with a reason`,
    );
  }
}
for (const problem of problems) print(problem);
if (problems.length > 0) process.exitCode = 1;

/** The largest parts: packages, and our own folders. */
function parts({ inputs }: Bundle): string {
  const sizes = new Map<string, number>();
  for (const { path, bytes } of inputs) {
    const part = partOf(path);
    sizes.set(part, (sizes.get(part) ?? 0) + bytes);
  }
  return [...sizes]
    .sort(([, a], [, b]) => b - a)
    .slice(0, TOP)
    .map(([part, bytes]) => `${part} ${Math.round(bytes / 1000)} k`)
    .join(', ');
}

function partOf(path: string): string {
  const [, inPackage] = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path) ?? [];
  return inPackage ?? path.split('/').slice(0, 2).join('/');
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
