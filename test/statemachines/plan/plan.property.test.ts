import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anySaga } from '../definitions.ts';

/** The index of the wave that holds the step. */
function waveOf(waves: readonly (readonly string[])[], name: string): number {
  return waves.findIndex((wave) => wave.includes(name));
}

test('waves hold every step once, after all its predecessors, and at most ten side by side', () => {
  fc.assert(
    fc.property(anySaga, ({ plan }) => {
      const names = plan.steps.map((step) => step.name);
      const writing = plan.steps.filter((step) => step.effect !== 'read_only');
      expect(plan.forwardWaves.flat().sort()).toEqual([...names].sort());
      expect(plan.recoveryWaves.flat().sort()).toEqual(writing.map((step) => step.name).sort());
      for (const wave of [...plan.forwardWaves, ...plan.recoveryWaves]) {
        expect(wave.length).toBeGreaterThan(0);
        expect(wave.length).toBeLessThanOrEqual(10);
      }
      for (const step of plan.steps) {
        for (const before of step.after) {
          expect(waveOf(plan.forwardWaves, before)).toBeLessThan(
            waveOf(plan.forwardWaves, step.name),
          );
        }
      }
      for (const step of writing) {
        for (const before of step.recoverAfter) {
          expect(waveOf(plan.recoveryWaves, before)).toBeLessThan(
            waveOf(plan.recoveryWaves, step.name),
          );
        }
      }
    }),
  );
});

test('no step that needs compensation stands beside or behind an irreversible one', () => {
  fc.assert(
    fc.property(anySaga, ({ plan, steps }) => {
      const ancestors = new Map(steps.map((step) => [step.name, step.ancestors]));
      const pivots = plan.steps.filter((step) => step.effect === 'irreversible');
      for (const step of plan.steps) {
        if (step.recovery?.action !== 'compensate') continue;
        for (const pivot of pivots) expect(ancestors.get(pivot.name)).toContain(step.name);
      }
    }),
  );
});
