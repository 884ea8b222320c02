import * as z from 'zod/mini';
import type { JsonObject } from './records.ts';
import { SYSTEMS } from './records.ts';

/** Everything that can be made to go wrong with one call. */
export const FAULTS = [
  /** A clear business refusal: 422 with `code`. No effect. */
  'refuse',
  /** 429 with `Retry-After`. No effect. */
  'throttle',
  /** 503. No effect. */
  'unavailable',
  /** 200 with `{"success": false}`. No effect. */
  'not_success',
  /** Closes the connection. No effect. */
  'drop_before',
  /** The process dies. No effect. */
  'crash_before',
  /** Waits `delayMs`, then commits and answers. */
  'slow',
  /** Never answers; commits after `delayMs`, when the caller has given up. */
  'commit_late',
  /** Commits, then closes the connection. */
  'commit_then_drop',
  /** Commits, then the process dies. */
  'crash_after',
  /** Accepts (202); settles after `delayMs` as `settlesAs`. Charges and refunds only. */
  'pending',
  /** Commits and answers with a `note` of `bytes` bytes. */
  'huge_result',
  /** Commits and answers a body that fits no contract: see `shape`. */
  'wrong_shape',
] as const;
export type FaultName = (typeof FAULTS)[number];

/** A whole number from `least` on. */
const from = (least: number) => z.int().check(z.gte(least));

export const faultSchema = z.strictObject({
  system: z.enum(SYSTEMS),
  operation: z.string(),
  fault: z.enum(FAULTS),
  match: z.optional(
    z.strictObject({ correlationId: z.optional(z.string()), orderId: z.optional(z.string()) }),
  ),
  /** How many matching calls it strikes. */
  times: z._default(from(1), 1),
  /** How many matching calls it lets pass first. */
  skip: z._default(from(0), 0),
  /** For `slow`, `commit_late`, `pending`. */
  delayMs: z._default(from(0), 2_500),
  /** For `throttle`; sent in whole seconds, rounded up. */
  retryAfterMs: z._default(from(0), 1_000),
  /** For `refuse` and `not_success`. */
  code: z._default(z.string(), 'refused_by_partner'),
  /** For `huge_result`. */
  bytes: z._default(from(1), 400_000),
  /** For `wrong_shape`: ids wrapped where nobody looks, or numbers sent as text beside right ids. */
  shape: z._default(z.enum(['envelope', 'types']), 'envelope'),
  /** For `pending`. */
  settlesAs: z._default(z.enum(['settled', 'declined']), 'settled'),
});

/** A fault as switched on; `times` and `skip` count down as calls arrive, durably. */
export type Fault = z.output<typeof faultSchema>;
/** A fault as asked for. */
export type FaultRequest = z.input<typeof faultSchema>;

export interface FaultRow extends Fault {
  readonly id: string;
}

/** Where the faults that are switched on are kept. */
export interface FaultRows {
  faults(): FaultRow[];
  putFault(fault: FaultRow): void;
  removeFault(id: string): void;
}

interface Target {
  readonly system: string;
  readonly operation: string;
  readonly correlationId: string | null;
  readonly orderId: string | null;
}

/** The oldest fault that strikes this call; its counters go down. */
export function takeFault(rows: FaultRows, call: Target): FaultRow | undefined {
  for (const fault of rows.faults()) {
    if (!strikes(fault, call)) continue;
    if (fault.skip > 0) {
      rows.putFault({ ...fault, skip: fault.skip - 1 });
      continue;
    }
    if (fault.times > 1) rows.putFault({ ...fault, times: fault.times - 1 });
    else rows.removeFault(fault.id);
    return fault;
  }
  return undefined;
}

export function clearFaults(rows: FaultRows): void {
  for (const { id } of rows.faults()) rows.removeFault(id);
}

function strikes(fault: Fault, target: Target): boolean {
  const { correlationId, orderId } = fault.match ?? {};
  return (
    fault.system === target.system &&
    fault.operation === target.operation &&
    (correlationId === undefined || correlationId === target.correlationId) &&
    (orderId === undefined || orderId === target.orderId)
  );
}

/** How an answer is spoilt; kept beside the idempotency key, so that a replay gives the same answer. */
export type Spoil =
  | { readonly kind: 'pad'; readonly bytes: number }
  | { readonly kind: 'envelope' }
  | { readonly kind: 'types' };

export function spoilOf(fault: Fault | undefined): Spoil | null {
  if (fault?.fault === 'huge_result') return { kind: 'pad', bytes: fault.bytes };
  if (fault?.fault === 'wrong_shape') return { kind: fault.shape };
  return null;
}

export function spoilt(body: JsonObject, spoil: Spoil | null): JsonObject {
  switch (spoil?.kind) {
    case undefined:
      return body;
    case 'pad':
      return { ...body, note: 'x'.repeat(spoil.bytes) };
    case 'envelope':
      return { data: body };
    case 'types':
      return Object.fromEntries(
        Object.entries(body).map(([name, value]) => [
          name,
          typeof value === 'number' ? `about ${value}` : value,
        ]),
      );
  }
}
