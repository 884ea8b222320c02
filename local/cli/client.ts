import type { ProblemView } from '../../lambdas/service/wire.ts';
import { CliError } from './cli-error.ts';
import type { Authorise } from './credentials.ts';

export const DEFAULT_ENDPOINT = 'http://127.0.0.1:4570';
const PATIENCE_MS = 30_000;

export interface ClientOptions {
  readonly endpoint: string;
  readonly authorise: Authorise;
}

export interface Send {
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
}

/** Speaks to the API. Every failure becomes one line and a remedy. */
export class Client {
  readonly #base: string;
  readonly #authorise: Authorise;

  constructor(options: ClientOptions) {
    this.#base = baseOf(options.endpoint);
    this.#authorise = options.authorise;
  }

  async json<T>(path: string, send: Send = {}): Promise<T> {
    const response = await this.#send(path, send);
    return (await response.json()) as T;
  }

  post<T>(path: string, value: unknown): Promise<T> {
    return this.json(path, { method: 'POST', body: JSON.stringify(value) });
  }

  async text(path: string, send: Send = {}): Promise<string> {
    return (await this.#send(path, send)).text();
  }

  /** The body as it comes, for answers too large to hold. */
  async chunks(path: string): Promise<AsyncIterable<Uint8Array>> {
    const { body } = await this.#send(path, {});
    return (body ?? []) as AsyncIterable<Uint8Array>;
  }

  async #send(path: string, send: Send): Promise<Response> {
    const request = await this.#authorise(`${this.#base}${path}`, {
      method: send.method ?? 'GET',
      headers: {
        ...(send.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...send.headers,
      },
      ...(send.body === undefined ? {} : { body: send.body }),
    });
    let response: Response;
    try {
      response = await fetch(request, { signal: AbortSignal.timeout(PATIENCE_MS) });
    } catch (error) {
      throw unreachable(this.#base, error);
    }
    if (!response.ok) throw await refused(response);
    return response;
  }
}

function baseOf(endpoint: string): string {
  const remedy = 'use a URL like http://127.0.0.1:4570';
  if (!URL.canParse(endpoint)) throw new CliError('the endpoint is no URL', remedy);
  const url = new URL(endpoint);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new CliError('the endpoint is neither http nor https', remedy);
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
}

function unreachable(base: string, error: unknown): CliError {
  if (error instanceof Error && error.name === 'TimeoutError') {
    return new CliError(
      `${base} did not answer within ${PATIENCE_MS / 1_000} s`,
      'try again; a start is repeated with the same --key',
      error,
    );
  }
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : '';
  return new CliError(
    `${base} cannot be reached${code}`,
    'start the local plane with "counterstep dev", or name another endpoint with --endpoint or COUNTERSTEP_ENDPOINT',
    error,
  );
}

/** The API's own refusal, kept so that a command can tell it in the words of its options. */
export class Refused extends CliError {
  readonly problem: ProblemView;
  constructor(problem: ProblemView) {
    const at = problem.at === undefined ? '' : ` (at ${problem.at})`;
    const until = problem.retryAt === undefined ? '' : `; not before ${problem.retryAt}`;
    super(`${problem.detail}${at}`, `${problem.remedy}${until}`);
    this.problem = problem;
  }
}

async function refused(response: Response): Promise<CliError> {
  const problem = await problemOf(response);
  if (problem === undefined) {
    // A gateway's own words: the function behind it answers with problem documents.
    if (response.status === 401 || response.status === 403) {
      return new CliError(
        `the gateway before the API refused the request (${response.status})`,
        'an API for people takes a token (COUNTERSTEP_TOKEN); one for roles takes signatures (--sigv4) of a role that may call it, with credentials that have not expired',
      );
    }
    return new CliError(
      `the endpoint answered ${response.status} with something that is no problem document`,
      'check that --endpoint names a Counterstep API, and what stands before it',
    );
  }
  return new Refused(problem);
}

async function problemOf(response: Response): Promise<ProblemView | undefined> {
  try {
    const value = (await response.json()) as Partial<ProblemView>;
    const whole = typeof value.detail === 'string' && typeof value.remedy === 'string';
    return whole ? (value as ProblemView) : undefined;
  } catch {
    return undefined;
  }
}
