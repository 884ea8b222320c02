import { createHash } from 'node:crypto';
import * as z from 'zod/mini';
import en from 'zod/v4/locales/en.js';
import type { EffectRow, JsonObject, SystemName } from './records.ts';
import type { Tx } from './store.ts';

// The small build of zod says only "Invalid input" of its own.
z.config(en());

/** What a system makes of a valid call. */
export type Decision =
  | {
      readonly kind: 'effect';
      /** Start of the external id, for example `RES`. */
      readonly prefix: string;
      readonly document: JsonObject;
      readonly reverses?: string;
      readonly amountMinor?: number;
      readonly currency?: string;
      readonly costMinor?: number;
    }
  | { readonly kind: 'answer'; readonly body: JsonObject }
  | {
      readonly kind: 'refused';
      readonly status: 404 | 409 | 422;
      readonly code: string;
      readonly message: string;
    };

export interface Arguments {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
}

/** A call whose body and query were read. */
export interface BoundCall {
  /** Names operation, target and body: two calls under one key must have the same. */
  readonly fingerprint: string;
  orderId(tx: Tx): string | null;
  decide(tx: Tx, now: number): Decision;
}

export type Binding =
  | { readonly kind: 'bound'; readonly call: BoundCall }
  | { readonly kind: 'invalid'; readonly errors: readonly JsonObject[] };

export interface Operation {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  /** Below `/{system}`, in the router's notation. */
  readonly path: string;
  bind(raw: unknown, args: Arguments): Binding;
  /** The answer's body for an effect as it stands at `now`. */
  render(effect: EffectRow, now: number): JsonObject;
}

export interface PartnerSystem {
  readonly name: SystemName;
  /** Honours `Idempotency-Key`. */
  readonly honoursKeys: boolean;
  readonly operations: readonly Operation[];
}

interface WriteSpec<Body extends z.ZodMiniType> {
  readonly name: string;
  readonly path: string;
  readonly body: Body;
  orderId(input: z.output<Body>, params: Arguments['params'], tx: Tx): string | null;
  decide(input: z.output<Body>, params: Arguments['params'], tx: Tx, now: number): Decision;
  render(effect: EffectRow, now: number): JsonObject;
}

/** An operation that changes something, with a JSON body. */
export function write<Body extends z.ZodMiniType>(spec: WriteSpec<Body>): Operation {
  return {
    name: spec.name,
    method: 'POST',
    path: spec.path,
    render: spec.render,
    bind(raw, { params }) {
      const parsed = spec.body.safeParse(raw);
      if (!parsed.success) return { kind: 'invalid', errors: readable(parsed.error) };
      const text = JSON.stringify([spec.name, params, parsed.data]);
      return {
        kind: 'bound',
        call: {
          fingerprint: createHash('sha256').update(text).digest('hex'),
          orderId: (tx) => spec.orderId(parsed.data, params, tx),
          decide: (tx, now) => spec.decide(parsed.data, params, tx, now),
        },
      };
    },
  };
}

interface ReadSpec<Query extends z.ZodMiniType> {
  readonly name: string;
  readonly path: string;
  readonly query?: Query;
  answer(query: z.output<Query>, params: Arguments['params'], tx: Tx, now: number): Decision;
}

/** An operation that only reads. */
export function read<Query extends z.ZodMiniType = z.ZodMiniUnknown>(
  spec: ReadSpec<Query>,
): Operation {
  const schema: z.ZodMiniType<z.output<Query>> | undefined = spec.query as
    | z.ZodMiniType<z.output<Query>>
    | undefined;
  return {
    name: spec.name,
    method: 'GET',
    path: spec.path,
    render: (effect) => effect.document,
    bind(_raw, { params, query }) {
      const parsed = (schema ?? z.unknown()).safeParse(query);
      if (!parsed.success) return { kind: 'invalid', errors: readable(parsed.error) };
      return {
        kind: 'bound',
        call: {
          fingerprint: '',
          orderId: () => null,
          decide: (tx, now) => spec.answer(parsed.data as z.output<Query>, params, tx, now),
        },
      };
    },
  };
}

export function refusal(status: 404 | 409 | 422, code: string, message: string): Decision {
  return { kind: 'refused', status, code, message };
}

/** The effect with that id, if this system made it with that operation. */
export function effectOf(
  tx: Tx,
  system: SystemName,
  operation: string,
  externalId: string | undefined,
): EffectRow | undefined {
  const row = externalId === undefined ? undefined : tx.effect(externalId);
  return row?.system === system && row.operation === operation ? row : undefined;
}

/** A text that says something. */
export const text = z.string().check(z.minLength(1));

/** A whole number from `least` to `most`. */
export function whole(least: number, most: number = Number.MAX_SAFE_INTEGER) {
  return z.int().check(z.gte(least), z.lte(most));
}

/** A sum in minor units, with its currency. */
export const money = {
  amountMinor: whole(1),
  currency: z.string().check(z.length(3)),
};

export const lookupQuery = z.looseObject({
  correlationId: text,
  action: z.optional(z.string()),
});

function readable(error: z.core.$ZodError): JsonObject[] {
  return error.issues.map((issue) => ({
    place: issue.path.length === 0 ? '(body)' : issue.path.join('.'),
    problem: issue.message,
  }));
}
