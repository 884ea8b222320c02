import { toJSONSchema } from 'zod/v4/core';
import type { Schema } from '../../statemachines/language/schema.ts';
import type { JsonValue } from '../../statemachines/ledger/canonical.ts';
import { PROBLEMS, type ProblemType } from '../service/problems.ts';
import { problemSchema } from '../service/wire.ts';
import type { Route } from './route.ts';

type Json = Record<string, unknown>;

/** Any request may meet these. */
const COMMON: readonly ProblemType[] = [
  'unauthenticated',
  'forbidden',
  'store-unavailable',
  'internal',
];

/**
 * The contract as OpenAPI 3.1, made from the table that is served. No `oneOf`, `anyOf` or `allOf`,
 * so that agent gateways take it.
 */
export function openApi(routes: readonly Route[]): JsonValue {
  const schemas: Record<string, Json> = { Problem: schemaOf(problemSchema) };
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    for (const part of [route.body, route.answer]) {
      if (part?.name !== undefined && part.schema !== undefined) {
        schemas[part.name] = schemaOf(part.schema);
      }
    }
    paths[route.path] = { ...paths[route.path], [route.method]: operationOf(route) };
  }
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Counterstep',
      version: '1',
      description:
        'Starts sagas, shows what they did and undid, and takes the decisions that people make about them.',
    },
    paths,
    components: { schemas },
  };
  return document as unknown as JsonValue;
}

function operationOf(route: Route): Json {
  const { body } = route;
  return {
    operationId: route.operationId,
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    parameters: parametersOf(route),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: body.required,
            description: body.description,
            content: {
              'application/json': { schema: body.schema === undefined ? {} : ref(body.name) },
            },
          },
        }),
    responses: { ...answerOf(route), ...problemsOf(route) },
  };
}

function parametersOf(route: Route): Json[] {
  const text = { type: 'string' };
  const list = (
    where: 'path' | 'query' | 'header',
    given: Readonly<Record<string, string>>,
    required: boolean,
  ): Json[] =>
    Object.entries(given).map(([name, description]) => ({
      name,
      in: where,
      required,
      description,
      schema: name === 'limit' ? { type: 'integer', minimum: 1 } : text,
    }));
  const headers = Object.entries(route.headers ?? {}).map(
    ([name, { description }]) => [name, description] as const,
  );
  return [
    ...list('path', route.parameters ?? {}, true),
    ...list('query', route.query ?? {}, false),
    ...list('header', Object.fromEntries(headers), true),
  ];
}

function answerOf(route: Route): Json {
  const { status, description, name, other = [] } = route.answer;
  const content: Json = {};
  if (name !== undefined) content['application/json'] = { schema: ref(name) };
  for (const type of other) content[type] = { schema: { type: 'string' } };
  return { [status]: { description, content } };
}

function problemsOf(route: Route): Json {
  const byStatus = new Map<number, ProblemType[]>();
  for (const type of [...route.problems, ...COMMON]) {
    const status = PROBLEMS[type];
    byStatus.set(status, [...(byStatus.get(status) ?? []), type]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, types]) => [
      status,
      {
        description: types.join(', '),
        content: { 'application/problem+json': { schema: ref('Problem') } },
      },
    ]),
  );
}

function ref(name: string): Json {
  return { $ref: `#/components/schemas/${name}` };
}

function schemaOf(schema: Schema): Json {
  const { $schema: _dialect, ...json } = toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // The format says it; the pattern behind it is 400 characters long.
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
    },
  });
  return json as Json;
}
