import fc from 'fast-check';
import { expect, it } from 'vitest';
import { VirtualTime } from '../support/virtual-clock.ts';
import type { FaultMode } from '../support/virtual-plane.ts';
import type { PartnerFault } from './partners.ts';
import { answerAsAPerson } from './person.ts';
import { runWith, type Scenario } from './world.ts';

const MODES: readonly FaultMode[] = ['error', 'restart', 'hang'];
const PARTNER_FAULTS: readonly PartnerFault[] = [
  'throttle',
  'drop_before',
  'commit_then_drop',
  'commit_late',
  'hang',
];

/** A world with its own chance: partners that misbehave, stores and processes that fail, a cancel now and then. */
const worlds = fc.record({
  seed: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
  partnerFaults: fc.double({ min: 0, max: 0.5, noNaN: true }),
  storeFaults: fc.double({ min: 0, max: 0.08, noNaN: true }),
  most: fc.integer({ min: 0, max: 8 }),
  refuses: fc.boolean(),
  cancelAfterMs: fc.option(fc.integer({ min: 0, max: 10_000 }), { nil: undefined }),
});

it('whatever fails, the ledger tells the truth, and a person can bring every saga to its end', async () => {
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const chance = generator(world.seed);
      let left = world.most;
      const scenario: Scenario = {
        name: 'soak',
        ends: 'completed',
        toTheEnd: true,
        behaviour: (_operation, nth) => {
          if (world.refuses && nth === 1 && chance() < 0.2) return 'refuse';
          // Nobody is down for ever.
          if (nth > 5 || chance() >= world.partnerFaults) return undefined;
          return PARTNER_FAULTS[Math.floor(chance() * PARTNER_FAULTS.length)];
        },
        meanwhile: async (plane, id, partners) => {
          if (world.cancelAfterMs !== undefined) {
            await plane.time.world.sleep(world.cancelAfterMs);
            const command = { kind: 'cancel', reason: 'no longer wanted' } as const;
            await plane.insist((engine) => engine.ledger.write(id, command, { actor: 'ada' }));
          }
          await answerAsAPerson(plane, id, partners);
        },
      };
      const ran = await runWith(scenario, new VirtualTime(), () => {
        if (left === 0 || chance() >= world.storeFaults) return undefined;
        left -= 1;
        return MODES[Math.floor(chance() * MODES.length)];
      });
      expect(ran.findings, ran.events.join('\n')).toEqual([]);
      expect(['completed', 'compensated'], ran.events.join('\n')).toContain(ran.end);
    }),
    { numRuns: 1500 },
  );
}, 500_000);

/** Small and repeatable (mulberry32). */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
