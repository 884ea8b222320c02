import { afterAll, describe, expect, it } from 'vitest';
import { type Swept, sweep, tableOf } from './sweep.ts';
import type { Scenario } from './world.ts';

/** Every fault of every scenario, and a table of where the runs ended. */
export function describeSweep(title: string, scenarios: readonly Scenario[]): void {
  describe(title, () => {
    const all: Swept[] = [];
    afterAll(() => console.info(`${title}\n${tableOf(all)}`));

    it.each(scenarios.map((each) => [each.name, each] as const))(
      '%s',
      async (_name, scenario) => {
        const swept = await sweep(scenario);
        all.push(swept);
        expect(swept.undisturbed).toMatchObject({ end: scenario.ends, findings: [] });
        expect(swept.broken).toEqual([]);
        // A fault may leave a question for a person, or overtake a cancel; it never turns a success into an undo.
        const allowed: string[] = [scenario.ends, 'needs_review', ...(scenario.mayEnd ?? [])];
        if (scenario.meanwhile !== undefined) allowed.push('completed', 'compensated');
        for (const end of swept.ends.keys()) expect(allowed).toContain(end.split(' ')[0]);
      },
      120_000,
    );
  });
}
