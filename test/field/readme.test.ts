import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { allFiles, beside, sourceFile, textOf } from '../tidy/source.ts';

const PAGE = 'test/field/README.md';

/** Every known case of these kinds has its line; a case added later raises its number. */
const KINDS = {
  'retry/idempotency': 18,
  'lease/concurrency': 9,
  'ledger/canonicalization': 9,
  'limits/large input': 7,
  'ASL/CDK generation': 9,
  'tenant/security': 7,
  monitoring: 6,
  'emulator fidelity': 10,
  'compensation order': 11,
  'partial failure': 9,
};

const ID = /^[a-z]{2}-\d{2}\b/;

interface Row {
  readonly kind: string;
  readonly id: string;
  readonly held: string;
}

function rowsOf(page: string): Row[] {
  return page.split(/^## /m).flatMap((section) => {
    const kind = section.slice(0, section.indexOf('\n'));
    return section.split('\n').flatMap((line) => {
      const [, id = '', , held = ''] = line.split('|').map((cell) => cell.trim());
      return ID.test(id) ? [{ kind, id, held }] : [];
    });
  });
}

function filesIn({ held }: Row): string[] {
  return [...held.matchAll(/\]\(([^)]+)\)/g)].map(([, path = '']) => beside(PAGE, path));
}

/** Ids that titles of this file's tests begin with. */
function idsIn(path: string): string[] {
  return sourceFile(path).pieces.flatMap(({ kind, text }) => {
    const found = kind === 'string' ? ID.exec(text) : null;
    return found === null ? [] : [found[0]];
  });
}

const page = textOf(PAGE);
const rows = rowsOf(page);
// Tests that are run on each type of machine stand in `-tests.ts`, and are called from a `.test.ts`.
const tests = allFiles().filter((path) => /\.test\.ts$|^test\/e2e\/.*-tests\.ts$/.test(path));
const titles = new Map(tests.map((path) => [path, new Set(idsIn(path))]));

test('every case has one line', () => {
  const ids = rows.map(({ id }) => id);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  const counts = Object.keys(KINDS).map((kind) => [
    kind,
    rows.filter((row) => row.kind === kind).length,
  ]);
  expect(Object.fromEntries(counts)).toEqual(KINDS);
});

test('every line names a test that names it, or what makes the failure impossible', () => {
  const wrong = rows.filter((row) => {
    const files = filesIn(row);
    const reasoned = /cannot arise: .*`[^`]+`/.test(row.held);
    return (
      !files.every((file) => titles.get(file)?.has(row.id)) || (files.length === 0 && !reasoned)
    );
  });
  expect(wrong).toEqual([]);
});

test('a reason names files that are there', () => {
  const named = rows
    .filter(({ held }) => held.includes('cannot arise'))
    .flatMap(({ held }) => [...held.matchAll(/`([\w./-]+\/[\w.-]+)`/g)])
    .map(([, path = '']) => path);
  expect(named.filter((path) => !existsSync(path))).toEqual([]);
});

test('every case that a test names is on the page', () => {
  const listed = new Set(rows.map(({ id }) => id));
  const unlisted = [...titles].flatMap(([path, ids]) =>
    [...ids].filter((id) => !listed.has(id)).map((id) => `${id} in ${path}`),
  );
  expect(unlisted).toEqual([]);
});

test('what is not yet held is not said to be', () => {
  const later = page.slice(page.indexOf('## Not yet')).match(/\b[a-z]{2}-\d{2}\b/g) ?? [];
  expect(later.length).toBeGreaterThan(0);
  const tested = new Set([...titles.values()].flatMap((ids) => [...ids]));
  expect(later.filter((id) => tested.has(id))).toEqual([]);
});
