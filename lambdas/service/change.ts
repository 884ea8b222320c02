import { canonicalJson } from '../../statemachines/ledger/canonical.ts';
import { erase as eraseRule } from '../../statemachines/rules/outside.ts';
import type { LedgerId } from '../ports/ledger-store.ts';
import { PayloadTooLarge } from '../ports/payload-store.ts';
import { parseBody, type RawBody, readRequest, tooLarge } from './body.ts';
import { latestMachine } from './machine.ts';
import { command, demand, ledgerIdOf, loadSaga, type Parts, rejected } from './parts.ts';
import type { Principal } from './principal.ts';
import { Problem } from './problems.ts';
import { cancelRequest, eraseRequest, resumeRequest } from './requests.ts';
import { viewOf } from './view.ts';
import type { SagaView } from './wire.ts';

/** Asks for recovery. Repeating it changes nothing. @throws Problem */
export async function cancelSaga(
  parts: Parts,
  principal: Principal,
  sagaId: string,
  raw: RawBody,
): Promise<SagaView> {
  demand(principal, 'starter', 'operator');
  const { reason, everything } = readRequest(cancelRequest, raw);
  const id = await known(parts, principal, sagaId);
  const remedy = 'read the saga again: its state says what can still be done';
  const given = {
    kind: 'cancel',
    reason,
    ...(everything === undefined ? {} : { everything }),
  } as const;
  const state = await command(parts, principal, id, given, remedy);
  return viewOf(state, parts.host.clock.now());
}

/** Starts the next drive, on the machine it has or on the latest. @throws Problem */
export async function resumeSaga(
  parts: Parts,
  principal: Principal,
  sagaId: string,
  raw: RawBody,
): Promise<SagaView> {
  demand(principal, 'operator');
  const request = readRequest(resumeRequest, raw.length === 0 ? '{}' : raw);
  const id = ledgerIdOf(principal, sagaId);
  const before = await loadSaga(parts, id);
  const named = request.machine === 'latest' ? latestMachine(parts, before) : {};
  const note = request.note === undefined ? {} : { note: request.note };
  const remedy = 'wait until the time given, or read the saga again';
  const state = await command(parts, principal, id, { kind: 'resume', ...named, ...note }, remedy);
  return viewOf(state, parts.host.clock.now());
}

/**
 * Records a model's advice, for the person who decides. It moves nothing. Free text may hold
 * anything, so it is always kept where it can be erased.
 * @throws Problem
 */
export async function suggest(
  parts: Parts,
  principal: Principal,
  sagaId: string,
  raw: RawBody,
): Promise<SagaView> {
  demand(principal, 'starter', 'reviewer', 'operator');
  const text = canonicalJson(parseBody(raw));
  const id = ledgerIdOf(principal, sagaId);
  const before = await loadSaga(parts, id);
  if (before.erased) {
    throw new Problem(
      'conflict',
      'the payloads of this saga were erased',
      'nothing is added to it any more',
    );
  }
  const { digest, bytes } = await putPayload(parts, id, text);
  const suggestion = { kind: 'ref', digest, bytes } as const;
  const remedy = 'read the saga again';
  const state = await command(parts, principal, id, { kind: 'suggest', suggestion }, remedy);
  return viewOf(state, parts.host.clock.now());
}

async function putPayload(
  parts: Parts,
  id: LedgerId,
  text: string,
): Promise<{ readonly digest: string; readonly bytes: number }> {
  try {
    return await parts.host.stores.payloads.put(id, text);
  } catch (error) {
    if (error instanceof PayloadTooLarge) throw tooLarge(error.bytes);
    throw error;
  }
}

/**
 * Erases every payload of a saga that is final. The payloads go first, so that the event never says
 * more than is true; if it is lost, or a late result was kept since, the same request again erases
 * what is left.
 * @throws Problem `conflict` before a final state
 */
export async function eraseSaga(
  parts: Parts,
  principal: Principal,
  sagaId: string,
  raw: RawBody,
): Promise<SagaView> {
  demand(principal, 'operator');
  const { reason } = readRequest(eraseRequest, raw);
  const id = ledgerIdOf(principal, sagaId);
  const remedy = 'cancel it or let it end, then erase';
  const given = { kind: 'erase', reason } as const;
  // Final states are final (invariant 1): what may be erased now may be erased for good.
  const probe = eraseRule(await loadSaga(parts, id), given, {
    now: parts.host.clock.now(),
    actor: principal.id,
  });
  if (probe.kind === 'rejected') throw rejected(probe.rejection, remedy);
  await parts.host.stores.payloads.erase(id);
  const state = await command(parts, principal, id, given, remedy);
  return viewOf(state, parts.host.clock.now());
}

/** So that a saga that is unknown, or whose ledger is gone, is told apart before anything is written. */
async function known(parts: Parts, principal: Principal, sagaId: string): Promise<LedgerId> {
  const id = ledgerIdOf(principal, sagaId);
  await loadSaga(parts, id);
  return id;
}
