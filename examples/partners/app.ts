import type { Context, Env } from 'hono';
import { Hono } from 'hono';
import { clearFaults, type Fault, faultSchema } from './faults.ts';
import type { Operation, PartnerSystem } from './operation.ts';
import { json, problem } from './problem.ts';
import type { SystemName } from './records.ts';
import { countActions, effectRecord } from './records.ts';
import type { Reply, Request, Silence, Surroundings } from './service.ts';
import { recordInvalid, serveCall } from './service.ts';
import type { Tx } from './store.ts';
import { courier } from './systems/courier.ts';
import { customers } from './systems/customers.ts';
import { documents } from './systems/documents.ts';
import { erp } from './systems/erp.ts';
import { payments, SETTLING_OPERATIONS } from './systems/payments.ts';
import { register } from './systems/register.ts';
import { search } from './systems/search.ts';
import { stock } from './systems/stock.ts';

const ALL_SYSTEMS: readonly PartnerSystem[] = [
  stock,
  erp,
  courier,
  payments,
  customers,
  documents,
  search,
  register,
];
const MAX_HEADER_CHARACTERS = 300;
const MAX_BODY_BYTES = 64 * 1024;

/** How a caller is left without an answer, which depends on what carries the requests. */
export type FallSilent<E extends Env> = (c: Context<E>, how: Silence) => Promise<Response>;

/** The HTTP face of all partner systems, their records and their faults. */
export function createPartnersApp<E extends Env>(
  at: Surroundings,
  fallSilent: FallSilent<E>,
): Hono<E> {
  const app = new Hono<E>();

  app.get('/health', async (c) => {
    const calls = await at.store.transact((tx) => tx.calls());
    const openCalls = calls.filter(({ outcome }) => outcome === 'open').length;
    return c.json({ pid: process.pid, openCalls });
  });
  app.get('/faults', async (c) => c.json({ faults: await at.store.transact((tx) => tx.faults()) }));
  app.delete('/faults', async () => {
    await at.store.transact(clearFaults);
    return new Response(null, { status: 204 });
  });
  app.post('/faults', (c) => switchOn(at, c));

  for (const system of ALL_SYSTEMS) {
    app.get(`/${system.name}/records`, async (c) => {
      const only = {
        orderId: c.req.query('orderId'),
        correlationId: c.req.query('correlationId'),
      };
      return c.json(await at.store.transact((tx) => recordsOf(tx, system.name, only, at.now())));
    });
    for (const operation of system.operations) {
      app.on(operation.method, `/${system.name}${operation.path}`, async (c) => {
        const reply = await received(at, system, operation, c);
        return reply.kind === 'answer' ? reply.response : fallSilent(c, reply);
      });
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

async function received(
  at: Surroundings,
  system: PartnerSystem,
  operation: Operation,
  c: Context,
): Promise<Reply> {
  const ids = {
    correlationId: c.req.header('x-correlation-id') ?? null,
    idempotencyKey: c.req.header('idempotency-key') ?? null,
  };
  for (const [name, value] of Object.entries(ids)) {
    if (value === null || (value.length > 0 && value.length <= MAX_HEADER_CHARACTERS)) continue;
    const detail = `${name} must have 1 to ${MAX_HEADER_CHARACTERS} characters.`;
    return answer(problem(400, 'bad_header', detail));
  }
  const body =
    operation.method === 'POST' ? await readBody(c) : { kind: 'body' as const, raw: null };
  if (body.kind === 'unreadable') {
    await recordInvalid(at, system, operation, ids);
    return answer(body.response);
  }
  const args = { params: c.req.param(), query: c.req.query() };
  const binding = operation.bind(body.raw, args);
  if (binding.kind === 'invalid') {
    await recordInvalid(at, system, operation, ids);
    return answer(
      problem(400, 'invalid_request', 'Mend the places listed in errors and send it again.', {
        errors: binding.errors,
      }),
    );
  }
  const asked = operation.method === 'GET' ? (c.req.query('correlationId') ?? null) : null;
  const request: Request = {
    ...ids,
    correlationId: ids.correlationId ?? asked,
    bound: binding.call,
  };
  return serveCall(at, system, operation, request);
}

function answer(response: Response): Reply {
  return { kind: 'answer', response };
}

type Body =
  | { readonly kind: 'body'; readonly raw: unknown }
  | { readonly kind: 'unreadable'; readonly response: Response };

async function readBody(c: Context): Promise<Body> {
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

async function switchOn(at: Surroundings, c: Context): Promise<Response> {
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
  const impossible = impossibility(fault, at);
  if (impossible !== undefined) return problem(400, 'invalid_fault', impossible);
  const row = await at.store.transact((tx) => {
    // Padded, so that the store's key order is the order of switching on.
    const id = `F-${String(tx.next('F')).padStart(9, '0')}`;
    tx.putFault({ ...fault, id });
    return { ...fault, id };
  });
  return json(201, row);
}

/** Why a well-formed fault can never do here what it says. */
function impossibility(fault: Fault, { longestCallMs }: Surroundings): string | undefined {
  const names = operationsOf(fault.system);
  if (!names.includes(fault.operation)) {
    return `${fault.system} has no operation "${fault.operation}": use ${names.join(', ')}.`;
  }
  const settles = fault.system === 'payments' && SETTLING_OPERATIONS.includes(fault.operation);
  if (fault.fault === 'pending' && !settles) {
    return `Only payments settle later: use pending with ${SETTLING_OPERATIONS.join(' or ')}.`;
  }
  const waits = fault.fault === 'slow' || fault.fault === 'commit_late';
  if (waits && longestCallMs !== undefined && fault.delayMs > longestCallMs) {
    return `A call cannot take so long here: give a delayMs of at most ${longestCallMs}.`;
  }
  return undefined;
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
