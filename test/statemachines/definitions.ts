import {
  type AnySaga,
  DefinitionError,
  defineSagaFromSteps,
  EFFECT_CLASSES,
  type EffectClass,
} from 'counterstep';
import fc from 'fast-check';
import { spec, stepOf, toolOf } from './samples.ts';

/** Random steps: any classes, any earlier predecessors, now and then the default one. */
const drafts = fc.array(
  fc.record({
    effect: fc.constantFrom<EffectClass>(...EFFECT_CLASSES),
    after: fc.option(fc.array(fc.nat(30), { maxLength: 4 }), { nil: undefined }),
    freed: fc.option(fc.array(fc.nat(30), { maxLength: 3 }), { nil: undefined }),
    priority: fc.option(fc.integer({ min: -2, max: 2 }), { nil: undefined }),
  }),
  { minLength: 1, maxLength: 14 },
);

/** Any definition that passes the checks, with forward and recovery graphs of all shapes. */
export const anySaga: fc.Arbitrary<AnySaga> = fc
  .tuple(drafts, fc.constantFrom('STANDARD' as const, 'EXPRESS' as const))
  .map(([steps, type]) => {
    const name = (index: number): string => `s${index}`;
    const declared = steps.map((draft, index) =>
      stepOf(
        name(index),
        toolOf(draft.effect),
        draft.after?.flatMap((each) => (index === 0 ? [] : [name(each % index)])),
      ),
    );
    const writing = steps.flatMap((draft, index) => (draft.effect === 'read_only' ? [] : [index]));
    const after: Record<string, string[]> = {};
    const priority: Record<string, number> = {};
    for (const index of writing) {
      const draft = steps[index];
      // Only later steps, so that most graphs have no cycle.
      const later = writing.filter((each) => each > index);
      if (draft?.freed !== undefined) {
        after[name(index)] = draft.freed
          .flatMap((each) => later[each % (later.length || 1)] ?? [])
          .map(name);
      }
      if (draft?.priority !== undefined) priority[name(index)] = draft.priority;
    }
    try {
      return defineSagaFromSteps({ ...spec, type, recovery: { after, priority } }, declared);
    } catch (error) {
      if (error instanceof DefinitionError) return undefined;
      throw error;
    }
  })
  .filter((saga) => saga !== undefined);
