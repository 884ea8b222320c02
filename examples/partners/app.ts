import type { HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Context } from 'hono';
import { Hono } from 'hono';
import { faultSchema } from './faults.ts';
import type { Operation, PartnerSystem } from './operation.ts';
import { json, problem } from './problem.ts';
import type { SystemName } from './records.ts';
import { countActions, effectRecord } from './records.ts';
import type { Request, Surroundings } from './service.ts';
import { recordInvalid, serveCall } from './service.ts';
import type { Tx } from './store.ts';
import { courier } from './systems/courier.ts';
import { customers } from './systems/customers.ts';
import { erp } from './systems/erp.ts';
import { payments, SETTLING_OPERATIONS } from './systems/payments.ts';
import { stock } from './systems/stock.ts';

const ALL_SYSTEMS: readonly PartnerSystem[] = [stock, erp, courier, payments, customers];
const MAX_HEADER_CHARACTERS = 300;
const MAX_BODY_BYTES = 64 * 1024;

type PartnerContext = Context<{ Bindings: HttpBindings }>;

/** The HTTP face of all partner systems, their records and their faults. */
export function createPartnersApp(at: Surroundings): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>();

  app.get('/health', (c) => c.json({ pid: process.pid, openCalls: at.store.openCalls() }));
  app.get('/faults', (c) => c.json({ faults: at.store.transact((tx) => tx.faults()) }));
  app.delete('/faults', () => {
    at.store.transact((tx) => tx.clearFaults());
    return new Response(null, { status: 204 });
  });
  app.post('/faults', (c) => switchOn(at, c));

  for (const system of ALL_SYSTEMS) {
    app.get(`/${system.name}/records`, (c) => {
      const only = {
        orderId: c.req.query('orderId'),
        correlationId: c.req.query('correlationId'),
      };
      return c.json(at.store.transact((tx) => recordsOf(tx, system.name, only, at.now())));
    });
    for (const operation of system.operations) {
      app.on(operation.method, `/${system.name}${operation.path}`, (c) =>
        transport(at, system, operation, c),
      );
    }
  }
  app.notFound((c) =>
    problem(
      404,
      'unknown_route',
      `There is no ${c.req.method} ${c.req.path}. See examples/README.md.`,
    ),
  );
  app.onError((error) =>
    problem(500, 'partner_bug', `The partner service failed: ${error.message}`),
  );
  return app;
}

async function transport(
  at: Surroundings,
  system: PartnerSystem,
  operation: Operation,
  c: PartnerContext,
): Promise<Response> {
  const ids = {
    correlationId: c.req.header('x-correlation-id') ?? null,
    idempotencyKey: c.req.header('idempotency-key') ?? null,
  };
  for (const [name, value] of Object.entries(ids)) {
    if (value === null || (value.length > 0 && value.length <= MAX_HEADER_CHARACTERS)) continue;
    return problem(
      400,
      'bad_header',
      `${name} must have 1 to ${MAX_HEADER_CHARACTERS} characters.`,
    );
  }
  const body =
    operation.method === 'POST' ? await readBody(c) : { kind: 'body' as const, raw: null };
  if (body.kind === 'unreadable') {
    recordInvalid(at, system, operation, ids);
    return body.response;
  }
  const args = { params: c.req.param(), query: c.req.query() };
  const binding = operation.bind(body.raw, args);
  if (binding.kind === 'invalid') {
    recordInvalid(at, system, operation, ids);
    return problem(400, 'invalid_request', 'Mend the places listed in errors and send it again.', {
      errors: binding.errors,
    });
  }
  const asked = operation.method === 'GET' ? (c.req.query('correlationId') ?? null) : null;
  const request: Request = {
    ...ids,
    correlationId: ids.correlationId ?? asked,
    bound: binding.call,
  };
  const reply = await serveCall(at, system, operation, request);
  if (reply.kind === 'answer') return reply.response;
  const { socket } = c.env.incoming;
  if (reply.kind === 'drop') socket.destroy();
  else await new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return RESPONSE_ALREADY_SENT;
}

type Body =
  | { readonly kind: 'body'; readonly raw: unknown }
  | { readonly kind: 'unreadable'; readonly response: Response };

async function readBody(c: PartnerContext): Promise<Body> {
  const text = await c.req.text();
  if (Buffer.byteLength(text) > MAX_BODY_BYTES) {
    const detail = `A body has at most ${MAX_BODY_BYTES} bytes.`;
    return { kind: 'unreadable', response: problem(413, 'body_too_large', detail) };
  }
  try {
    return { kind: 'body', raw: text === '' ? {} : JSON.parse(text) };
  } catch {
    return { kind: 'unreadable', response: problem(400, 'invalid_json', 'The body must be JSON.') };
  }
}

async function switchOn(at: Surroundings, c: PartnerContext): Promise<Response> {
  const body = await readBody(c);
  if (body.kind === 'unreadable') return body.response;
  const parsed = faultSchema.safeParse(body.raw);
  if (!parsed.success) {
    return problem(400, 'invalid_fault', 'Mend the places listed in errors and send it again.', {
      errors: parsed.error.issues.map(({ path, message }) => ({
        place: path.join('.') || '(body)',
        problem: message,
      })),
    });
  }
  const fault = parsed.data;
  const names = operationsOf(fault.system);
  if (!names.includes(fault.operation)) {
    const detail = `${fault.system} has no operation "${fault.operation}": use ${names.join(', ')}.`;
    return problem(400, 'invalid_fault', detail);
  }
  if (
    fault.fault === 'pending' &&
    !(fault.system === 'payments' && SETTLING_OPERATIONS.includes(fault.operation))
  ) {
    const detail = `Only payments settle later: use pending with ${SETTLING_OPERATIONS.join(' or ')}.`;
    return problem(400, 'invalid_fault', detail);
  }
  const row = at.store.transact((tx) => {
    // Padded, so that the store's key order is the order of switching on.
    const id = `F-${String(tx.next('F')).padStart(9, '0')}`;
    tx.putFault({ ...fault, id });
    return { ...fault, id };
  });
  return json(201, row);
}

function operationsOf(name: SystemName): string[] {
  const system = ALL_SYSTEMS.find((candidate) => candidate.name === name);
  return system?.operations.map((operation) => operation.name) ?? [];
}

interface RecordFilter {
  readonly orderId: string | undefined;
  readonly correlationId: string | undefined;
}

function recordsOf(tx: Tx, system: SystemName, only: RecordFilter, now: number): unknown {
  const wanted = (row: {
    system: SystemName;
    orderId: string | null;
    correlationId: string | null;
  }): boolean =>
    row.system === system &&
    (only.orderId === undefined || row.orderId === only.orderId) &&
    (only.correlationId === undefined || row.correlationId === only.correlationId);
  const calls = tx.calls().filter(wanted);
  const effects = tx
    .effects()
    .filter(wanted)
    .map((row) => {
      const undoing = row.reversedBy.map((id) => tx.effect(id)).filter((one) => one !== undefined);
      return effectRecord(row, undoing, now);
    });
  return { system, calls, effects, counts: countActions(calls, effects) };
}
