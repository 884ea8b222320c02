import { inject } from 'vitest';
import { PlaneClient, type PlaneClientOptions } from '../../examples/demo/plane-client.ts';
import {
  type LaunchPlane,
  localPlane,
  openWorld,
  type RunningPlane,
  type World,
} from '../../examples/demo/world.ts';
import { Tokens } from '../../local/tokens.ts';
import { ROLES } from '../../statemachines/access.ts';
import type { SagaType } from '../../statemachines/language/effects.ts';
import { bearer, CALLER, deployedPlane, TENANT } from './deployed.ts';
import { type Issuer, startIssuer } from './issuer.ts';
import type { StandIn } from './setup.ts';
import { deploys, type Target, target } from './target.ts';

/** Every run has orders of its own: where it runs may remember those before. */
const RUN = Date.now().toString(36);

export function orderId(name: string): string {
  return `e2e-${name}-${RUN}`;
}

/** Functions that start as processes of their own, and answers over HTTP. */
const PACE = 6;

export type Headers = Readonly<Record<string, string>>;

/** The example sagas on machines of one type, wherever the suite runs. */
export interface Place {
  readonly sagaType: SagaType;
  /** Its plane's client is a person of {@link TENANT} with every role. */
  readonly world: World;
  /** How often others than the world's own client ask, and how long. */
  readonly caller: Pick<PlaneClientOptions, 'pollMs' | 'patienceMs'>;
  /** What two people with every role send along, each of another tenant. */
  readonly strangers?: readonly [Headers, Headers];
  /** Where the plane was deployed by this suite: what is beside it. */
  readonly aws?: AwsSide;
  close(): Promise<void>;
}

/** AWS's own APIs at a stand-in, and which stack there is meant. */
export interface AwsSide {
  readonly endpoint: string;
  readonly stack: string;
}

export function openPlace(sagaType: SagaType): Promise<Place> {
  if (deploys) return openDeployedPlace(sagaType);
  return target.kind === 'account' ? openAccount(target) : openLocalPlace(sagaType);
}

/** Two who share a plane and must never notice. */
const STRANGERS = ['e2e-ada', 'e2e-other'] as const;

const STACKS: Readonly<Record<SagaType, string>> = {
  STANDARD: 'E2eStandard',
  EXPRESS: 'E2eExpress',
};

async function openDeployedPlace(sagaType: SagaType): Promise<Place> {
  const stack = STACKS[sagaType];
  const { world, issuer, standIn } = await openDeployedWorld(sagaType, stack);
  return {
    sagaType,
    world,
    caller: CALLER,
    strangers: [await bearer(issuer, STRANGERS[0]), await bearer(issuer, STRANGERS[1])],
    aws: { endpoint: standIn.endpoint, stack },
    close: async () => {
      await world.close();
      await issuer.close();
    },
  };
}

/** What tests of a deployed plane need beside its world. */
export interface DeployedWorld {
  readonly world: World;
  readonly issuer: Issuer;
  readonly standIn: StandIn;
}

/** Deploys the plane to the stand-in of this run, with outside systems of its own. */
export async function openDeployedWorld(sagaType: string, stack?: string): Promise<DeployedWorld> {
  const standIn = standInOfRun();
  const issuer = await startIssuer();
  try {
    const named = stack === undefined ? {} : { stack };
    const launch = deployedPlane({ standIn, issuer, sagaType, ...named });
    return { standIn, issuer, world: await openWorld({ launch, pace: PACE }) };
  } catch (error) {
    await issuer.close();
    throw error;
  }
}

export function standInOfRun(): StandIn {
  const standIn = inject('standIn');
  if (standIn === undefined) throw new Error('this run has no stand-in for AWS');
  return standIn;
}

/** The local plane, asking for tokens as a deployed one does. */
async function openLocalPlace(sagaType: SagaType): Promise<Place> {
  let dataDir = '';
  const launch: LaunchPlane = (addresses, folder) => {
    dataDir = folder;
    return localPlane(addresses, folder, {
      sagaType,
      credentials: (of) => localBearer(of, TENANT),
    });
  };
  const world = await openWorld({ launch });
  return {
    sagaType,
    world,
    caller: {},
    strangers: [await localBearer(dataDir, STRANGERS[0]), await localBearer(dataDir, STRANGERS[1])],
    close: () => world.close(),
  };
}

async function localBearer(dataDir: string, tenant: string): Promise<Headers> {
  const token = await Tokens.open(dataDir).issue({ tenant, roles: ROLES, id: 'tester' });
  return { authorization: `Bearer ${token}` };
}

/** A plane that others deployed. */
async function openAccount(account: Extract<Target, { kind: 'account' }>): Promise<Place> {
  const { url, token, otherToken, ports, sagaType } = account;
  const headers = { authorization: `Bearer ${token}` };
  const plane: RunningPlane = {
    client: new PlaneClient(url, { headers, ...CALLER }),
    killAndRestart: async () => {
      throw new Error('nobody can kill a Lambda of an account from outside');
    },
    stop: async () => {},
  };
  const world = await openWorld({ launch: async () => plane, ports, pace: PACE });
  return {
    sagaType,
    world,
    caller: CALLER,
    ...(otherToken === undefined
      ? {}
      : { strangers: [headers, { authorization: `Bearer ${otherToken}` }] }),
    close: () => world.close(),
  };
}
