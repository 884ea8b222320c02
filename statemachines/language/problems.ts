/** The `name` of every {@link DefinitionError}. A constant: class names do not survive minifying. */
export const DEFINITION_ERROR = 'Counterstep.DefinitionError';

/** One thing that is wrong in a definition. */
export interface Problem {
  /** Where, for example `saga "refund", step "email"`. */
  readonly place: string;
  /** What is wrong, as a sentence without its full stop. */
  readonly problem: string;
  /** What to change, as an imperative sentence without its full stop. */
  readonly remedy: string;
}

/**
 * A tool or saga definition that cannot be built. It lists every problem found, so that one build
 * is enough to mend them all.
 */
export class DefinitionError extends Error {
  override readonly name = DEFINITION_ERROR;
  /** What was being defined, for example `saga "refund"`. */
  readonly place: string;
  readonly problems: readonly Problem[];

  constructor(place: string, problems: readonly Problem[]) {
    super(
      [
        `${place} cannot be built (${problems.length === 1 ? '1 problem' : `${problems.length} problems`}):`,
        ...problems.map((each) => `- ${each.place}: ${each.problem}. ${each.remedy}.`),
      ].join('\n'),
    );
    this.place = place;
    this.problems = problems;
  }
}

/** @throws DefinitionError when there is at least one problem. */
export function refuseProblems(place: string, problems: readonly Problem[]): void {
  if (problems.length > 0) throw new DefinitionError(place, problems);
}
