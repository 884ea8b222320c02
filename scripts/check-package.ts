import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/**
 * Packs the package as it would be published, installs it into an empty project with its peers, and uses
 * every export and the command line there, from plain JavaScript and from the README's TypeScript.
 * Run it as `npm run check:package`.
 */
const root = resolve(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'counterstep-package-'));
const bin = join(folder, 'node_modules/.bin/counterstep');

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
const versions = { ...manifest.devDependencies, ...manifest.dependencies };

try {
  const tarball = pack();
  checkContents(tarball);
  install(tarball);
  useFromJavaScript();
  useCommandLine();
  useFromTypeScript();
  synthesize();
  say(`${manifest.name} ${manifest.version} installs and works`);
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function pack(): string {
  say('packing');
  run('npm', ['pack', '--silent', '--pack-destination', folder], root);
  return join(folder, `${manifest.name}-${manifest.version}.tgz`);
}

function checkContents(tarball: string): void {
  const files = run('tar', ['-tzf', tarball]).trim().split('\n');
  const stray = files.filter(
    (file) =>
      !/^package\/(?:dist|bin)\/.+\.js$|^package\/dist\/.+\.d\.ts$|^package\/docs\/|^package\/[^/]+$/.test(
        file,
      ),
  );
  demand(stray.length === 0, `the package holds what it should not: ${stray.join(', ')}`);
  const folders = ['statemachines', 'lambdas', 'local', 'infra', 'testing'];
  const missing = folders.filter((each) => !files.includes(`package/dist/${each}/index.js`));
  demand(missing.length === 0, `the package lacks ${missing.join(', ')}`);
  say(`${files.length} files, nothing stray`);
}

function install(tarball: string): void {
  say('installing into an empty project');
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  const peers = Object.keys(manifest.peerDependencies);
  const packages = [...peers, 'zod'].map((name) => `${name}@${versions[name] ?? 'latest'}`);
  run('npm', ['install', '--no-audit', '--no-fund', '--silent', tarball, ...packages]);
  cpSync(join(root, 'scripts/packed'), folder, { recursive: true });
}

function useFromJavaScript(): void {
  say('running a saga');
  run(process.execPath, ['run.js']);
}

function useCommandLine(): void {
  say('using the command line');
  demand(counterstep('--help').includes('Exit codes'), '--help tells no exit codes');
  demand(counterstep('--version').trim() === manifest.version, '--version tells another version');
  demand(counterstep('verify', 'bad.ndjson').includes('"valid"'), 'a good ledger does not verify');
  const ledger = readFileSync(join(folder, 'good.ndjson'), 'utf8');
  writeFileSync(join(folder, 'forged.ndjson'), ledger.replace('"completed', '"cOmpleted'));
  const forged = ended(bin, ['verify', 'forged.ndjson']);
  demand(forged.status === 1 && forged.stdout.includes('"invalid"'), 'a forged ledger verifies');
}

/** The README's first saga against the published types, and through the configuration in TypeScript. */
function useFromTypeScript(): void {
  say('compiling the first saga of the README');
  const readme = readFileSync(join(root, 'README.md'), 'utf8');
  for (const [, name = '', text = ''] of readme.matchAll(/^```ts (\S+)\n([\s\S]*?)^```$/gm)) {
    // The test of its failure matrix needs a test runner, which a user's project brings.
    if (!name.endsWith('.test.ts')) writeFileSync(join(folder, name), text);
  }
  const compilerOptions = {
    allowImportingTsExtensions: true,
    module: 'nodenext',
    noEmit: true,
    skipLibCheck: true,
    strict: true,
    target: 'es2023',
    types: [],
  };
  const project = { compilerOptions, include: ['*.ts'] };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project));
  run(join(root, 'node_modules/.bin/tsc'), ['-p', '.']);
  const picture = counterstep('graph', 'trip', '--config', 'counterstep.config.ts');
  demand(picture.startsWith('flowchart'), 'the configuration in TypeScript cannot be read');
}

function synthesize(): void {
  say('synthesizing a stack');
  run(process.execPath, ['synth.js']);
}

function counterstep(...args: string[]): string {
  return run(bin, args);
}

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function ended(file: string, args: readonly string[], cwd = folder): Ended {
  return spawnSync(file, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

function run(file: string, args: readonly string[], cwd = folder): string {
  const { status, stdout, stderr } = ended(file, args, cwd);
  demand(status === 0, `${file} ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}

function demand(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(otherwise);
}

function say(line: string): void {
  process.stdout.write(`package: ${line}\n`);
}
