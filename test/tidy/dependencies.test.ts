import { expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { allFiles, importsOf, isSource, packageOf, sourceFile, textOf } from './source.ts';

/** Names in the table under each heading of the list. */
function listed(heading: string): string[] {
  const section = textOf('docs/dependencies.md').split(/^## /m);
  const rows = section.find((part) => part.startsWith(`${heading}\n`)) ?? '';
  return [...rows.matchAll(/^\| `([^`]+)` +\| +\S+/gm)].map(([, name = '']) => name);
}

function importedIn(folders: RegExp): Set<string> {
  return new Set(
    allFiles()
      .filter((path) => isSource(path) && folders.test(path))
      .flatMap((path) => importsOf(sourceFile(path)))
      .map(({ specifier }) => packageOf(specifier)),
  );
}

/** Loaded by name at run time, since they are CommonJS without a usable module. */
const REQUIRED = ['asl-validator'];

test('every dependency says what it earns, and nothing else is listed', () => {
  expect(listed('In the package')).toEqual(Object.keys(manifest.dependencies).sort());
  expect(listed('For working on it')).toEqual(Object.keys(manifest.devDependencies).sort());
});

test('every dependency is used by what ships', () => {
  const used = importedIn(/^(?:statemachines|lambdas|local)\//);
  const unused = Object.keys(manifest.dependencies).filter(
    (name) => !used.has(name) && !REQUIRED.includes(name),
  );
  expect(unused).toEqual([]);
});

test('what is only for development is not used by what ships, but as a declared peer', () => {
  const peers = Object.keys(manifest.peerDependencies);
  const used = importedIn(/^(?:statemachines|lambdas|local|infra)\//);
  const wrong = Object.keys(manifest.devDependencies).filter(
    (name) => used.has(name) && !peers.includes(name),
  );
  expect(wrong).toEqual([]);
});

test('versions are exact', () => {
  const all = { ...manifest.dependencies, ...manifest.devDependencies };
  expect(Object.values(all).filter((version) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
});
