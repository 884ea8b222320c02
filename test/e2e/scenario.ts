import { expect } from 'vitest';
import { SCENARIOS } from '../../examples/demo/scenarios.ts';
import type { World } from '../../examples/demo/world.ts';

/** Plays one scenario of the demonstration; every claim of it must hold, and its chain verify. */
export async function play(world: World, name: string, orderId: string): Promise<string> {
  const scenario = SCENARIOS.find((each) => each.name === name);
  if (scenario === undefined) throw new Error(`there is no scenario "${name}"`);
  const { id, checks } = await scenario.run(world, orderId);
  const { verdict } = await world.plane().verification(id);
  const failed = checks.filter(({ ok }) => !ok).map(({ claim }) => claim);
  const events = await world.plane().events(id);
  const story = events.map(({ seq, type, epoch, reason }) => `${seq} ${type} ${epoch} ${reason}`);
  expect({ failed, verdict }, story.join('\n')).toEqual({ failed: [], verdict: 'valid' });
  return id;
}

/** An input for the refund. */
export function refundOfOrder(orderId: string) {
  return {
    orderId,
    email: `${orderId}@customers.example`,
    sku: 'SKU-7',
    quantity: 1,
    amountMinor: 4_900,
    currency: 'EUR',
    reason: 'Arrived broken',
  };
}
