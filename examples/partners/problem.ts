import type { JsonObject } from './records.ts';

/** An RFC 9457 answer: what is wrong, in which place, and what to do. */
export function problem(
  status: number,
  code: string,
  detail: string,
  more: { readonly errors?: readonly JsonObject[]; readonly headers?: Record<string, string> } = {},
): Response {
  const body = {
    type: `urn:partner:problem:${code}`,
    title: code.replaceAll('_', ' '),
    status,
    code,
    detail,
    ...(more.errors === undefined ? {} : { errors: more.errors }),
  };
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/problem+json', ...more.headers },
  });
}

export function json(status: number, body: unknown): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json' },
  });
}
