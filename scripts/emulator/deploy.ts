import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CACHE } from './python.ts';

export interface LocalDeployment {
  /** Where the stand-in for AWS listens. */
  readonly endpoint: string;
  /** Default: `endpoint`. One by a name must resolve below it too, as buckets have names of their own. */
  readonly s3Endpoint?: string;
  /** Of the CDK app: where the partners are, whose tokens are taken, and so on. */
  readonly context: Readonly<Record<string, string>>;
  /** Default: the one in `cdk.json`. */
  readonly app?: string;
  /** Told of everything the CDK says. */
  readonly say: (text: string) => void;
}

/** Outputs of each stack, by name. */
export type Outputs = Readonly<Record<string, Readonly<Record<string, string>>>>;

const ROOT = resolve(import.meta.dirname, '../..');
const CDKLOCAL = join(ROOT, 'node_modules/aws-cdk-local/bin/cdklocal');

/** What emulators answer for; nothing here is a real account. */
const ENVIRONMENT = 'aws://000000000000/us-east-1';

/**
 * Bootstraps and deploys the example app to a stand-in for AWS.
 * @throws Error with the end of what the CDK said, where it fails
 */
export async function deployLocally(deployment: LocalDeployment): Promise<Outputs> {
  mkdirSync(CACHE, { recursive: true });
  const outputs = join(CACHE, 'outputs.json');
  await cdk(deployment, ['bootstrap', ENVIRONMENT]);
  await cdk(deployment, [
    ...['deploy', '--all', '--require-approval', 'never', '--outputs-file', outputs],
    // Apart from what `cdk synth` writes, which may run beside this.
    ...['--output', join(CACHE, 'cdk.out')],
    ...(deployment.app === undefined ? [] : ['--app', deployment.app]),
    ...Object.entries(deployment.context).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]);
  return JSON.parse(readFileSync(outputs, 'utf8')) as Outputs;
}

async function cdk(
  { endpoint, s3Endpoint, say }: LocalDeployment,
  args: readonly string[],
): Promise<void> {
  const child = spawn(process.execPath, [CDKLOCAL, ...args, '--no-notices', '--ci'], {
    cwd: ROOT,
    env: {
      ...process.env,
      AWS_ENDPOINT_URL: endpoint,
      AWS_ENDPOINT_URL_S3: s3Endpoint ?? endpoint,
      // The oldest Node supported is older than the SDK likes; the versions we use run on it.
      NODE_NO_WARNINGS: '1',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-8_000);
      say(text);
    });
  }
  const code = await new Promise<number | null>((ended, failed) => {
    child.once('error', failed);
    child.once('close', ended);
  });
  if (code !== 0) {
    throw new Error(
      `\`cdklocal ${args[0]}\` to ${endpoint} failed:\n${said.trim().split('\n').slice(-15).join('\n')}`,
    );
  }
}
