import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { pythonWith } from './emulator/python.ts';

/**
 * `npm run cfn-lint`: synthesises the example app without bundling, in every context below, and runs
 * cfn-lint over every template. Fails on any finding but those accepted below, and where an accepted one is no longer
 * found.
 */
interface Finding {
  readonly Filename: string;
  readonly Rule: { readonly Id: string };
  readonly Message: string;
  readonly Location: { readonly Path: readonly (string | number)[] | null };
}

interface Accepted {
  readonly rule: string;
  readonly message: RegExp;
  readonly why: string;
}

const ACCEPTED: readonly Accepted[] = [
  {
    rule: 'W3005',
    message: /Role\w*' dependency already enforced/,
    why: 'the CDK writes the dependency of a function on its role twice; the second changes nothing',
  },
  {
    rule: 'E3601',
    message: /'OutputPath' was unexpected\) at 'States\/(?:Parked|Completed)\/OutputPath'/,
    why: 'a Succeed state has OutputPath in the Amazon States Language and in the CDK; the schema of cfn-lint lacks it',
  },
];

/** By name of the folder it is synthesised to. */
const CONTEXTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  default: {},
  'express-jwt': {
    sagaType: 'EXPRESS',
    jwtIssuer: 'https://issuer.example',
    jwtAudience: 'people',
  },
};

interface CdkConfig {
  readonly app: string;
  readonly context: Readonly<Record<string, unknown>>;
}

const out = mkdtempSync(join(tmpdir(), 'counterstep-lint-'));
process.once('exit', () => rmSync(out, { recursive: true, force: true }));

for (const [name, given] of Object.entries(CONTEXTS)) {
  say(`synthesising ${name}`);
  synthesize(join(out, name), given);
}
const templates = readdirSync(out, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.template.json'))
  .map((path) => join(out, path));
const lint = join(dirname(pythonWith('scripts/requirements.txt', say)), 'cfn-lint');
const { stdout, stderr, error } = spawnSync(lint, ['--format', 'json', ...templates], {
  encoding: 'utf8',
  maxBuffer: 64 * 1024 * 1024,
});
if (error !== undefined) throw error;
let found: readonly Finding[];
try {
  found = JSON.parse(stdout) as readonly Finding[];
} catch {
  throw new Error(`cfn-lint answered nothing that can be read: ${stdout}${stderr}`);
}
const refused = found.filter((finding) => !ACCEPTED.some((each) => fits(each, finding)));
const stale = ACCEPTED.filter((each) => !found.some((finding) => fits(each, finding)));
for (const { Filename, Rule, Message, Location } of refused) {
  const place = Location.Path?.join('/') ?? 'the template';
  say(`${relative(out, Filename)}: ${Rule.Id} at ${place}: ${Message}`);
}
for (const { rule, why } of stale) {
  say(
    `${rule} is no longer found: take it out of the list in scripts/cfn-lint.ts (it said: ${why})`,
  );
}
say(
  `${templates.length} template(s): ${refused.length} finding(s), ${found.length - refused.length} accepted`,
);
if (templates.length < Object.keys(CONTEXTS).length || refused.length + stale.length > 0)
  process.exitCode = 1;

/** As `cdk synth` does by `cdk.json`, without bundling: no template says what is in a bundle. */
function synthesize(folder: string, given: Readonly<Record<string, string>>): void {
  const { app, context } = JSON.parse(readFileSync('cdk.json', 'utf8')) as CdkConfig;
  const [, ...args] = app.split(' ');
  const env = {
    ...process.env,
    CDK_OUTDIR: folder,
    CDK_CONTEXT_JSON: JSON.stringify({ ...context, ...given, 'aws:cdk:bundling-stacks': [] }),
  };
  execFileSync(process.execPath, args, { env, stdio: 'inherit' });
}

function fits({ rule, message }: Accepted, finding: Finding): boolean {
  return finding.Rule.Id === rule && message.test(finding.Message);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
