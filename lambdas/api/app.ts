import { type Context, Hono } from 'hono';
import type { Principal } from '../service/principal.ts';
import { Problem } from '../service/problems.ts';
import type { SagaService } from '../service/service.ts';
import { jsonAnswer, problemAnswer, problemOf } from './answers.ts';
import { readBody } from './body.ts';
import { openApi } from './openapi.ts';
import { readQuery } from './queries.ts';
import type { Route } from './route.ts';
import { ROUTES } from './routes.ts';

export interface AppOptions {
  readonly service: SagaService;
  /**
   * Who asks: from what the gateway or the token proves, never from what the request says of itself.
   * `env` is what the server's adapter hands over beside the request (the Lambda event, say).
   * @throws Problem `unauthenticated`
   */
  authenticate(request: Request, env: unknown): Promise<Principal>;
}

/** Sagas and reviews; anything else that stands in their place goes into no log. */
const KNOWN_ID = /^[\w-]{1,80}(\.\w{1,20})?$/;

const OPENAPI_PATH = '/openapi.json';

/** The HTTP API, the same app in Lambda and in the local plane. */
export function createApp(options: AppOptions): Hono {
  const { service } = options;
  const app = new Hono();
  const document = openApi(ROUTES);

  for (const route of ROUTES) {
    app.on(route.method.toUpperCase(), honoPath(route.path), (c) => serve(options, route, c));
  }
  app.get(OPENAPI_PATH, () => jsonAnswer(200, document));

  for (const [path, methods] of methodsByPath()) {
    const allow = methods.join(', ').toUpperCase();
    app.all(path, () =>
      problemAnswer(
        new Problem('method-unknown', 'this route has no such method', `use ${allow}`),
        service.clock,
        { allow },
      ),
    );
  }
  app.notFound(() =>
    problemAnswer(
      new Problem('route-unknown', 'there is no such route', `GET ${OPENAPI_PATH} lists them`),
      service.clock,
    ),
  );
  app.onError((error) =>
    problemAnswer(problemOf(error, service.clock, service.log), service.clock),
  );
  return app;
}

async function serve(options: AppOptions, route: Route, c: Context): Promise<Response> {
  const { service } = options;
  const request = c.req.raw;
  const principal = await options.authenticate(request, c.env);
  try {
    return await route.handle({
      service,
      principal,
      param: (name) => c.req.param(name) ?? '',
      header: (name) => c.req.header(name),
      query: readQuery(c.req.url, Object.keys(route.query ?? {})),
      body: () => readBody(request),
    });
  } catch (error) {
    const log = service.log.with({ operation: route.operationId, ...idsOf(principal, route, c) });
    return problemAnswer(problemOf(error, service.clock, log), service.clock);
  }
}

/** Ids alone: nothing that a caller wrote in words. A start's saga is not named by its path. */
function idsOf(principal: Principal, route: Route, c: Context): Record<string, string> {
  const { tenant } = principal;
  const id = c.req.param('id');
  if (id === undefined || !KNOWN_ID.test(id) || route.operationId === 'startSaga') {
    return { tenant };
  }
  // A review is named by its saga's id and a number.
  const [sagaId = id] = id.split('.');
  return { tenant, sagaId };
}

function methodsByPath(): Map<string, string[]> {
  const found = new Map<string, string[]>([[OPENAPI_PATH, ['get']]]);
  for (const { path, method } of ROUTES) {
    found.set(honoPath(path), [...(found.get(honoPath(path)) ?? []), method]);
  }
  return found;
}

function honoPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}
