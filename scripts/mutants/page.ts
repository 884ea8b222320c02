import { readFileSync, writeFileSync } from 'node:fs';
import type { Mutant } from './mutant.ts';
import type { Result } from './run.ts';

const BEGIN = '<!-- mutants -->';
const END = '<!-- /mutants -->';

/**
 * Renews the table between its two marks; the rest of the page stays.
 * @throws Error where the page lacks the marks
 */
export function writePage(
  file: string,
  bank: readonly Mutant[],
  results: ReadonlyMap<Mutant, Result>,
): void {
  const page = readFileSync(file, 'utf8');
  const from = page.indexOf(BEGIN);
  const to = page.indexOf(END);
  if (from === -1 || to < from) throw new Error(`${file} lacks the marks ${BEGIN} and ${END}`);
  const table = tableOf(bank, results);
  writeFileSync(file, `${page.slice(0, from)}${BEGIN}\n\n${table}\n\n${page.slice(to)}`);
}

function tableOf(bank: readonly Mutant[], results: ReadonlyMap<Mutant, Result>): string {
  const rows = bank.map((mutant) => {
    const result = results.get(mutant);
    const found = result?.kind === 'found' ? result.found : { by: 'nothing', finding: '' };
    const { name, why, invariant } = mutant;
    return [`\`${name}\``, `${why} (${invariant})`, found.by, found.finding].map(plain);
  });
  const head = ['mutant', 'what it breaks (invariant)', 'found by', 'first finding'];
  const widths = head.map((cell, at) =>
    Math.max(cell.length, ...rows.map((row) => row[at]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  const table = [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)];
  return [sumOf([...results.values()]), '', ...table].join('\n');
}

function sumOf(results: readonly Result[]): string {
  const by = (what: string): number =>
    results.filter((result) => result.kind === 'found' && result.found.by.startsWith(what)).length;
  const ways = `${by('matrix')} by a matrix, ${by('seed')} by a world, ${by('probe')} by a probe alone`;
  return `${results.length} mutants: ${ways}.`;
}

function plain(cell: string): string {
  return cell.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
