import { expect } from 'vitest';
import type { LedgerEvent } from '../../examples/demo/plane-client.ts';
import { SCENARIOS } from '../../examples/demo/scenarios.ts';
import type { Place } from './worlds.ts';

/**
 * Plays one scenario of the demonstration; every claim of it must hold, its chain verify, and its
 * machine be of the place's type. Answers the saga's events.
 */
export async function play(
  { world, sagaType }: Pick<Place, 'world' | 'sagaType'>,
  name: string,
  orderId: string,
): Promise<readonly LedgerEvent[]> {
  const scenario = SCENARIOS.find((each) => each.name === name);
  if (scenario === undefined) throw new Error(`there is no scenario "${name}"`);
  const { id, checks } = await scenario.run(world, orderId);
  const { verdict } = await world.plane().verification(id);
  const failed = checks.filter(({ ok }) => !ok).map(({ claim }) => claim);
  const events = await world.plane().events(id);
  const story = events.map(({ seq, type, epoch, reason }) => `${seq} ${type} ${epoch} ${reason}`);
  const type = events[0]?.sagaType;
  expect({ failed, verdict, type }, story.join('\n')).toEqual({
    failed: [],
    verdict: 'valid',
    type: sagaType,
  });
  return events;
}

/** The promise: whatever is due is found within two minutes, by a sweep each minute. */
const FOUND_WITHIN_MS = 120_000;

/**
 * How long each drive that took over from one that parked or vanished was waited for, from when the saga
 * was due; below zero where it was found before.
 */
export function waits(events: readonly LedgerEvent[]): number[] {
  return events.flatMap((event, index) => {
    const dueAt = events[index - 1]?.dueAt;
    const found = event.type === 'drive_granted' && FOUND.includes(event.reason ?? '');
    return found && dueAt !== undefined ? [event.at - dueAt] : [];
  });
}

const FOUND: readonly string[] = ['due', 'restart'];

/** The saga stood still at least once, and was found within two minutes each time. */
export function expectFound(events: readonly LedgerEvent[]): void {
  const waited = waits(events);
  expect(waited).not.toEqual([]);
  for (const each of waited) expect(each).toBeLessThan(FOUND_WITHIN_MS);
}

/**
 * Whoever took it up again (the machine's own retry, a process that came back, the sweep) did so within two
 * minutes of when somebody had to.
 */
export function expectNeverLate(events: readonly LedgerEvent[]): void {
  const late = events.slice(1).map((event, index) => event.at - (events[index]?.dueAt ?? event.at));
  expect(Math.max(...late)).toBeLessThan(FOUND_WITHIN_MS);
}
