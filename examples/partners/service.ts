import type { FaultName, FaultRow } from './faults.ts';
import { spoilOf, spoilt, takeFault } from './faults.ts';
import type { BoundCall, Operation, PartnerSystem } from './operation.ts';
import { json, problem } from './problem.ts';
import type { CallRecord, EffectRow, JsonObject } from './records.ts';
import type { PartnerStore, Tx } from './store.ts';

/** What a system needs from the process around it. */
export interface Surroundings {
  readonly store: PartnerStore;
  now(): number;
  sleep(ms: number): Promise<void>;
  /** Dies at once, as if killed. */
  die(): never;
  /** The longest that a call can be kept waiting here, where that is bounded. */
  readonly longestCallMs?: number;
}

/** One request, as the transport hands it over. */
export interface Request {
  readonly correlationId: string | null;
  readonly idempotencyKey: string | null;
  readonly bound: BoundCall;
}

/** What the transport does with the caller. */
export type Reply =
  | { readonly kind: 'answer'; readonly response: Response }
  /** Close the connection without an answer. */
  | { readonly kind: 'drop' }
  /** Say nothing until the caller gives up. `done` resolves once the late commit stands. */
  | { readonly kind: 'hang'; readonly done: Promise<unknown> };

/** A reply that gives the caller nothing. */
export type Silence = Exclude<Reply, { readonly kind: 'answer' }>;

const ACCEPTED = 202;
const CREATED = 201;

/**
 * Serves one call: records it, lets a fault strike, then decides and commits in one transaction.
 * The answer is given only after the commit is on disk.
 */
export async function serveCall(
  at: Surroundings,
  system: PartnerSystem,
  operation: Operation,
  request: Request,
): Promise<Reply> {
  const { call, fault } = await at.store.transact((tx) =>
    receive(tx, at, system, operation, request),
  );
  const turnedAway = fault === undefined ? undefined : await strikeBefore(at, call, fault);
  if (turnedAway !== undefined) return turnedAway;

  const commit = (): Promise<Settled> =>
    at.store.transact((tx) => settle(tx, at.now(), system, operation, request, call, fault));
  if (fault?.fault === 'commit_late') {
    return { kind: 'hang', done: at.sleep(fault.delayMs).then(commit) };
  }
  if (fault?.fault === 'slow') await at.sleep(fault.delayMs);
  const settled = await commit();
  if (fault?.fault === 'crash_after') at.die();
  if (fault?.fault === 'commit_then_drop') return { kind: 'drop' };
  return { kind: 'answer', response: respond(settled) };
}

/** Records a call whose body or query could not be read. */
export function recordInvalid(
  at: Surroundings,
  system: PartnerSystem,
  operation: Operation,
  ids: Pick<Request, 'correlationId' | 'idempotencyKey'>,
): Promise<void> {
  return at.store.transact((tx) => {
    const call = opened(tx, at.now(), system, operation, ids, null);
    tx.putCall({ ...call, outcome: 'invalid', status: 400, finishedAt: at.now() });
  });
}

function opened(
  tx: Tx,
  now: number,
  system: PartnerSystem,
  operation: Operation,
  ids: Pick<Request, 'correlationId' | 'idempotencyKey'>,
  orderId: string | null,
): CallRecord {
  return {
    seq: tx.next('seq'),
    system: system.name,
    operation: operation.name,
    correlationId: ids.correlationId,
    idempotencyKey: ids.idempotencyKey,
    orderId,
    at: now,
    finishedAt: null,
    outcome: 'open',
    status: null,
    code: null,
    fault: null,
    effect: null,
  };
}

function receive(
  tx: Tx,
  at: Surroundings,
  system: PartnerSystem,
  operation: Operation,
  request: Request,
): { readonly call: CallRecord; readonly fault: FaultRow | undefined } {
  const blank = opened(tx, at.now(), system, operation, request, request.bound.orderId(tx));
  const fault = takeFault(tx, blank);
  const call = { ...blank, fault: fault?.fault ?? null };
  tx.putCall(call);
  return { call, fault };
}

/** Faults that keep the call from its effect. `undefined`: the call goes on. */
async function strikeBefore(
  at: Surroundings,
  call: CallRecord,
  fault: FaultRow,
): Promise<Reply | undefined> {
  const finish = (change: Pick<CallRecord, 'outcome' | 'status' | 'code'>): Promise<void> =>
    at.store.transact((tx) => tx.putCall({ ...call, ...change, finishedAt: at.now() }));
  const answer = (response: Response): Reply => ({ kind: 'answer', response });
  switch (fault.fault) {
    case 'refuse':
      await finish({ outcome: 'refused', status: 422, code: fault.code });
      return answer(problem(422, fault.code, 'The partner refuses this request for good.'));
    case 'not_success':
      await finish({ outcome: 'refused', status: 200, code: fault.code });
      return answer(
        json(200, { success: false, code: fault.code, message: 'The partner did not do it.' }),
      );
    case 'throttle': {
      await finish({ outcome: 'throttled', status: 429, code: 'too_many_requests' });
      const seconds = String(Math.ceil(fault.retryAfterMs / 1_000));
      return answer(
        problem(429, 'too_many_requests', `Nothing was done. Ask again in ${seconds} s.`, {
          headers: { 'retry-after': seconds },
        }),
      );
    }
    case 'unavailable':
      await finish({ outcome: 'unavailable', status: 503, code: 'unavailable' });
      return answer(problem(503, 'unavailable', 'Nothing was done. Ask again later.'));
    case 'drop_before':
      await finish({ outcome: 'dropped', status: null, code: null });
      return { kind: 'drop' };
    case 'crash_before':
      return at.die();
    default:
      return undefined;
  }
}

type Settled =
  | { readonly kind: 'answered'; readonly status: number; readonly body: JsonObject }
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly code: string;
      readonly message: string;
    };

/** The caller of these hears nothing, whatever is committed. */
const SILENT: readonly (FaultName | undefined)[] = [
  'commit_late',
  'commit_then_drop',
  'crash_after',
];

function settle(
  tx: Tx,
  now: number,
  system: PartnerSystem,
  operation: Operation,
  request: Request,
  call: CallRecord,
  fault: FaultRow | undefined,
): Settled {
  const told = (status: number): number | null => (SILENT.includes(fault?.fault) ? null : status);
  const close = (change: Pick<CallRecord, 'outcome' | 'status' | 'code' | 'effect'>): void =>
    tx.putCall({ ...call, ...change, finishedAt: now });
  const refuse = (status: number, code: string, message: string): Settled => {
    close({ outcome: 'refused', status: told(status), code, effect: null });
    return { kind: 'refused', status, code, message };
  };

  const key = system.honoursKeys && operation.method === 'POST' ? request.idempotencyKey : null;
  const known = key === null ? undefined : tx.key(system.name, key);
  const first = known === undefined ? undefined : tx.effect(known.externalId);
  if (known !== undefined && first !== undefined) {
    if (known.fingerprint !== request.bound.fingerprint) {
      return refuse(
        422,
        'idempotency_key_reused',
        'This key was used for another request. Send the first request again, or take a new key.',
      );
    }
    close({
      outcome: 'replayed',
      status: told(known.status),
      code: null,
      effect: first.externalId,
    });
    const body = spoilt(operation.render(first, now), known.spoil);
    return { kind: 'answered', status: known.status, body };
  }

  const decision = request.bound.decide(tx, now);
  if (decision.kind === 'refused') return refuse(decision.status, decision.code, decision.message);
  const spoil = spoilOf(fault);
  if (decision.kind === 'answer') {
    close({ outcome: 'read', status: told(200), code: null, effect: null });
    return { kind: 'answered', status: 200, body: spoilt(decision.body, spoil) };
  }

  const slow = fault?.fault === 'pending';
  const row: EffectRow = {
    seq: tx.next('seq'),
    system: system.name,
    operation: operation.name,
    externalId: `${decision.prefix}-${String(tx.next(decision.prefix)).padStart(6, '0')}`,
    reverses: decision.reverses ?? null,
    reversedBy: [],
    correlationId: request.correlationId,
    idempotencyKey: request.idempotencyKey,
    orderId: call.orderId,
    call: call.seq,
    at: now,
    settlesAt: slow ? now + fault.delayMs : null,
    settlesAs: slow ? fault.settlesAs : 'settled',
    amountMinor: decision.amountMinor ?? null,
    currency: decision.currency ?? null,
    costMinor: decision.costMinor ?? null,
    document: decision.document,
  };
  tx.putEffect(row);
  const undone = row.reverses === null ? undefined : tx.effect(row.reverses);
  if (undone !== undefined) {
    tx.putEffect({ ...undone, reversedBy: [...undone.reversedBy, row.externalId] });
  }
  const status = slow ? ACCEPTED : CREATED;
  if (key !== null) {
    const { fingerprint } = request.bound;
    tx.putKey(system.name, key, { externalId: row.externalId, fingerprint, status, spoil });
  }
  close({ outcome: 'committed', status: told(status), code: null, effect: row.externalId });
  return { kind: 'answered', status, body: spoilt(operation.render(row, now), spoil) };
}

function respond(settled: Settled): Response {
  return settled.kind === 'answered'
    ? json(settled.status, settled.body)
    : problem(settled.status, settled.code, settled.message);
}
