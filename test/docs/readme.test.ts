import { DEDUPE_KINDS, EFFECT_CLASSES, sagaGraph } from 'counterstep';
import { expect, test } from 'vitest';
import { refund } from '../../examples/refund/saga.ts';
import { EXIT } from '../../local/cli/exit-codes.ts';
import { buildProgram } from '../../local/cli/program.ts';
import manifest from '../../package.json' with { type: 'json' };
import { BLOCKS, firstColumn, README } from './readme.ts';

test('the picture is the one that the definition draws', () => {
  const pictures = BLOCKS.filter(({ language }) => language === 'mermaid');
  expect(pictures.map(({ text }) => text)).toEqual([sagaGraph(refund.plan)]);
});

test('the tables name every effect class, every dedupe kind and every exit code', () => {
  expect(firstColumn('`effect`')).toEqual(EFFECT_CLASSES);
  expect(firstColumn('`dedupe`')).toEqual(DEDUPE_KINDS);
  expect(firstColumn('exit code').map(Number)).toEqual(Object.values(EXIT));
});

test('every script and every command it names exists', () => {
  const scripts = [...README.matchAll(/npm (?:run )?(\w+)/g)].map(([, name = '']) => name);
  const built = ['ci', 'install', 'pack'];
  expect(scripts.filter((name) => !built.includes(name) && !(name in manifest.scripts))).toEqual(
    [],
  );

  const commands = [...README.matchAll(/npx counterstep (\w+)/g)].map(([, name = '']) => name);
  const known = buildProgram().commands.map((command) => command.name());
  expect(commands.length).toBeGreaterThan(5);
  expect(commands.filter((name) => !known.includes(name))).toEqual([]);
});

test('a fresh machine needs two commands', () => {
  const [first] = BLOCKS.filter(({ language }) => language === 'sh');
  const commands = first?.text
    .trim()
    .split('\n')
    .map((line) => line.replace(/\s+#.*$/, ''));
  expect(commands).toEqual(['npm ci && npm run demo', 'npm ci && npm test']);
});

test('every export of the package is named', () => {
  const names = Object.keys(manifest.exports)
    .filter((path) => path !== './package.json')
    .map((path) => `\`counterstep${path.slice(1)}\``);
  expect(names.filter((name) => !README.includes(name))).toEqual([]);
});
