/** Ends the command: one line for the person, and what to do next. */
export class CliError extends Error {
  override readonly name = 'Counterstep.CliError';
  readonly remedy: string;
  constructor(message: string, remedy: string, cause?: unknown) {
    super(message, { cause });
    this.remedy = remedy;
  }
}
