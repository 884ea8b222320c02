import { afterAll, beforeAll, describe, test } from 'vitest';
import type { World } from '../../examples/demo/world.ts';
import { play } from './scenario.ts';
import { target } from './target.ts';
import { openDeployedWorld, openStandingWorld, orderId } from './worlds.ts';

/** The demonstration's scenarios, wherever the plane runs: the same sagas, calls and claims. */
const deploys = target.kind === 'emulator' || target.kind === 'endpoint';
let world: World;
let close: () => Promise<void>;

beforeAll(async () => {
  if (!deploys) {
    world = await openStandingWorld();
    close = () => world.close();
    return;
  }
  const deployed = await openDeployedWorld('STANDARD');
  world = deployed.world;
  close = async () => {
    await world.close();
    await deployed.issuer.close();
  };
});
afterAll(() => close());

describe('sagas that need no clock', () => {
  test.each(['a', 'b', 'c', 'd'])('scenario (%s)', async (name) => {
    await play(world, name, orderId(name));
  });
});

describe('sagas that the sweep finds', () => {
  test.concurrent('scenario (f): the payment is pending', async () => {
    await play(world, 'f', orderId('f'));
  });
});
