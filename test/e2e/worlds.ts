import { inject } from 'vitest';
import { PlaneClient } from '../../examples/demo/plane-client.ts';
import { openWorld, type RunningPlane, type World } from '../../examples/demo/world.ts';
import { CALLER, deployedPlane } from './deployed.ts';
import { type Issuer, startIssuer } from './issuer.ts';
import type { StandIn } from './setup.ts';
import { target } from './target.ts';

/** Every run has orders of its own: where it runs may remember those before. */
const RUN = Date.now().toString(36);

export function orderId(name: string): string {
  return `e2e-${name}-${RUN}`;
}

/** Functions that start as processes of their own, and answers over HTTP. */
const PACE = 4;

/** What tests of a deployed plane need beside its world. */
export interface DeployedWorld {
  readonly world: World;
  readonly issuer: Issuer;
  readonly standIn: StandIn;
}

/** Deploys the plane to the stand-in of this run, with outside systems of its own. */
export async function openDeployedWorld(sagaType: string): Promise<DeployedWorld> {
  const standIn = inject('standIn');
  if (standIn === undefined) throw new Error('this run has no stand-in for AWS');
  const issuer = await startIssuer();
  try {
    const launch = deployedPlane({ standIn, issuer, sagaType });
    return { standIn, issuer, world: await openWorld({ launch, pace: PACE }) };
  } catch (error) {
    await issuer.close();
    throw error;
  }
}

/** The world of a target that nothing is deployed to by this suite. */
export async function openStandingWorld(): Promise<World> {
  if (target.kind !== 'account') return openWorld();
  const { url, token, ports } = target;
  const plane: RunningPlane = {
    client: new PlaneClient(url, { headers: { authorization: `Bearer ${token}` }, ...CALLER }),
    killAndRestart: async () => {
      throw new Error('nobody can kill a Lambda of an account from outside');
    },
    stop: async () => {},
  };
  return openWorld({ launch: async () => plane, ports, pace: PACE });
}
