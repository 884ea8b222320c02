import type { Schema } from '../../statemachines/language/schema.ts';
import type { Principal } from '../service/principal.ts';
import type { ProblemType } from '../service/problems.ts';
import type { SagaService } from '../service/service.ts';
import type { QueryValues } from './queries.ts';

/** One request, as a route's handler sees it. */
export interface Call {
  readonly service: SagaService;
  readonly principal: Principal;
  /** Parts of the path by their names. */
  param(name: string): string;
  header(name: string): string | undefined;
  readonly query: QueryValues;
  /** @throws Problem */
  body(): Promise<Uint8Array>;
}

/** A route as data: the app serves it, and the OpenAPI document describes it. */
export interface Route {
  readonly method: 'get' | 'post';
  /** With `{name}` for a parameter. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, { readonly description: string }>>;
  readonly body?: {
    readonly name: string;
    /** Absent: any JSON. */
    readonly schema?: Schema;
    readonly description: string;
    readonly required: boolean;
  };
  readonly answer: {
    readonly status: number;
    readonly description: string;
    /** Name and schema of a JSON answer. */
    readonly name?: string;
    readonly schema?: Schema;
    /** Media types of other answers. */
    readonly other?: readonly string[];
  };
  readonly problems: readonly ProblemType[];
  handle(call: Call): Promise<Response>;
}
