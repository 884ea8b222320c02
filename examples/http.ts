import { ambiguous, type Call, hold, refused, retryable } from 'counterstep/lambda';

/** Whether a request that got no answer may have done something. */
type Effect = 'writes' | 'reads';

interface JsonRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly body?: unknown;
  readonly effect: Effect;
  readonly call: Pick<Call, 'signal' | 'idempotencyKey' | 'correlationId'>;
}

export interface Answer<Body> {
  readonly status: number;
  readonly body: Body;
}

/** Statuses by which a partner says that it did nothing and will not do it. */
const REFUSALS = [400, 404, 405, 409, 410, 413, 415, 422];
/** Statuses by which it says that it did nothing yet. */
const TRY_LATER = [429, 503];
/** Our credentials or rights are wrong: the same for every saga, so no recovery helps. */
const NOT_ALLOWED = [401, 403];

const KEY_REUSED = 'idempotency_key_reused';

/** Errors raised before a connection stood, so before anything was sent. */
const NEVER_SENT = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
];

/**
 * Sends a request that changes something, with the key and the correlation id of the call.
 * `Body` is what the partner promises. Nothing checks it here: the tool hands it on whole, and the
 * runtime holds it against the contract's schema, since only there a wrong answer keeps its effect.
 * @throws a classified failure for everything but a success
 */
export function post<Body>(
  url: string,
  body: unknown,
  call: JsonRequest['call'],
): Promise<Answer<Body>> {
  return send({ method: 'POST', url, body, effect: 'writes', call });
}

/**
 * Asks for something. An answer that does not come proves nothing and costs nothing: ask again.
 * @throws a classified failure for everything but a success
 */
export function get<Body>(url: string, call: JsonRequest['call']): Promise<Answer<Body>> {
  return send({ method: 'GET', url, effect: 'reads', call });
}

async function send<Body>(request: JsonRequest): Promise<Answer<Body>> {
  const { status, retryAfter, text } = await exchange(request);
  const body = parsed(text);
  if (status >= 200 && status < 300) {
    // A 200 that says "no" is a refusal, however cheerful its status.
    if (member(body, 'success') === false)
      throw refused(codeOf(body, status), detailOf(body, status));
    if (body === undefined) throw lost(request, 'unreadable_answer', `${status} without JSON`);
    return { status, body: body as Body };
  }
  const code = codeOf(body, status);
  const detail = detailOf(body, status);
  // An effect stands under this key that is not the one we asked for: nobody may conclude "nothing happened".
  if (code === KEY_REUSED) throw hold(code, detail);
  if (REFUSALS.includes(status)) throw refused(code, detail);
  if (TRY_LATER.includes(status)) {
    throw retryable(code, detail, retryAfter === undefined ? {} : { retryAfterMs: retryAfter });
  }
  if (NOT_ALLOWED.includes(status)) throw hold(code, detail);
  throw lost(request, code, detail);
}

async function exchange(request: JsonRequest): Promise<{
  readonly status: number;
  readonly retryAfter: number | undefined;
  readonly text: string;
}> {
  const { call } = request;
  try {
    const response = await fetch(request.url, {
      method: request.method,
      headers: {
        'content-type': 'application/json',
        'x-correlation-id': call.correlationId,
        ...(request.effect === 'writes' ? { 'idempotency-key': call.idempotencyKey } : {}),
      },
      ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
      signal: call.signal,
    });
    return {
      status: response.status,
      retryAfter: seconds(response.headers.get('retry-after')),
      text: await response.text(),
    };
  } catch (error) {
    const code = networkCode(error);
    if (code !== undefined && NEVER_SENT.includes(code)) {
      throw retryable(code.toLowerCase(), 'the partner could not be reached', { cause: error });
    }
    if (call.signal.aborted) throw lost(request, 'timeout', 'no answer in time', error);
    throw lost(request, code?.toLowerCase() ?? 'connection_lost', 'the connection was lost', error);
  }
}

/** No clear answer: a write may have happened, a read may simply be repeated. */
function lost(request: JsonRequest, code: string, message: string, cause?: unknown): Error {
  return request.effect === 'reads'
    ? retryable(code, message, { cause })
    : ambiguous(code, message, cause);
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

function codeOf(body: unknown, status: number): string {
  const code = member(body, 'code');
  return typeof code === 'string' ? code : `http_${status}`;
}

function detailOf(body: unknown, status: number): string {
  const detail = member(body, 'detail') ?? member(body, 'message');
  return typeof detail === 'string' ? detail : `the partner answered ${status}`;
}

/** `Retry-After` in seconds; its date form is left to our own back-off. */
function seconds(header: string | null): number | undefined {
  return header !== null && /^\d+$/.test(header) ? Number(header) * 1_000 : undefined;
}

/** `fetch` hides the network's error in `cause`. */
function networkCode(error: unknown): string | undefined {
  const code = member(member(error, 'cause'), 'code');
  return typeof code === 'string' ? code : undefined;
}
