import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { safeParse } from 'zod/v4/core';
import { ROUTES } from '../../lambdas/api/routes.ts';
import { StoreUnavailable } from '../../lambdas/ports/ledger-store.ts';
import type { SagaView } from '../../lambdas/service/wire.ts';
import { verifyExport } from '../../statemachines/ledger/ndjson.ts';
import { faultyStores } from '../../testing/faulty-stores.ts';
import { orderInput } from '../service/sagas.ts';
import { ada, principal, World } from '../service/world.ts';
import { openServer, problemOf, type Server } from './server.ts';

let failing: Error | undefined;
const world = new World({
  around: (stores) =>
    faultyStores(stores, {
      onCall: () => {
        if (failing !== undefined) throw failing;
      },
    }),
});
let server: Server;
let saga: SagaView;
beforeAll(async () => {
  server = await openServer(world.service, { ada, reader: principal('reader') });
  const headers = { 'idempotency-key': 'k-1' };
  const response = await server.post('/v1/sagas/order', JSON.stringify(orderInput), headers);
  expect([response.status, response.headers.get('location')]).toEqual([
    202,
    expect.stringMatching(/^\/v1\/sagas\/[0-9a-f]{32}$/),
  ]);
  saga = (await response.json()) as SagaView;
});
afterAll(() => server.close());

interface OpenApi {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, unknown> };
}
interface Operation {
  readonly operationId: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly description: string;
  }[];
  readonly responses: Record<string, unknown>;
}

describe('openapi.json', () => {
  async function document(): Promise<OpenApi> {
    return (await (await server.call('/openapi.json', {}, '')).json()) as OpenApi;
  }

  test('is OpenAPI 3.1 without what agent gateways refuse', async () => {
    const text = JSON.stringify(await document());
    expect(JSON.parse(text)).toMatchObject({ openapi: '3.1.0' });
    expect(text).not.toMatch(/"(oneOf|anyOf|allOf)"/);
  });

  test('names every operation once and every reference it makes', async () => {
    const { paths, components } = await document();
    const operations = Object.values(paths).flatMap((path) => Object.values(path));
    expect(operations).toHaveLength(ROUTES.length);
    expect(new Set(operations.map((operation) => operation.operationId)).size).toBe(ROUTES.length);
    const references = [...JSON.stringify(paths).matchAll(/#\/components\/schemas\/(\w+)/g)];
    for (const [, name = ''] of references) expect(components.schemas).toHaveProperty(name);
    // Two templates of one shape would be the same path twice.
    const shapes = Object.keys(paths).map((path) => path.replaceAll(/\{\w+\}/g, '{}'));
    expect(new Set(shapes).size).toBe(shapes.length);
  });

  test('names each parameter of each path', async () => {
    const { paths } = await document();
    for (const [path, methods] of Object.entries(paths)) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
      for (const operation of Object.values(methods)) {
        const given = operation.parameters.filter((parameter) => parameter.in === 'path');
        expect(given.map((parameter) => parameter.name)).toEqual(named);
      }
    }
  });

  test('tells a caller to reuse the key on a repeat', async () => {
    const { paths } = await document();
    const header = paths['/v1/sagas/{id}']?.post?.parameters.find(
      (parameter) => parameter.in === 'header',
    );
    expect(header).toMatchObject({ name: 'Idempotency-Key', required: true });
    expect(header?.description).toMatch(/same key and the same body.*Never make up a new key/);
  });
});

describe('every answer', () => {
  test.each(
    ROUTES.filter((route) => route.method === 'get').map(
      (route) => [route.operationId, route] as const,
    ),
  )('of %s has the form that the contract says', async (_id, route) => {
    const path = route.path
      .replace('/definitions/{name}', '/definitions/order')
      .replace('/sagas/{id}', `/sagas/${saga.id}`);
    if (route.path === '/v1/reviews/{id}')
      return expect((await server.call('/v1/reviews/x.1')).status).toBe(404);
    const response = await server.call(path);
    expect(response.status).toBe(route.answer.status);
    expect(response.headers.get('cache-control')).toBe('no-store');
    const { schema } = route.answer;
    if (schema === undefined) return expect(await response.text()).toMatch(/^flowchart/);
    const parsed = safeParse(schema, await response.json());
    expect(parsed.error?.issues ?? []).toEqual([]);
  });

  test('of the whole ledger is NDJSON that verifies, by query or by Accept', async () => {
    const path = `/v1/sagas/${saga.id}/ledger`;
    const byQuery = await server.call(`${path}?format=ndjson`);
    expect(byQuery.headers.get('content-type')).toBe('application/x-ndjson');
    const text = await byQuery.text();
    expect(verifyExport(text)).toMatchObject({ kind: 'valid', seq: 1 });
    const byAccept = await server.call(path, { headers: { accept: 'application/x-ndjson' } });
    expect(await byAccept.text()).toBe(text);
  });
});

describe('a problem', () => {
  test('says that a route does not exist, or has no such method', async () => {
    expect(await problemOf(await server.call('/v1/nothing'))).toMatchObject({
      status: 404,
      type: 'urn:counterstep:problem:route-unknown',
    });
    const response = await server.call('/v1/sagas', { method: 'DELETE' });
    expect(response.headers.get('allow')).toBe('GET');
    expect(await problemOf(response)).toMatchObject({
      status: 405,
      type: 'urn:counterstep:problem:method-unknown',
    });
    const both = await server.call(`/v1/sagas/${saga.id}`, { method: 'PUT' });
    expect(both.headers.get('allow')?.split(', ').sort()).toEqual(['GET', 'POST']);
    expect((await server.call('/openapi.json', { method: 'POST' })).status).toBe(405);
  });

  test('says who may not', async () => {
    expect((await problemOf(await server.call('/v1/sagas', {}, ''))).status).toBe(401);
    const ledger = await server.call(`/v1/sagas/${saga.id}/ledger`, {}, 'reader');
    expect(await problemOf(ledger)).toMatchObject({
      status: 403,
      remedy: expect.stringContaining('auditor'),
    });
  });

  test.each([
    ['status=running', 'query'],
    ['state=finished', 'state'],
    ['olderThan=soon', 'olderThan'],
    ['olderThan=2025-13-45T99:00:00Z', 'olderThan'],
    ['limit=0', 'limit'],
    ['limit=1000', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['cursor=abc', 'cursor'],
  ])('says which part of the query is wrong: %s', async (query, at) => {
    expect(await problemOf(await server.call(`/v1/sagas?${query}`))).toMatchObject({
      status: 400,
      type: 'urn:counterstep:problem:query-invalid',
      at,
    });
  });

  test('takes ages, moments and several states', async () => {
    for (const query of [
      'olderThan=15m',
      'olderThan=2026-01-05T12:00:00Z',
      'state=running,waiting&state=queued',
      'name=order&limit=1',
    ]) {
      expect((await server.call(`/v1/sagas?${query}`)).status).toBe(200);
    }
  });

  test('says when to come back, where that is known', async () => {
    const response = await server.post(`/v1/sagas/${saga.id}/resume`, '{}');
    expect(response.headers.get('retry-after')).toBe('60');
    expect(await problemOf(response)).toMatchObject({
      status: 409,
      retryAt: '2026-01-05T12:01:00.000Z',
    });
  });

  test('of a store that does not answer asks to repeat the same request', async () => {
    failing = new StoreUnavailable('secret-host:8000 refused', { throttled: true });
    try {
      const response = await server.call(`/v1/sagas/${saga.id}`);
      expect(response.headers.get('retry-after')).toBe('5');
      const problem = await problemOf(response);
      expect(problem).toMatchObject({
        status: 503,
        remedy: expect.stringContaining('same idempotency key'),
      });
      expect(JSON.stringify(problem)).not.toContain('secret-host');
    } finally {
      failing = undefined;
    }
  });

  test('of what nobody foresaw keeps its message to the log', async () => {
    failing = new TypeError('secret value 4711');
    try {
      const problem = await problemOf(await server.call(`/v1/sagas/${saga.id}`));
      expect(problem).toMatchObject({ status: 500, type: 'urn:counterstep:problem:internal' });
      expect(JSON.stringify(problem)).not.toContain('4711');
    } finally {
      failing = undefined;
    }
  });
});
