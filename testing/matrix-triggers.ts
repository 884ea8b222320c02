import type { AnySaga, DefinedStep } from '../statemachines/language/saga.ts';
import { cancelAt } from './matrix-acts.ts';
import { mishapAt, type Part, undoCall } from './matrix-case.ts';
import type { Played } from './play.ts';

/** What makes a saga fail, so that steps of it are undone. */
export interface Trigger {
  readonly name: string;
  /** Comes once, from outside or in one answer: where it comes too late, or is lost, nothing fails. */
  readonly fleeting?: true;
  part(): Part;
}

/** A trigger, and what came of it where nothing else went wrong. */
export interface Triggered {
  readonly trigger: Trigger;
  /** Steps whose undo was called. */
  readonly undoes: ReadonlySet<string>;
  /** Whether it came to its end without a person. */
  readonly alone: boolean;
}

/** By how long the next invocation comes later, so that what is asked from outside comes before it. */
const HELD_UP_MS = 3_000;

function refusal(step: string): Trigger {
  return {
    name: `${step} is refused`,
    part: () => ({ trigger: mishapAt(step, 'forward', 'refused', true) }),
  };
}

function unusable(step: string, mishap: 'deviates' | 'broken'): Trigger {
  return {
    name: `${step} ${mishap}`,
    fleeting: true,
    part: () => ({ trigger: mishapAt(step, 'forward', mishap) }),
  };
}

/** It is asked back once the step is done, before the machine moves on; all of it, or up to a checkpoint. */
function cancelled(step: string, everything = false): Trigger {
  return {
    name: `${everything ? 'everything' : 'it'} is cancelled behind ${step}`,
    fleeting: true,
    part: () => {
      let done = false;
      const asks = cancelAt(
        (event) => event.type === 'step_committed' && event.step === step,
        () => {
          done = true;
        },
        { everything },
      );
      const invocation = (): 'delayed' | undefined => {
        if (!done) return undefined;
        done = false;
        return 'delayed';
      };
      return { ...asks, faults: { invocation }, delayMs: HELD_UP_MS };
    },
  };
}

/** What may lead to the undo of a step, the likeliest first. */
function candidates({ steps, plan }: AnySaga, step: DefinedStep): readonly Trigger[] {
  const { name, tool } = step;
  const behind = new Set(plan.steps.flatMap((each) => (each.afterPivot ? [each.name] : [])));
  const later = steps.slice(steps.indexOf(step) + 1).reverse();
  const refusals = (of: readonly DefinedStep[]): Trigger[] => of.map((each) => refusal(each.name));
  if (tool.effect === 'irreversible') {
    return [unusable(name, 'deviates'), unusable(name, 'broken'), ...refusals(later)];
  }
  return [
    ...refusals(later.filter((each) => !behind.has(each.name))),
    cancelled(name),
    unusable(name, 'deviates'),
    cancelled(name, true),
  ];
}

/**
 * What leads to the undo of each step. Nothing is taken for granted: each is tried, undisturbed, and has
 * to reach the undo's call.
 */
export class Triggers {
  readonly #saga: AnySaga;
  readonly #run: (part: Part) => Promise<Played>;
  readonly #tried = new Map<string, Promise<Triggered>>();
  /** Steps that had nothing to undo, and why. */
  readonly #skipped = new Map<string, string>();

  constructor(saga: AnySaga, run: (part: Part) => Promise<Played>) {
    this.#saga = saga;
    this.#run = run;
  }

  /** Nothing where the step has no undo that is called, or none that any failure leads to. */
  async for(step: DefinedStep): Promise<Triggered | undefined> {
    if (undoCall(step) === undefined) return undefined;
    for (const trigger of candidates(this.#saga, step)) {
      const tried = await this.#try(trigger);
      if (tried.undoes.has(step.name)) return tried;
    }
    return undefined;
  }

  /** Why nothing leads to the undo of a step. */
  whyNever({ name }: DefinedStep): string {
    const skipped = this.#skipped.get(name);
    if (skipped !== undefined) return `its undo has nothing to do: ${skipped}`;
    const planned = this.#saga.plan.steps.find((each) => each.name === name);
    return planned?.afterPivot === true
      ? 'it is behind the pivot, where nothing is undone'
      : 'no single failure leads to it';
  }

  /** What undoes the most. */
  async widest(): Promise<Triggered | undefined> {
    let widest: Triggered | undefined;
    for (const step of this.#saga.steps) {
      if (step.tool.effect === 'irreversible') continue;
      const found = await this.for(step);
      if (found !== undefined && found.undoes.size > (widest?.undoes.size ?? 0)) widest = found;
    }
    return widest;
  }

  #try(trigger: Trigger): Promise<Triggered> {
    const known = this.#tried.get(trigger.name);
    if (known !== undefined) return known;
    const tried = this.#run(trigger.part()).then(({ events, end }) => {
      for (const event of events) {
        if (event.type === 'step_committed' && event.undo?.kind === 'skipped')
          this.#skipped.set(event.step, event.undo.why);
      }
      const undone = events.flatMap((event) =>
        event.type === 'step_claimed' && event.action !== 'forward' ? [event.step] : [],
      );
      return { trigger, undoes: new Set(undone), alone: end !== 'needs_review' };
    });
    this.#tried.set(trigger.name, tried);
    return tried;
  }
}
