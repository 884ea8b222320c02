import type { AnySaga } from '../../statemachines/language/saga.ts';
import type { JsonValue } from '../../statemachines/ledger/canonical.ts';
import { recoveryGraph } from '../../statemachines/plan/orders.ts';
import {
  PROTOCOL,
  type SagaStarted,
  type StepRecord,
  type Stored,
} from '../../statemachines/rules/events.ts';
import { DRIVE_CHECK_MS } from '../../statemachines/rules/protocol.ts';
import type { SagaState } from '../../statemachines/rules/state.ts';
import type { LedgerId } from '../ports/ledger-store.ts';
import { PayloadTooLarge } from '../ports/payload-store.ts';
import { keepWhole } from '../runtime/values.ts';
import { storable } from '../tool/values.ts';
import { admissionOf } from './admission.ts';
import { fitted, parseBody, type RawBody, tooLarge } from './body.ts';
import { isSameBody, keepBodyDigest } from './body-digest.ts';
import { demand, type Parts, sagaUnknown } from './parts.ts';
import type { Principal } from './principal.ts';
import { Problem } from './problems.ts';
import { checkedKey, keyReused, type StartKind, startId } from './start-key.ts';
import { viewOf } from './view.ts';
import { type SagaView, sagaPath } from './wire.ts';

/**
 * Starts a saga, or finds the one that the same start made before. Everything that can be refused is
 * refused before anything is written. The answer does not wait for the first drive.
 *
 * @throws Problem `forbidden`, `definition-unknown`, `key-missing`, `key-invalid`,
 *   `input-too-large`, `body-invalid`, `input-invalid`, `key-reused`, `budget-spent`
 */
export async function startSaga(
  parts: Parts,
  principal: Principal,
  name: string,
  givenKey: string | undefined,
  raw: RawBody,
): Promise<SagaView> {
  demand(principal, 'starter');
  const saga = parts.sagas.get(name);
  if (saga === undefined) throw definitionUnknown();
  const key = checkedKey(givenKey);
  const body = parseBody(raw);
  const input = fitted(saga.input, body, 'input-invalid', 'the input');
  const { id, kind } = startId(principal, saga, key, input);
  const now = (): number => parts.host.clock.now();

  const existing = await parts.ledger.load(id);
  if (existing !== undefined) return replayed(parts, existing, body, kind);

  const admission = admissionOf(parts, id, saga);
  await admission.look();
  // The input first: it may be refused for its size, and a refused start leaves nothing behind.
  const kept = await keepInput(parts, id, saga, body, input);
  const bodyDigest = await keepBodyDigest(parts.host.stores.payloads, id, saga.input, body);
  const first = startEvent(parts, principal, id, saga, key);
  const event = { ...first, ...admission.event, bodyDigest, input: kept };
  const { verdict, state } = await parts.ledger.write(
    id,
    { kind: 'start', event },
    { actor: principal.id, unstarted: true, ...admission.options },
  );
  if (state === undefined) throw sagaUnknown();
  // Somebody else's event 1 may have come first: then this start is a repeat, or a misuse, of that one.
  return verdict.kind === 'append' ? viewOf(state, now()) : replayed(parts, state, body, kind);
}

/** Event 1 without what the start brought: its body and what follows from it. */
export function startEvent(
  parts: Parts,
  principal: Principal,
  id: LedgerId,
  saga: AnySaga,
  key: string,
): Omit<SagaStarted, 'type' | 'bodyDigest' | 'input'> {
  const startedAt = parts.host.clock.now();
  const { deadlineMs, ceiling } = saga.plan;
  return {
    protocol: PROTOCOL,
    tenant: id.tenant,
    sagaId: id.sagaId,
    principal: principal.id,
    name: saga.name,
    version: saga.version,
    sagaType: saga.plan.sagaType,
    planDigest: saga.plan.digest,
    machine: parts.machineOf(saga),
    key,
    steps: stepRecords(saga),
    ...(deadlineMs === undefined ? {} : { deadlineAt: startedAt + deadlineMs }),
    ...(ceiling === undefined ? {} : { ceiling }),
    registeredAt: startedAt + DRIVE_CHECK_MS,
  };
}

export function definitionUnknown(): Problem {
  return new Problem(
    'definition-unknown',
    'there is no saga definition of this name',
    'GET /v1/definitions lists the names',
    { at: 'name' },
  );
}

/** @throws Problem `key-reused` */
async function replayed(
  parts: Parts,
  state: SagaState,
  body: JsonValue,
  kind: StartKind,
): Promise<SagaView> {
  const { tenant, sagaId, bodyDigest } = state.start;
  const { stores, clock } = parts.host;
  // A saga that was run again under this key has no body of its own that could be repeated.
  const again = state.start.previous !== undefined && kind === 'key';
  if (!again && (await isSameBody(stores.payloads, { tenant, sagaId }, bodyDigest, body))) {
    return { ...viewOf(state, clock.now()), replayed: true };
  }
  if (kind === 'key') throw keyReused();
  throw new Problem(
    'key-reused',
    'a saga for this business fact exists already, started with another body',
    'read that saga; a new key does not make a second one',
    { at: sagaPath(state.start.sagaId) },
  );
}

export async function keepInput(
  parts: Parts,
  id: LedgerId,
  saga: AnySaga,
  body: unknown,
  input: unknown,
): Promise<Stored> {
  try {
    // What the schema does not know is not kept: nobody asked for it, and nobody declared it sensitive.
    return await keepWhole(parts.host.stores, id, storable(saga.input, body, input), saga.input);
  } catch (error) {
    if (error instanceof PayloadTooLarge) throw tooLarge(error.bytes);
    throw error;
  }
}

/** What event 1 keeps of the steps. What the fold would assume anyway is left out, for its size. */
export function stepRecords(saga: AnySaga): StepRecord[] {
  const assumed = recoveryGraph(saga.steps, undefined);
  return saga.plan.steps.map((step, index) => {
    const before = saga.plan.steps[index - 1];
    const follows = before === undefined ? [] : [before.name];
    return {
      name: step.name,
      tool: step.tool,
      effect: step.effect,
      ...(same(step.after, follows) ? {} : { after: step.after }),
      ...(same(step.recoverAfter, assumed.get(step.name) ?? [])
        ? {}
        : { recoverAfter: step.recoverAfter }),
      ...(step.checkpoint === undefined ? {} : { checkpoint: step.checkpoint }),
    };
  });
}

function same(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((name) => right.includes(name));
}
