import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CACHE } from './python.ts';

export interface StandInAddress {
  /** Where the stand-in for AWS listens. */
  readonly endpoint: string;
  /** Default: `endpoint`. One by a name must resolve below it too, as buckets have names of their own. */
  readonly s3Endpoint?: string;
  /** Told of everything the CDK says. */
  readonly say: (text: string) => void;
}

export interface LocalDeployment extends StandInAddress {
  /** Name of the app's stack. Several may stand side by side. Default: the app's own. */
  readonly stack?: string;
  /** Of the CDK app: where the partners are, whose tokens are taken, and so on. */
  readonly context: Readonly<Record<string, string>>;
  /** Default: the one in `cdk.json`. */
  readonly app?: string;
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
  await bootstrapLocally(deployment);
  return deployAgain(deployment);
}

/** What every stack of the CDK needs first, once for a stand-in. @throws as {@link deployLocally} */
export async function bootstrapLocally(to: StandInAddress): Promise<void> {
  await cdk(to, ['bootstrap', ENVIRONMENT]);
}

/** Deploys to a stand-in that was bootstrapped before. @throws as {@link deployLocally} */
export async function deployAgain(deployment: LocalDeployment): Promise<Outputs> {
  const { stack, app } = deployment;
  const context = {
    // The names that APIs get there are not resolved by every system.
    httpApiAddress: `${deployment.endpoint}/_aws/execute-api/{id}/$default`,
    ...deployment.context,
    ...(stack === undefined ? {} : { stackName: stack }),
  };
  mkdirSync(CACHE, { recursive: true });
  // Each stack's own, and apart from what `cdk synth` writes: deployments may run beside each other.
  const outputs = join(CACHE, `outputs-${stack ?? 'default'}.json`);
  await cdk(deployment, [
    ...['deploy', '--all', '--require-approval', 'never', '--outputs-file', outputs],
    ...['--output', join(CACHE, `cdk.out-${stack ?? 'default'}`)],
    ...(app === undefined ? [] : ['--app', app]),
    ...Object.entries(context).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]);
  return JSON.parse(readFileSync(outputs, 'utf8')) as Outputs;
}

async function cdk(
  { endpoint, s3Endpoint, say }: StandInAddress,
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
