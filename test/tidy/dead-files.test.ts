import { posix } from 'node:path';
import { expect, test } from 'vitest';
import { allFiles, beside, isSource, type SourceFile, sourceFile, textOf } from './source.ts';

/** Copied as a whole into the project that tries the packed package. */
const PACKED = /^scripts\/packed\//;

const files = new Set(allFiles());
const sources = new Map([...files].filter(isSource).map((path) => [path, sourceFile(path)]));

/** Where somebody outside begins: what the package exports, scripts, tests, and tools' own files. */
function roots(): string[] {
  const manifest = JSON.parse(textOf('package.json')) as {
    readonly bin: Record<string, string>;
    readonly exports: Record<string, string | Record<string, string>>;
    readonly scripts: Record<string, string>;
  };
  const cdk = JSON.parse(textOf('cdk.json')) as { readonly app: string };
  const exported = Object.values(manifest.exports).flatMap((target) =>
    typeof target === 'string' ? [] : [target['counterstep-source'] ?? ''],
  );
  const commands = [...Object.values(manifest.scripts), cdk.app];
  if (files.has('.ci/run')) commands.push(textOf('.ci/run'));
  // Folders that are compiled as a whole, as a test of their own.
  const compiled = [...files]
    .filter((path) => path.startsWith('test/') && path.endsWith('/tsconfig.json'))
    .map((path) => path.replace('tsconfig.json', ''));
  return [
    ...exported,
    ...[...files].filter((path) => compiled.some((folder) => path.startsWith(folder))),
    ...Object.values(manifest.bin),
    ...commands.flatMap((command) => command.split(/[\s"'();]+/)),
    ...[...files].filter((path) => /^test\/.*\.test\.ts$|^[^/]+\.config\.ts$/.test(path)),
  ].map((path) => posix.normalize(path));
}

/** Files that this one imports, runs or reads by name. */
function namedIn({ path, pieces }: SourceFile): string[] {
  return pieces
    .filter(({ kind }) => kind === 'string')
    .flatMap(({ text }) => [
      beside(path, text),
      posix.normalize(text),
      // Without its ending, where source and build differ in it.
      ...['.ts', '.js'].map((ending) => `${posix.normalize(text)}${ending}`),
    ])
    .filter((named) => files.has(named));
}

function reached(from: readonly string[]): Set<string> {
  const seen = new Set<string>();
  const open = [...from];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    const source = sources.get(path);
    if (source !== undefined) open.push(...namedIn(source));
  }
  return seen;
}

/** Named by a pattern that the app fills in, one for each tool. */
const ENTRIES = /^examples\/\w+\/lambdas\/[\w-]+\.lambda\.ts$/;

/** A user's own configuration, found by its name in the folder where a command runs. */
const FOUND_BY_NAME = /(?:^|\/)counterstep\.config\.ts$/;

test('no source file is dead', () => {
  const entries = [...files].filter((path) =>
    [ENTRIES, FOUND_BY_NAME, PACKED].some((kind) => kind.test(path)),
  );
  const alive = reached([...roots(), ...entries]);
  expect([...sources.keys()].filter((path) => !alive.has(path))).toEqual([]);
});

test('each tool of an example has its entry point, and no other has one', () => {
  const app = textOf('infra/app.ts');
  const entries = [...files].filter((path) => ENTRIES.test(path));
  expect(entries.length).toBeGreaterThan(0);
  const camel = (path: string): string =>
    posix
      .basename(path, '.lambda.ts')
      .replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  expect(entries.filter((path) => !app.includes(camel(path)))).toEqual([]);
});
