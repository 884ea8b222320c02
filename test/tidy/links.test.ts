import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { allFiles, beside, isSource, ROOT, sourceFile, textOf } from './source.ts';

const files = allFiles();
const documents = files.filter((path) => path.endsWith('.md'));

interface Link {
  readonly from: string;
  readonly target: string;
}

function linksIn(path: string): Link[] {
  const text = withoutFences(textOf(path));
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => ({ from: path, target }))
    .filter(({ target }) => !/^[a-z]+:/.test(target));
}

function withoutFences(text: string): string {
  return text.replace(/^```[\s\S]*?^```/gm, '');
}

/** As GitHub makes them from headings. */
function anchorsOf(path: string): string[] {
  return [...withoutFences(textOf(path)).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-'),
  );
}

test('every link to a file leads somewhere, its heading included', () => {
  const broken = documents.flatMap(linksIn).filter(({ from, target }) => {
    const [path = '', anchor] = target.split('#');
    const file = path === '' ? from : beside(from, path);
    if (!existsSync(join(ROOT, file))) return true;
    return anchor !== undefined && file.endsWith('.md') && !anchorsOf(file).includes(anchor);
  });
  expect(broken).toEqual([]);
});

test('every file that a comment or a document names is there', () => {
  const named =
    /`((?:statemachines|lambdas|infra|local|examples|test|bench|docs|scripts|bin)\/[\w./-]+\.\w+)`/g;
  const comments = files.filter(isSource).flatMap((path) =>
    sourceFile(path)
      .pieces.filter(({ kind }) => kind === 'comment')
      .map(({ text }) => ({ path, text })),
  );
  const texts = [...comments, ...documents.map((path) => ({ path, text: textOf(path) }))];
  const missing = texts.flatMap(({ path, text }) =>
    [...text.matchAll(named)]
      .filter(([, file = '']) => !existsSync(join(ROOT, file)))
      .map(([, file]) => `${path} names ${file}`),
  );
  expect(missing).toEqual([]);
});

test('every document can be reached from the README', () => {
  const seen = new Set<string>();
  const open = ['README.md'];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    if (!path.endsWith('.md')) continue;
    for (const { target } of linksIn(path)) {
      const file = beside(path, target.split('#')[0] ?? '').replace(/\/$/, '');
      open.push(
        ...(files.includes(file) ? [file] : files.filter((each) => each.startsWith(`${file}/`))),
      );
    }
  }
  expect(documents.filter((path) => !seen.has(path))).toEqual([]);
});
