import { setTimeout as sleep } from 'node:timers/promises';
import type { SystemName } from '../partners/records.ts';
import type { World } from './world.ts';

/** What a scenario claims, and whether it was so. */
export interface Check {
  readonly claim: string;
  readonly ok: boolean;
}

export function check(claim: string, ok: boolean): Check {
  return { claim, ok };
}

/** Counts at the partner itself, from its own records. */
export async function counted(
  world: World,
  system: SystemName,
  operation: string,
  orderId: string,
): Promise<{ readonly calls: number; readonly effects: number }> {
  const records = await world.records(system, orderId);
  const rows = records.counts.filter((count) => count.operation === operation);
  return {
    calls: rows.reduce((sum, row) => sum + row.calls, 0),
    effects: rows.reduce((sum, row) => sum + row.effects, 0),
  };
}

/** Effects that still stand at the partner. */
export async function standing(world: World, system: SystemName, orderId: string): Promise<number> {
  const { effects } = await world.records(system, orderId);
  return effects.filter((effect) => effect.reverses === null && effect.state === 'standing').length;
}

export function messagesTo(world: World, address: string): number {
  return world.mail.messages().filter((message) => message.to.includes(address)).length;
}

/** @throws Error where it never becomes true */
export async function eventually(
  what: string,
  { pace }: Pick<World, 'pace'>,
  holds: () => Promise<boolean>,
): Promise<void> {
  const giveUpAt = Date.now() + 10_000 * pace;
  while (!(await holds())) {
    if (Date.now() > giveUpAt) throw new Error(`never seen: ${what}`);
    await sleep(20);
  }
}
