import { execFileSync } from 'node:child_process';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PlaneClient } from '../../examples/demo/plane-client.ts';
import type { Addresses, LaunchPlane, RunningPlane } from '../../examples/demo/world.ts';
import { deployAgain } from '../../scripts/emulator/deploy.ts';
import { CACHE } from '../../scripts/emulator/python.ts';
import type { Issuer } from './issuer.ts';
import type { StandIn } from './setup.ts';

/** The tenant of all sagas that this suite starts on a deployed plane, where it needs but one. */
export const TENANT = 'e2e';

/** Whether the stand-in makes versions of state machines. */
export const VERSIONED = process.env.MACHINE_VERSIONS !== 'none';

/** What is due is found within two minutes. Many wait, and nobody is asked more often than a caller would. */
export const CALLER = { pollMs: 1_000, patienceMs: 240_000 } as const;

export interface Deployment {
  readonly standIn: StandIn;
  readonly issuer: Issuer;
  /** `STANDARD` or `EXPRESS`. */
  readonly sagaType: string;
  /** Each file has a stack of its own, so that they may run beside each other. Default: the app's. */
  readonly stack?: string;
}

/** Deploys the example app and answers a client of its API. */
export async function deploy(
  { standIn, issuer, sagaType, stack }: Deployment,
  addresses: Addresses,
): Promise<PlaneClient> {
  return deployStack({
    standIn,
    issuer,
    stack: stack ?? APP_STACK,
    context: {
      partnersUrl: addresses.PARTNERS_URL,
      sesUrl: addresses.AWS_ENDPOINT_URL_SESV2,
      sagaType,
    },
  });
}

export interface StackDeployment {
  readonly standIn: StandIn;
  readonly issuer: Issuer;
  readonly stack: string;
  /** Of the app, beside whose tokens are taken. */
  readonly context: Readonly<Record<string, string>>;
  /** Default: the example app. */
  readonly app?: string;
}

export type StackOutputs = Readonly<Record<string, string>>;

/** Deploys one stack with an API for people, and answers a client of it. */
export async function deployStack(deployment: StackDeployment): Promise<PlaneClient> {
  return clientOf(deployment, await outputsOf(deployment));
}

/** Deploys one stack, and answers its outputs. */
export async function outputsOf(deployment: StackDeployment): Promise<StackOutputs> {
  const { standIn, issuer, stack, app } = deployment;
  const log = join(CACHE, `e2e-deploy-${stack}.log`);
  writeFileSync(log, '');
  const { [stack]: outputs } = await deployAgain({
    endpoint: standIn.endpoint,
    stack,
    ...(app === undefined ? {} : { app }),
    context: {
      examples: 'refund,order',
      ...deployment.context,
      jwtIssuer: issuer.url,
      jwtAudience: issuer.audience,
      ...(VERSIONED ? {} : { 'counterstep:machineVersions': 'none' }),
    },
    say: (text) => appendFileSync(log, text),
  });
  return outputs ?? {};
}

/** A client of a deployed API for people. */
export async function clientOf(
  { standIn, issuer }: Pick<StackDeployment, 'standIn' | 'issuer'>,
  { PeopleUrl }: StackOutputs,
): Promise<PlaneClient> {
  const headers = await bearer(issuer, TENANT);
  return new PlaneClient(apiUrl(standIn.endpoint, PeopleUrl), { headers, ...CALLER });
}

/** What a person of that tenant, with every role, sends along. */
export async function bearer(issuer: Issuer, tenant: string): Promise<Record<string, string>> {
  return { authorization: `Bearer ${await issuer.token(tenant)}` };
}

/** A plane as deployed; what its tools run in can be killed where the stand-in is ours. */
export function deployedPlane(deployment: Deployment): LaunchPlane {
  return async (addresses) => {
    const plane: RunningPlane = {
      client: await deploy(deployment, addresses),
      killAndRestart: async (tool) => {
        killWorkers(deployment, tool);
        return plane;
      },
      stop: async () => {},
    };
    return plane;
  };
}

const APP_STACK = 'Counterstep';

/**
 * The address of an HTTP API on a stand-in. Its own names, `<id>.execute-api.localhost`, are not
 * resolved by every system; MiniStack and LocalStack take the id in the path too.
 */
function apiUrl(endpoint: string, output: string | undefined): string {
  const id = /^https?:\/\/([a-z0-9]+)\.execute-api\./.exec(output ?? '')?.[1];
  if (id === undefined) throw new Error(`the stack has no API that could be called: "${output}"`);
  return `${endpoint}/_aws/execute-api/${id}/$default`;
}

/** Ends, without warning, the processes that serve one tool's function (or all), mid-call or not. */
function killWorkers({ standIn, stack }: Deployment, tool: string | undefined): void {
  const { folder } = standIn;
  if (folder === undefined) throw new Error('only the functions of an emulator of ours are killed');
  const wanted = tool === undefined ? '' : `tool${tool.replaceAll('-', '')}function`;
  const workers = execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(`${folder}/ministack-lambda-${stack ?? APP_STACK}-`))
    .filter((line) => line.toLowerCase().includes(wanted));
  for (const line of workers) {
    process.kill(Number.parseInt(line, 10), 'SIGKILL');
  }
  if (workers.length === 0) throw new Error(`no function of tool "${tool}" was running`);
}
