import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../..');

export interface Block {
  /** `ts`, `sh`, `text`, `mermaid`. */
  readonly language: string;
  /** File name behind the language, where one is given. */
  readonly name: string | undefined;
  readonly text: string;
}

export const README = readFileSync(join(ROOT, 'README.md'), 'utf8');

export const BLOCKS: readonly Block[] = blocksOf(README);

/** The blocks of code of a page. */
export function blocksOf(page: string): Block[] {
  return [...page.matchAll(/^```(\w+)(?: (\S+))?\n([\s\S]*?)^```$/gm)].map(
    ([, language = '', name, text = '']) => ({ language, name, text }),
  );
}

/** The first cells of a table whose head begins with `title`. */
export function firstColumn(title: string): string[] {
  const lines = README.split('\n');
  const head = lines.findIndex((line) => line.startsWith(`| ${title} `));
  if (head === -1) throw new Error(`the README has no table that begins with ${title}`);
  const rows = lines.slice(head + 2);
  const end = rows.findIndex((line) => !line.startsWith('|'));
  return rows.slice(0, end).map((row) => (row.split('|')[1] ?? '').trim().replaceAll('`', ''));
}
