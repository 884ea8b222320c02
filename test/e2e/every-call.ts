/** One request, without who sends it. */
export interface Request {
  /** What it tries, for the message of a failure. */
  readonly what: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Operation {
  readonly id: string;
  readonly method: string;
  /** With `{name}` for a parameter. */
  readonly path: string;
  readonly parameters: readonly Parameter[];
  /** A body that the operation takes, by its schema. Absent: it takes none. */
  readonly body?: unknown;
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
}

/** What an operation's path names. `shared`: what belongs to the plane, the same for all tenants. */
export type Subject = 'saga' | 'review' | 'definition' | 'shared' | 'list';

/**
 * Of every operation there is. A new one that names something else fails here, until somebody says what
 * its path names.
 */
export function subjectOf({ id, method, path }: Operation): Subject {
  if (id === 'startSaga') return 'definition';
  if (path.startsWith('/v1/sagas/{id}')) return 'saga';
  if (path.startsWith('/v1/reviews/{id}')) return 'review';
  if (['/v1/tools', '/v1/definitions', '/v1/definitions/{name}/graph'].includes(path)) {
    return 'shared';
  }
  if (method === 'GET' && !path.includes('{')) return 'list';
  throw new Error(`what does the path of "${id}" name? Say so in test/e2e/every-call.ts: ${path}`);
}

/**
 * Requests of an operation for one subject: plain, with each value of each query parameter, and with all
 * of them at once.
 */
export function requestsOf(
  operation: Operation,
  subject: string,
  values: Readonly<Record<string, readonly string[]>>,
): Request[] {
  const named = operation.parameters.filter((each) => each.in === 'query');
  const single = named.flatMap(({ name }) =>
    valuesOf(operation, name, values).map((value) => new URLSearchParams([[name, value]])),
  );
  const together = new URLSearchParams(
    Object.fromEntries(named.map(({ name }) => [name, valuesOf(operation, name, values)[0] ?? ''])),
  );
  return [new URLSearchParams(), ...single, ...(named.length > 1 ? [together] : [])].map((query) =>
    requestOf(operation, subject, query),
  );
}

/** A query parameter that nobody gave values for would go untried. */
function valuesOf(
  { id }: Operation,
  name: string,
  values: Readonly<Record<string, readonly string[]>>,
): readonly string[] {
  const given = values[name];
  if (given !== undefined) return given;
  throw new Error(`which values may "${name}" of "${id}" have? Say so in test/e2e/tenant-tests.ts`);
}

/** A request of an operation for one subject; without a query where none is given. */
export function requestOf(
  operation: Operation,
  subject: string,
  query: URLSearchParams = new URLSearchParams(),
): Request {
  const { id, method, path, parameters, body } = operation;
  const headers = parameters
    .filter((each) => each.in === 'header')
    .map(({ name }) => [name.toLowerCase(), 'made-by-a-stranger'] as const);
  const filled = path.replace(/\{\w+\}/, encodeURIComponent(subject));
  const asked = query.size === 0 ? filled : `${filled}?${query}`;
  return {
    what: `${id}: ${method} ${asked}`,
    method,
    path: asked,
    headers: {
      ...Object.fromEntries(headers),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  };
}

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

interface Described {
  readonly operationId: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
  };
}

/** Every operation of an OpenAPI document. */
export function operationsOf(document: Document): Operation[] {
  const { schemas } = document.components;
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, parameters, requestBody }]) => {
      const schema = requestBody?.content['application/json']?.schema;
      return {
        id: operationId,
        method: method.toUpperCase(),
        path,
        parameters,
        ...(schema === undefined ? {} : { body: sampleOf(schema, schemas) }),
      };
    }),
  );
}

/** The least that fits a schema: what is required, each with the first value that will do. */
function sampleOf(schema: Schema, schemas: Document['components']['schemas']): unknown {
  const named = schema.$ref?.replace('#/components/schemas/', '');
  if (named !== undefined) return sampleOf(schemas[named] ?? {}, schemas);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  const { required = [], properties = {} } = schema;
  switch (schema.type) {
    case 'string':
      return 'written by a stranger';
    case 'integer':
    case 'number':
      return 1;
    case 'boolean':
      return true;
    case 'array':
      return [];
    default:
      return Object.fromEntries(
        required.map((name) => [name, sampleOf(properties[name] ?? {}, schemas)]),
      );
  }
}
