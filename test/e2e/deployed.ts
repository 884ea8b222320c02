import { execFileSync } from 'node:child_process';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PlaneClient } from '../../examples/demo/plane-client.ts';
import type { Addresses, LaunchPlane, RunningPlane } from '../../examples/demo/world.ts';
import { deployLocally } from '../../scripts/emulator/deploy.ts';
import { CACHE } from '../../scripts/emulator/python.ts';
import type { Issuer } from './issuer.ts';
import type { StandIn } from './setup.ts';

/** The tenant of all sagas that this suite starts on a deployed plane. */
export const TENANT = 'e2e';

/** Whether the stand-in makes versions of state machines. */
export const VERSIONED = process.env.MACHINE_VERSIONS !== 'none';

/** What is due is found within two minutes. Nobody is asked more often than a caller would. */
export const CALLER = { pollMs: 250, patienceMs: 200_000 } as const;

export interface Deployment {
  readonly standIn: StandIn;
  readonly issuer: Issuer;
  /** `STANDARD` or `EXPRESS`. */
  readonly sagaType: string;
}

/** Deploys the example app and answers a client of its API. */
export async function deploy(
  { standIn, issuer, sagaType }: Deployment,
  addresses: Addresses,
): Promise<PlaneClient> {
  const log = join(CACHE, 'e2e-deploy.log');
  writeFileSync(log, '');
  const { Counterstep: outputs } = await deployLocally({
    endpoint: standIn.endpoint,
    context: {
      partnersUrl: addresses.PARTNERS_URL,
      smtpUrl: addresses.SMTP_URL,
      jwtIssuer: issuer.url,
      jwtAudience: issuer.audience,
      sagaType,
      ...(VERSIONED ? {} : { 'counterstep:machineVersions': 'none' }),
    },
    say: (text) => appendFileSync(log, text),
  });
  const headers = { authorization: `Bearer ${await issuer.token(TENANT)}` };
  return new PlaneClient(apiUrl(standIn.endpoint, outputs?.PeopleUrl), { headers, ...CALLER });
}

/** A plane as deployed; what its tools run in can be killed where the stand-in is ours. */
export function deployedPlane(deployment: Deployment): LaunchPlane {
  return async (addresses) => {
    const plane: RunningPlane = {
      client: await deploy(deployment, addresses),
      killAndRestart: async (tool) => {
        killWorkers(deployment.standIn, tool);
        return plane;
      },
      stop: async () => {},
    };
    return plane;
  };
}

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
function killWorkers({ folder }: StandIn, tool: string | undefined): void {
  if (folder === undefined) throw new Error('only the functions of an emulator of ours are killed');
  const wanted = tool === undefined ? '' : `tool${tool.replaceAll('-', '')}function`;
  const workers = execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(`${folder}/`) && line.includes('ministack-lambda-'))
    .filter((line) => line.toLowerCase().includes(wanted));
  for (const line of workers) {
    process.kill(Number.parseInt(line, 10), 'SIGKILL');
  }
  if (workers.length === 0) throw new Error(`no function of tool "${tool}" was running`);
}
