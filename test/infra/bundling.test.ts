import { expect, test } from 'vitest';
import { BUNDLING, bundlingWith } from '../../infra/bundling.ts';

test('a user’s options win, but none of ours is lost by naming others', () => {
  const made = bundlingWith({ minify: false, esbuildArgs: { '--log-limit': '0' } }, undefined, {
    target: 'node22',
  });
  expect(made).toMatchObject({ minify: false, target: 'node22', format: BUNDLING.format });
  expect(made.esbuildArgs).toEqual({ ...BUNDLING.esbuildArgs, '--log-limit': '0' });
});

test('aliases are added to ours, and a later one for the same package comes last', () => {
  const made = bundlingWith(
    { esbuildArgs: { '--alias': 'a=./a.js' } },
    { esbuildArgs: { '--alias': ['b=./b.js', 'a=./other.js'] } },
  );
  expect(made.esbuildArgs?.['--alias']).toEqual([
    BUNDLING.esbuildArgs?.['--alias'],
    'a=./a.js',
    'b=./b.js',
    'a=./other.js',
  ]);
});
