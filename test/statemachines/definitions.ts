import {
  type AnySaga,
  type AnyTool,
  defineSagaFromSteps,
  EFFECT_CLASSES,
  type EffectClass,
  type StepDeclaration,
} from 'counterstep';
import fc from 'fast-check';
import { spec, stepOf, toolOf } from './samples.ts';

const BEFORE_THE_PIVOT: readonly EffectClass[] = [
  'read_only',
  'reversible',
  'reversible_with_cost',
  'compensable',
  'supersede',
  'human_decision',
];
const AFTER_THE_PIVOT: readonly EffectClass[] = [
  'read_only',
  'supersede',
  'human_decision',
  'irreversible',
];

const TOOLS = Object.fromEntries(
  EFFECT_CLASSES.map((effect) => [effect, toolOf(effect)]),
) as Record<EffectClass, AnyTool>;

const draft = fc.record({
  effect: fc.constantFrom(...BEFORE_THE_PIVOT),
  /** Any earlier steps, none, or (undefined) the step before. */
  after: fc.option(fc.array(fc.nat(30), { maxLength: 3 }), { nil: undefined, freq: 3 }),
  recoverAfter: fc.option(fc.array(fc.nat(30), { maxLength: 2 }), { nil: undefined, freq: 1 }),
  priority: fc.option(fc.integer({ min: -2, max: 2 }), { nil: undefined, freq: 1 }),
});

/**
 * Definitions that pass every check by construction: forward and recovery graphs of all shapes,
 * ten steps before the pivot at most (so no wave is too wide), then perhaps a pivot and a tail.
 */
export const anySaga: fc.Arbitrary<AnySaga> = fc
  .record({
    drafts: fc.array(draft, { minLength: 1, maxLength: 10, size: 'max' }),
    tail: fc.option(fc.array(fc.constantFrom(...AFTER_THE_PIVOT), { maxLength: 3 }), {
      nil: undefined,
    }),
    type: fc.constantFrom('STANDARD' as const, 'EXPRESS' as const),
  })
  .map(({ drafts, tail, type }) => {
    const steps: StepDeclaration[] = drafts.map(({ effect, after }, index) =>
      stepOf(
        `s${index}`,
        TOOLS[effect],
        after?.flatMap((each) => (index === 0 ? [] : [`s${each % index}`])),
      ),
    );
    if (tail !== undefined) {
      const all = steps.map((step) => step.name);
      steps.push(stepOf('pivot', TOOLS.irreversible, all));
      for (const [index, effect] of tail.entries()) steps.push(stepOf(`t${index}`, TOOLS[effect]));
    }
    const writing = steps.flatMap(({ name, tool }) => (tool.effect === 'read_only' ? [] : [name]));
    const after: Record<string, string[]> = {};
    const priority: Record<string, number> = {};
    for (const [index, { recoverAfter, priority: first }] of drafts.entries()) {
      const name = `s${index}`;
      if (!writing.includes(name)) continue;
      // Only later steps come before it, as by default, so that there is no cycle.
      const later = writing.slice(writing.indexOf(name) + 1);
      if (recoverAfter !== undefined) {
        after[name] = recoverAfter.flatMap((each) => later[each % later.length] ?? []);
      }
      if (first !== undefined) priority[name] = first;
    }
    return defineSagaFromSteps({ ...spec, type, recovery: { after, priority } }, steps);
  });
