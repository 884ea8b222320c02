import { describe, expect, test } from 'vitest';
import {
  allFiles,
  importsOf,
  isSource,
  lineAt,
  type SourceFile,
  sourceFile,
  textOf,
} from './source.ts';

const MAX_LINES = { source: 400, test: 500 };

/** What ships, or runs in the local plane: it speaks through results, logs and the CLI's output. */
const SHIPPED = /^(?:statemachines|lambdas|infra|local|testing|bin)\//;
const PURE = /^statemachines\//;

const PATTERNS = {
  // In two halves each, so that this line is none of them.
  leftover: /\b(?:TO(?:DO)|FIX(?:ME)|XX(?:X)|HA(?:CK))\b/g,
  ownMachine: /(?<![\w.:/*-])\/(?:home|root|Users|work|workspace|mnt)\/\w/g,
  ownRegistry: /https?:\/\/(?!registry\.npmjs\.org)[\w.-]*(?:registry|npm|pypi)[\w-]*\.[\w.-]+/g,
  any: /(?<![.\w])any\b(?!\s*\??[:(])/g,
  printing: /\bconsole\./g,
  impure: /\b(?:Date\.now|new Date\(\)|Math\.random|random\w+\(|setTimeout|process\.)/g,
  clockOrChance: /\b(?:Date\.now\(|new Date\(\)|Math\.random|randomBytes\()/g,
  only: /\b(?:describe|test|it)(?:\.\w+)*\.only\b/g,
  skipped: /\.(?:skip|skipIf|runIf|todo|fails)\(/g,
  timed: /expect\([^)]*(?:performance\.now|Date\.now|elapsed|tookMs)[^)]*\)/g,
};

const files = allFiles();
const sources = files.filter(isSource).map(sourceFile);

/** `path:line` of each place in the code, outside comments and strings, where the pattern matches. */
function inCode(pattern: RegExp, among: RegExp): string[] {
  return sources
    .filter(({ path }) => among.test(path))
    .flatMap(({ path, text, code }) => placesOf(path, text, code, pattern));
}

function placesOf(path: string, text: string, within: string, pattern: RegExp): string[] {
  return [...within.matchAll(pattern)].map(({ index }) => `${path}:${lineAt(text, index)}`);
}

/** `path:line` in any of our texts, code and documents alike. */
function inText(pattern: RegExp): string[] {
  return files
    .filter((path) => path !== 'LICENSE')
    .flatMap((path) => {
      const text = textOf(path);
      return placesOf(path, text, text, pattern);
    });
}

describe('every file', () => {
  test('can be read in one go', () => {
    const long = sources.flatMap(({ path, text }) => {
      const lines = text.split('\n').length - 1;
      const limit = path.startsWith('test/') ? MAX_LINES.test : MAX_LINES.source;
      return lines > limit ? [`${path}: ${lines} lines, at most ${limit}`] : [];
    });
    expect(long).toEqual([]);
  });

  test('leaves nothing for later', () => {
    expect(inText(PATTERNS.leftover)).toEqual([]);
  });

  test('knows no machine but the one it runs on', () => {
    expect(inText(PATTERNS.ownMachine)).toEqual([]);
    expect(inText(PATTERNS.ownRegistry)).toEqual([]);
  });

  test('is locked to versions and digests, not to where they were fetched', () => {
    const lock = textOf('package-lock.json');
    expect(lock).toContain('"integrity": "sha512-');
    expect(lock).not.toMatch(/"resolved": "https?:/);
  });
});

describe('code', () => {
  test('has no any', () => {
    expect(inCode(PATTERNS.any, /./)).toEqual([]);
  });

  test('that ships prints nothing on its own', () => {
    expect(inCode(PATTERNS.printing, SHIPPED)).toEqual([]);
  });

  test('that is pure asks neither clock, chance nor environment', () => {
    expect(inCode(PATTERNS.impure, PURE)).toEqual([]);
  });

  test('that ships takes time and chance from its ports', () => {
    const ports = ['lambdas/ports/clock.ts', 'lambdas/ports/entropy.ts'];
    const asked = inCode(
      /\b(?:Date\.now\(|new Date\(\)|Math\.random|randomBytes\()/g,
      /^lambdas\//,
    );
    expect(asked.filter((place) => !ports.some((port) => place.startsWith(port)))).toEqual([]);
  });

  test('writes the file ending of what it imports', () => {
    const bare = sources.flatMap((source) =>
      importsOf(source)
        .filter(({ specifier }) => /^\.{1,2}\//.test(specifier) && !/\.\w+$/.test(specifier))
        .map(({ specifier }) => `${source.path}: ${specifier}`),
    );
    expect(bare).toEqual([]);
  });
});

describe('tests', () => {
  const tests = /^test\//;

  test('run, all of them', () => {
    expect(inCode(PATTERNS.only, tests)).toEqual([]);
  });

  test('that are skipped say why', () => {
    const silent = sources
      .filter(({ path }) => tests.test(path))
      .flatMap((source) =>
        [...source.code.matchAll(PATTERNS.skipped)]
          .filter(({ index }) => !hasReason(source, index))
          .map(({ index }) => `${source.path}:${lineAt(source.text, index)}`),
      );
    expect(silent).toEqual([]);
  });

  test('are not decided by how fast the machine is', () => {
    expect(inCode(PATTERNS.timed, tests)).toEqual([]);
  });
});

test.each([
  ['leftover', ['TO', 'DO: later'].join('')],
  ['ownMachine', ['reads /ho', 'me/someone/file'].join('')],
  ['ownRegistry', ['https://npm', '.example.com/pkg'].join('')],
  ['any', 'const a = b as any;'],
  ['any', 'function f(a: any, b?: any[]) {}'],
  ['printing', 'console.log(a);'],
  ['impure', 'const now = Date.now();'],
  ['clockOrChance', 'const at = new Date();'],
  ['only', ['it.concurrent', 'only("x")'].join('.')],
  ['skipped', ['test', 'skip("x")'].join('.')],
  ['timed', ['expect(', 'Date.now() - began).toBeLessThan(5)'].join('')],
] as const)('control: the rule %s sees %s', (name, text) => {
  expect(text.match(PATTERNS[name])).not.toBeNull();
});

/** A comment or a printed sentence on the line itself or one of the two before it. */
function hasReason({ text, pieces }: SourceFile, at: number): boolean {
  const line = lineAt(text, at);
  return pieces.some((piece) => {
    const distance = line - lineAt(text, piece.at);
    return distance >= 0 && distance <= 2 && piece.text.trim().split(/\s+/).length >= 4;
  });
}
