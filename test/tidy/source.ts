import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative, resolve, sep } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../..');

/** Made by tools: what version control leaves out, its own folder, and the lock file. */
const NOT_OURS = new Set([
  '.git',
  'package-lock.json',
  ...readFileSync(join(ROOT, '.gitignore'), 'utf8')
    .split('\n')
    .map((line) => line.replace(/\/$/, '')),
]);

/** One piece of text that is not code. */
export interface Piece {
  readonly kind: 'comment' | 'string';
  /** Without quotes and comment marks. */
  readonly text: string;
  /** Where it begins, counted in characters of the file. */
  readonly at: number;
}

export interface SourceFile {
  /** From the root, with `/`. */
  readonly path: string;
  readonly text: string;
  /** The text with comments and the insides of strings blanked, so that offsets stay. */
  readonly code: string;
  readonly pieces: readonly Piece[];
}

/** Every file of the project, by its path from the root. */
export function allFiles(): string[] {
  const found: string[] = [];
  const walk = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (NOT_OURS.has(entry.name)) continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) walk(path);
      else found.push(relative(ROOT, path).split(sep).join('/'));
    }
  };
  walk(ROOT);
  return found.sort();
}

export function textOf(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

export function isSource(path: string): boolean {
  return /\.(?:ts|mts|js|mjs)$/.test(path);
}

export function sourceFile(path: string): SourceFile {
  const text = textOf(path);
  return { path, text, ...split(text) };
}

/** A specifier as written, and the file it means where that is one of ours. */
export interface Import {
  readonly specifier: string;
  readonly file: string | undefined;
}

/** What stands before the quote of a specifier; no member or property of that name. */
const IMPORTING = /(?<![.\w])(?:from\s+|import\s*\(?\s*)$/;

export function importsOf(source: SourceFile): Import[] {
  return source.pieces.flatMap((piece) => {
    if (piece.kind !== 'string') return [];
    const before = source.code.slice(Math.max(0, piece.at - 40), piece.at - 1);
    if (!IMPORTING.test(before)) return [];
    const relativePath = piece.text.startsWith('.');
    const file = relativePath ? beside(source.path, piece.text) : undefined;
    return [{ specifier: piece.text, file }];
  });
}

/** The package of a bare specifier: `@aws-sdk/client-sfn`, `hono`, `node:fs`. */
export function packageOf(specifier: string): string {
  const parts = specifier.split('/');
  return parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/');
}

/** `path` as seen from the file `from`, from the root. */
export function beside(from: string, path: string): string {
  return posix.join(dirname(from), path);
}

export function lineAt(text: string, at: number): number {
  return text.slice(0, at).split('\n').length;
}

/** Tells comments and strings from code. Knows as much of the language as that takes. */
export function split(text: string): { readonly code: string; readonly pieces: Piece[] } {
  const pieces: Piece[] = [];
  let code = '';
  let at = 0;
  /** Braces open inside each `${`, innermost last. */
  const holes: number[] = [];
  const blank = (to: number): void => {
    code += text.slice(at, to).replace(/[^\n]/g, ' ');
    at = to;
  };
  const keep = (count: number): void => {
    code += text.slice(at, at + count);
    at += count;
  };
  const template = (): void => {
    const from = at;
    let end = at;
    while (end < text.length && text[end] !== '`' && !text.startsWith('${', end)) {
      end += text[end] === '\\' ? 2 : 1;
    }
    pieces.push({ kind: 'string', text: text.slice(from, end), at: from });
    blank(end);
    if (text[at] === '`') keep(1);
    else if (at < text.length) {
      keep(2);
      holes.push(0);
    }
  };

  while (at < text.length) {
    const char = text[at] ?? '';
    if (text.startsWith('//', at) || text.startsWith('/*', at)) {
      const block = text[at + 1] === '*';
      const found = text.indexOf(block ? '*/' : '\n', at + 2);
      const end = found === -1 ? text.length : found + (block ? 2 : 0);
      pieces.push({ kind: 'comment', text: text.slice(at + 2, block ? end - 2 : end), at });
      blank(end);
    } else if (char === "'" || char === '"') {
      keep(1);
      let end = at;
      while (end < text.length && text[end] !== char) end += text[end] === '\\' ? 2 : 1;
      pieces.push({ kind: 'string', text: text.slice(at, end), at });
      blank(end);
      keep(1);
    } else if (char === '`') {
      keep(1);
      template();
    } else if (char === '/' && /(?:^|[(,=:[!&|?{};\n>]|\breturn)\s*$/.test(code.slice(-20))) {
      const end = regexEnd(text, at);
      blank(end);
    } else {
      const open = holes.at(-1);
      if (open !== undefined && char === '{') holes[holes.length - 1] = open + 1;
      if (open !== undefined && char === '}') {
        if (open === 0) {
          holes.pop();
          keep(1);
          template();
          continue;
        }
        holes[holes.length - 1] = open - 1;
      }
      keep(1);
    }
  }
  return { code, pieces };
}

function regexEnd(text: string, at: number): number {
  let inClass = false;
  for (let end = at + 1; end < text.length; end += 1) {
    const char = text[end];
    if (char === '\\') end += 1;
    else if (char === '[') inClass = true;
    else if (char === ']') inClass = false;
    else if (char === '\n') return at + 1;
    else if (char === '/' && !inClass) return end + 1;
  }
  return text.length;
}
