import {
  ambiguous,
  type Call,
  fromHttp,
  fromNetwork,
  refused,
  retryable,
} from 'counterstep/lambda';

/** How requests are sent: as `fetch` does it, or signed before. */
export type Send = (url: string, init: RequestInit) => Promise<Response>;

/** Where the partner systems are, and how they are called. */
export interface Partners {
  /** Without a slash at its end. */
  readonly partnersUrl: string;
  /** Default: `fetch`. */
  readonly send?: Send;
}

/** What is needed of a call to send a request for it. */
type Sender = Pick<Call, 'signal' | 'idempotencyKey' | 'correlationId'>;

export interface JsonRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly signal: AbortSignal;
  readonly send: Send;
}

export interface Answer<Body> {
  readonly status: number;
  readonly body: Body;
}

/**
 * Sends a request that changes something, with the key and the correlation id of the call.
 * `Body` is what the partner promises. Nothing checks it here: the tool hands it on whole, and the
 * runtime holds it against the contract's schema, since only there a wrong answer keeps its effect.
 * @throws a classified failure for everything but a success
 */
export function post<Body>(
  partners: Partners,
  path: string,
  body: unknown,
  call: Sender,
): Promise<Answer<Body>> {
  return ask({
    ...addressed(partners, path, call, { 'idempotency-key': call.idempotencyKey }),
    method: 'POST',
    body,
  });
}

/**
 * Asks for something. An answer that does not come proves nothing and costs nothing: ask again.
 * @throws a classified failure for everything but a success
 */
export function get<Body>(partners: Partners, path: string, call: Sender): Promise<Answer<Body>> {
  return ask({ ...addressed(partners, path, call), method: 'GET' });
}

function addressed(
  { partnersUrl, send = fetch }: Partners,
  path: string,
  { correlationId, signal }: Sender,
  headers: Readonly<Record<string, string>> = {},
) {
  const sent = { 'content-type': 'application/json', 'x-correlation-id': correlationId };
  return { url: `${partnersUrl}${path}`, headers: { ...sent, ...headers }, signal, send };
}

/** A partner that turns a call away says why. Without that, 503 is a gateway's, which may have passed it on. */
const DID_NOTHING = [503];

async function ask<Body>(request: JsonRequest): Promise<Answer<Body>> {
  const { status, headers, body } = await exchange(request);
  const code = textOf(body, 'code');
  const message = textOf(body, 'detail') ?? textOf(body, 'message');
  const writes = request.method === 'POST';
  const didNothing = code === undefined ? [] : DID_NOTHING;
  const failure = fromHttp({ status, headers }, { writes, code, message, didNothing });
  if (failure !== undefined) throw failure;
  // A 200 that says "no" is a refusal, however cheerful its status.
  if (member(body, 'success') === false) {
    throw refused(code ?? `http_${status}`, message ?? `the partner answered ${status}`);
  }
  if (body === undefined) throw unreadable(request, status);
  return { status, body: body as Body };
}

/**
 * One request and its answer, whatever that says; `body` is `undefined` where it is no JSON.
 * @throws a classified failure where no answer came
 */
export async function exchange({ send, url, body, ...request }: JsonRequest): Promise<{
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}> {
  try {
    const response = await send(url, {
      ...request,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      // Where a partner sends us is for a person to see; nobody follows it with a write.
      redirect: 'manual',
    });
    const { status, headers } = response;
    return { status, headers, body: parsed(await response.text()) };
  } catch (error) {
    throw fromNetwork(error, { writes: request.method === 'POST' });
  }
}

/** A success that cannot be read: a write may have happened, a read may simply be repeated. */
export function unreadable({ method }: Pick<JsonRequest, 'method'>, status: number): Error {
  const message = `${status} without JSON`;
  return method === 'GET'
    ? retryable('unreadable_answer', message)
    : ambiguous('unreadable_answer', message);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A member of a JSON object, or `undefined` where there is none. */
export function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as Record<string, unknown>)[name];
}

/** The objects in a list that a partner answered; anything else counts as none. */
export function list(value: unknown, name: string): readonly unknown[] {
  const items = member(value, name);
  return Array.isArray(items) ? items : [];
}

/** A member that is a text, or `undefined`. */
export function textOf(body: unknown, name: string): string | undefined {
  const text = member(body, name);
  return typeof text === 'string' ? text : undefined;
}
