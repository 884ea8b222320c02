/** `type` of every problem the service answers with (RFC 9457), each with its HTTP status. */
export const PROBLEMS = {
  'saga-unknown': 404,
  'definition-unknown': 404,
  'key-missing': 400,
  'key-invalid': 400,
  'body-invalid': 400,
  'query-invalid': 400,
  'content-type-unknown': 415,
  'input-invalid': 422,
  'input-too-large': 413,
  'key-reused': 422,
  'budget-spent': 429,
  conflict: 409,
  'review-unknown': 404,
  'decision-invalid': 422,
  forbidden: 403,
  unauthenticated: 401,
  'route-unknown': 404,
  'method-unknown': 405,
  'ledger-damaged': 500,
  'store-unavailable': 503,
  'definition-unavailable': 503,
  internal: 500,
} as const;
export type ProblemType = keyof typeof PROBLEMS;

/** A refusal that names the place and the remedy. Never holds a secret or a value from the input. */
export class Problem extends Error {
  override readonly name = 'Counterstep.Problem';
  readonly type: ProblemType;
  readonly detail: string;
  readonly remedy: string;
  readonly at: string | undefined;
  /** Epoch milliseconds: not before then. */
  readonly until: number | undefined;
  constructor(
    type: ProblemType,
    detail: string,
    remedy: string,
    options: { readonly at?: string; readonly until?: number; readonly cause?: unknown } = {},
  ) {
    super(`${detail}: ${remedy}`, { cause: options.cause });
    this.type = type;
    this.detail = detail;
    this.remedy = remedy;
    this.at = options.at;
    this.until = options.until;
  }
  get status(): number {
    return PROBLEMS[this.type];
  }
}
