import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { createApp } from '../../lambdas/api/app.ts';
import type { Principal } from '../../lambdas/service/principal.ts';
import { Problem } from '../../lambdas/service/problems.ts';
import type { SagaService } from '../../lambdas/service/service.ts';

/** The API over real HTTP on a port of its own. */
export interface Server {
  readonly url: string;
  /** Sends a request as that principal; `undefined` sends none. */
  call(path: string, init?: RequestInit, as?: string): Promise<Response>;
  post(path: string, body: string, headers?: Record<string, string>): Promise<Response>;
  close(): Promise<void>;
}

/** Who a token stands for. The first one is used where a test names none. */
export async function openServer(
  service: SagaService,
  principals: Readonly<Record<string, Principal>>,
): Promise<Server> {
  const app = createApp({
    service,
    authenticate: async (request) => {
      const token = /^Bearer (.+)$/.exec(request.headers.get('authorization') ?? '')?.[1];
      const found = token === undefined ? undefined : principals[token];
      if (found !== undefined) return found;
      throw new Problem('unauthenticated', 'the caller is not known', 'send a bearer token');
    },
  });
  const [first = ''] = Object.keys(principals);
  return new Promise((resolve) => {
    const server = serve(
      { fetch: app.fetch, port: 0, hostname: '127.0.0.1' },
      (at: AddressInfo) => {
        const url = `http://127.0.0.1:${at.port}`;
        const call: Server['call'] = (path, init = {}, as = first) =>
          fetch(`${url}${path}`, {
            ...init,
            headers: { ...(as === '' ? {} : { authorization: `Bearer ${as}` }), ...init.headers },
          });
        resolve({
          url,
          call,
          post: (path, body, headers = {}) =>
            call(path, {
              method: 'POST',
              body,
              headers: { 'content-type': 'application/json', ...headers },
            }),
          close: () => new Promise((closed) => server.close(() => closed())),
        });
      },
    );
  });
}

export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly remedy: string;
  readonly at?: string;
  readonly retryAt?: string;
}

/** The problem document, checked for its form. */
export async function problemOf(response: Response): Promise<ProblemBody> {
  const type = response.headers.get('content-type');
  if (type !== 'application/problem+json') {
    throw new Error(`not a problem document: ${response.status} ${type}`);
  }
  const body = (await response.json()) as ProblemBody;
  for (const member of ['type', 'title', 'detail', 'remedy'] as const) {
    if (typeof body[member] !== 'string' || body[member] === '') {
      throw new Error(`the problem has no ${member}`);
    }
  }
  if (body.status !== response.status) throw new Error('the problem and its answer disagree');
  return body;
}
