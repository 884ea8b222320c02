import type { Problem } from '../statemachines/language/problems.ts';

/** The `name` of every {@link DeploymentError}. */
export const DEPLOYMENT_ERROR = 'Counterstep.DeploymentError';

/** What was declared cannot be deployed. Thrown while synthesising; lists every problem found. */
export class DeploymentError extends Error {
  override readonly name = DEPLOYMENT_ERROR;
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(
      problems.map(({ place, problem, remedy }) => `${place}: ${problem}. ${remedy}.`).join('\n'),
    );
    this.problems = problems;
  }
}

/** @throws DeploymentError where there is any problem */
export function refuse(problems: readonly Problem[]): void {
  if (problems.length > 0) throw new DeploymentError(problems);
}
