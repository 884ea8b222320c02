/** What is used of API Gateway's HTTP API event, payload format 2.0. */
export interface HttpEvent {
  readonly rawPath: string;
  readonly rawQueryString?: string;
  /** Names in lower case; a header sent twice is one value with commas. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string;
  readonly isBase64Encoded?: boolean;
  readonly requestContext: {
    readonly http: { readonly method: string };
    readonly requestId?: string;
    readonly routeKey?: string;
    /** What the gateway's authorizer found out; callers cannot write here. */
    readonly authorizer?: unknown;
  };
}

export interface HttpAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly isBase64Encoded: false;
}

/** @throws TypeError where something else than an HTTP API calls */
export function checkHttpEvent(event: unknown): asserts event is HttpEvent {
  const { rawPath, requestContext } = (event ?? {}) as Partial<HttpEvent>;
  const method: unknown = requestContext?.http?.method;
  if (typeof rawPath === 'string' && typeof method === 'string') return;
  throw new TypeError(
    'this function answers API Gateway HTTP APIs with payload format 2.0: call it through one',
  );
}

/** No answer names a host, so that of the request does not matter. */
const ORIGIN = 'https://plane';

/** The request as it would have come over HTTP. Its body is byte for byte what was sent. */
export function requestOf(event: HttpEvent): Request {
  const url = new URL(ORIGIN);
  url.pathname = event.rawPath;
  url.search = event.rawQueryString ?? '';
  const { method } = event.requestContext.http;
  const headers = headersOf(event);
  const body = method === 'GET' || method === 'HEAD' ? undefined : bodyOf(event);
  return new Request(url, { method, headers, ...(body === undefined ? {} : { body }) });
}

function bodyOf({ body, isBase64Encoded }: HttpEvent): Uint8Array<ArrayBuffer> | undefined {
  if (body === undefined) return undefined;
  return Uint8Array.from(Buffer.from(body, isBase64Encoded === true ? 'base64' : 'utf8'));
}

/** A value beyond ASCII stands as its bytes, one character each: the same text as Node's own server gives. */
function headersOf(event: HttpEvent): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(event.headers ?? {})) {
    if (value !== undefined) headers.set(name, Buffer.from(value, 'utf8').toString('latin1'));
  }
  return headers;
}

/** Every answer of the API is text. */
export async function httpAnswer(response: Response): Promise<HttpAnswer> {
  return {
    statusCode: response.status,
    headers: Object.fromEntries(response.headers),
    body: await response.text(),
    isBase64Encoded: false,
  };
}

/** Lambda's limit of 6 MB, less what stands around the body. */
const MAX_ANSWER_BYTES = 6 * 1_024 * 1_024 - 16 * 1_024;

/** Whether Lambda takes it: what counts is the body as JSON text, quotes and line ends escaped. */
export function fitsLambda({ body }: HttpAnswer): boolean {
  // Escaping and UTF-8 at most sextuple a text.
  if (body.length * 6 <= MAX_ANSWER_BYTES) return true;
  return Buffer.byteLength(JSON.stringify(body)) <= MAX_ANSWER_BYTES;
}
