import { expect, test } from 'vitest';
import { allFiles, type Import, importsOf, isSource, packageOf, sourceFile } from './source.ts';

interface Rule {
  /** Folders of ours it may import, with a reason where that is not plain. */
  readonly folders: readonly string[];
  /** Packages it may import; a `/` at the end takes the whole scope. `node:` parts are named too. */
  readonly packages: readonly string[];
}

/** Longest folder first: the first that holds a file is its rule. Test code is free. */
const RULES: Readonly<Record<string, Rule>> = {
  // Contracts and rules: pure, so that a bundle, a synth or a test can load them anywhere.
  'statemachines/': {
    folders: ['statemachines/'],
    packages: ['node:crypto', 'node:module', 'zod/v4/core', 'asl-validator'],
  },
  // The only two places that know the AWS SDK.
  'lambdas/aws/': {
    folders: ['lambdas/', 'statemachines/'],
    packages: ['@aws-sdk/', '@aws-lambda-powertools/', 'node:', 'zod/mini'],
  },
  'lambdas/stores/dynamodb/': {
    folders: ['lambdas/', 'statemachines/'],
    packages: ['@aws-sdk/', 'node:util'],
  },
  'lambdas/stores/embedded/': {
    folders: ['lambdas/', 'statemachines/'],
    packages: ['lmdb', 'node:'],
  },
  'lambdas/api/': {
    folders: ['lambdas/', 'statemachines/'],
    packages: ['hono', 'zod/mini', 'zod/v4/core', 'node:util'],
  },
  'lambdas/': {
    folders: ['lambdas/', 'statemachines/'],
    packages: ['zod/mini', 'zod/v4/core', 'node:crypto', 'node:util'],
  },
  // The app that deploys the examples, as a user would write it; the constructs know no saga.
  'infra/app.ts': { folders: ['infra/', 'examples/'], packages: ['aws-cdk-lib'] },
  'infra/': {
    folders: ['infra/', 'statemachines/'],
    packages: ['aws-cdk-lib', 'constructs', 'node:'],
  },
  'local/': {
    folders: ['local/', 'lambdas/', 'statemachines/'],
    packages: [
      '@hono/node-server',
      'aws-local-stepfunctions',
      'aws4fetch',
      'commander',
      'jose',
      'tsx',
      'node:',
    ],
  },
  // The prover runs everything the local plane is made of; the checker inside shares no code with it.
  'testing/checker/': { folders: ['testing/checker/'], packages: ['node:crypto'] },
  'testing/': {
    folders: ['testing/', 'local/', 'lambdas/', 'statemachines/'],
    packages: ['zod/v4/core'],
  },
  'bin/': { folders: [], packages: ['node:'] },
  // Written as users write: by the names the package exports.
  'examples/': {
    folders: ['examples/'],
    packages: [
      'counterstep',
      '@aws-sdk/client-dynamodb',
      '@hono/node-server',
      'aws4fetch',
      'hono',
      'lmdb',
      'nodemailer',
      'smtp-server',
    ].concat(['zod', 'node:']),
  },
  'bench/': {
    folders: ['bench/', 'scripts/', 'local/', 'lambdas/', 'statemachines/'],
    packages: [
      'counterstep',
      '@aws-sdk/client-dynamodb',
      'aws-local-stepfunctions',
      'lmdb',
      'zod/mini',
      'node:',
    ],
  },
  'scripts/simulate': {
    folders: ['scripts/', 'examples/'],
    packages: ['counterstep', 'zod/mini', 'node:'],
  },
  // Probes reach behind the prover's own doors, to do what nothing else does.
  'scripts/mutants': {
    folders: ['scripts/', 'testing/', 'lambdas/', 'examples/'],
    packages: ['counterstep', 'esbuild', 'zod/mini', 'node:'],
  },
  // In `packed/` the package is used as installed.
  'scripts/': {
    folders: ['scripts/', 'bench/', 'infra/'],
    packages: ['counterstep', 'aws-cdk-lib', 'esbuild', 'zod/mini', 'node:'],
  },
};

const FREE = /^test\/|^[^/]+\.config\.ts$/;

const sources = allFiles().filter(isSource).map(sourceFile);

function ruleOf(path: string): Rule | undefined {
  const folder = Object.keys(RULES)
    .sort((a, b) => b.length - a.length)
    .find((each) => path.startsWith(each));
  return folder === undefined ? undefined : RULES[folder];
}

function allowed(rule: Rule, { specifier, file }: Import): boolean {
  if (file !== undefined) return rule.folders.some((folder) => file.startsWith(folder));
  return rule.packages.some((each) =>
    /[:/]$/.test(each)
      ? specifier.startsWith(each)
      : specifier === each || packageOf(specifier) === each || specifier.startsWith(`${each}/`),
  );
}

test('every source file stands in a folder that has a rule', () => {
  const without = sources.filter(({ path }) => !FREE.test(path) && ruleOf(path) === undefined);
  expect(without.map(({ path }) => path)).toEqual([]);
});

test('imports point one way', () => {
  const wrong = sources.flatMap((source) => {
    const rule = FREE.test(source.path) ? undefined : ruleOf(source.path);
    if (rule === undefined) return [];
    return importsOf(source)
      .filter((each) => !allowed(rule, each))
      .map(({ specifier }) => `${source.path} imports ${specifier}`);
  });
  expect(wrong).toEqual([]);
});

test('entry points of Lambda functions are imported by nobody', () => {
  const importers = sources.flatMap((source) =>
    importsOf(source)
      .filter(({ specifier }) => specifier.includes('.lambda.'))
      .map(({ specifier }) => `${source.path} imports ${specifier}`),
  );
  expect(importers).toEqual([]);
});

test('a rule refuses what it does not name', () => {
  const pure = ruleOf('statemachines/rules/decide.ts');
  const api = ruleOf('lambdas/api/app.ts');
  const dynamo = ruleOf('lambdas/stores/dynamodb/ledger.ts');
  expect(pure && allowed(pure, { specifier: 'node:fs', file: undefined })).toBe(false);
  expect(pure && allowed(pure, { specifier: '../x.ts', file: 'lambdas/x.ts' })).toBe(false);
  const sdk = { specifier: '@aws-sdk/client-sfn', file: undefined };
  expect(api && allowed(api, sdk)).toBe(false);
  expect(dynamo && allowed(dynamo, sdk)).toBe(true);
});
