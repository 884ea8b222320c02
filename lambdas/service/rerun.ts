import type { AnySaga } from '../../statemachines/language/saga.ts';
import { canonicalJson, type JsonValue } from '../../statemachines/ledger/canonical.ts';
import { sha256Hex } from '../../statemachines/ledger/hash.ts';
import { keptSteps } from '../../statemachines/rules/checkpoint.ts';
import type { AdoptedStep, Stored } from '../../statemachines/rules/events.ts';
import { sagaIdOf } from '../../statemachines/rules/keys.ts';
import { RERUN_LEASE_MS } from '../../statemachines/rules/protocol.ts';
import { claimRerun } from '../../statemachines/rules/rerun.ts';
import type { SagaState, StepState } from '../../statemachines/rules/state.ts';
import { stepsInOrder } from '../../statemachines/rules/view.ts';
import { type LedgerId, StoreUnavailable } from '../ports/ledger-store.ts';
import { fetchStored, keep, PayloadGone } from '../runtime/values.ts';
import { admissionOf } from './admission.ts';
import { fitted, type RawBody, readRequest } from './body.ts';
import {
  command,
  demand,
  ledgerIdOf,
  loadSaga,
  type Parts,
  rejected,
  sagaUnknown,
} from './parts.ts';
import type { Principal } from './principal.ts';
import { Problem } from './problems.ts';
import { rerunRequest } from './requests.ts';
import { keepInput, startEvent } from './start.ts';
import { checkedKey, keyReused } from './start-key.ts';
import { viewOf } from './view.ts';
import type { SagaView } from './wire.ts';

const REMEDY = 'read the saga again: its state says what can still be done';

/** The last try of the first event is over by the lease's end, however slow the store. */
const WRITE_MARGIN_MS = 15_000;

/** Results above this size go to the payload store, so that event 1 stays near one write unit. */
const MAX_ADOPTED_BYTES = 256;

/**
 * Runs a compensated saga again, as a saga of its own: with the same input, from its checkpoint. The
 * steps that the checkpoint kept are done from the start, with their recorded results, and are never
 * undone by the new saga. Without a checkpoint it begins at the first step.
 *
 * @throws Problem `conflict` (not compensated, erased, run again already, or the definition has
 *   changed too much), `saga-unknown`, `key-missing`, `key-invalid`, `key-reused`, `budget-spent`
 */
export async function rerunSaga(
  parts: Parts,
  principal: Principal,
  sagaId: string,
  givenKey: string | undefined,
  raw: RawBody,
): Promise<SagaView> {
  demand(principal, 'starter', 'operator');
  const from = ledgerIdOf(principal, sagaId);
  const before = await loadSaga(parts, from);
  const key = checkedKey(givenKey);
  readRequest(rerunRequest, raw.length === 0 ? '{}' : raw);
  const saga = definitionFor(parts, before);
  const id = rerunId(principal, saga, key, before);
  const now = (): number => parts.host.clock.now();

  const existing = await parts.ledger.load(id);
  if (existing !== undefined) return replayed(parts, existing, sagaId);
  const vacant = await vacantClaim(parts, before);
  const given = {
    kind: 'rerun',
    saga: id.sagaId,
    ...(vacant === undefined ? {} : { vacant }),
  } as const;
  // Asked first without writing: everything that can be refused is refused before anything is kept.
  const probe = claimRerun(before, given, { now: now(), actor: principal.id });
  if (probe.kind === 'rejected') throw rejected(probe.rejection, REMEDY);
  const admission = admissionOf(parts, id, saga);
  await admission.look();
  const values = await readValues(parts, from, before, saga);
  const claimed = await command(parts, principal, from, given, REMEDY);

  const adopted = await adopt(parts, id, values.kept);
  const input = await keepInput(parts, id, saga, values.body, values.input);
  const deadlineAt = (claimed.rerun?.at ?? 0) + RERUN_LEASE_MS - WRITE_MARGIN_MS;
  if (now() >= deadlineAt) throw new StoreUnavailable('starting it took too long: try again');
  const { verdict, state } = await parts.ledger.write(
    id,
    {
      kind: 'start',
      event: {
        ...startEvent(parts, principal, id, saga, key),
        ...admission.event,
        bodyDigest: sha256Hex(canonicalJson({ previous: sagaId })),
        input,
        previous: sagaId,
        ...(adopted.length === 0 ? {} : { adopted }),
      },
    },
    // Once the lease is over another saga may go on with this work.
    { actor: principal.id, deadlineAt, ...admission.options },
  );
  if (state === undefined) throw sagaUnknown();
  return verdict.kind === 'append' ? viewOf(state, now()) : replayed(parts, state, sagaId);
}

/** A business fact has one saga that goes on with it, whoever asks; else the key is the caller's own. */
function rerunId(principal: Principal, saga: AnySaga, key: string, before: SagaState): LedgerId {
  const { tenant } = principal;
  const { name } = saga;
  const sagaId =
    saga.businessKey === undefined
      ? sagaIdOf({ tenant, principal: principal.id, name, key })
      : sagaIdOf({ tenant, principal: '\u0000rerun', name, key: before.start.sagaId });
  return { tenant, sagaId };
}

function replayed(parts: Parts, state: SagaState, previous: string): SagaView {
  if (state.start.previous !== previous) throw keyReused();
  return { ...viewOf(state, parts.host.clock.now()), replayed: true };
}

/** The saga that claimed this one's work, where it was never started. */
async function vacantClaim(parts: Parts, before: SagaState): Promise<string | undefined> {
  const { rerun, start } = before;
  if (rerun === undefined) return undefined;
  const claimed = await parts.ledger.load({ tenant: start.tenant, sagaId: rerun.saga });
  return claimed === undefined ? rerun.saga : undefined;
}

/**
 * What is deployed now must still know what the checkpoint kept: the same steps before the same
 * checkpoint, over the same tools.
 * @throws Problem `conflict`
 */
function definitionFor(parts: Parts, before: SagaState): AnySaga {
  const saga = parts.sagas.get(before.start.name);
  if (saga === undefined) {
    throw new Problem(
      'conflict',
      'the definition of this saga is not loaded here',
      'deploy it again, then run the saga again',
    );
  }
  const fault = misfit(before, saga);
  if (fault === undefined) return saga;
  throw new Problem(
    'conflict',
    `version ${saga.version} cannot go on from this saga's checkpoint: ${fault}`,
    'deploy a version that keeps the checkpoint and the steps before it, or start a new saga',
  );
}

function misfit(before: SagaState, saga: AnySaga): string | undefined {
  const kept = keptSteps(before);
  const checkpoint = before.plan?.checkpoint;
  if (checkpoint === undefined) return undefined;
  const closing = saga.plan.steps.find((step) => step.name === checkpoint);
  if (closing?.checkpoint !== true) return `it has no checkpoint "${checkpoint}"`;
  const declared = saga.steps.find((step) => step.name === checkpoint);
  const now = new Set([checkpoint, ...(declared?.ancestors ?? [])]);
  for (const name of new Set([...kept, ...now])) {
    if (!kept.has(name)) return `step "${name}" is new before it`;
    if (!now.has(name)) return `step "${name}" is no longer before it`;
    const planned = saga.plan.steps.find((step) => step.name === name);
    const record = before.steps.get(name)?.record;
    if (planned?.tool !== record?.tool || planned?.effect !== record?.effect) {
      return `step "${name}" has another tool`;
    }
  }
  return undefined;
}

interface Values {
  readonly body: JsonValue;
  readonly input: unknown;
  readonly kept: readonly KeptStep[];
}

interface KeptStep extends Omit<AdoptedStep, 'result'> {
  readonly value: JsonValue | undefined;
  readonly schema: AnySaga['steps'][number]['tool']['output'];
}

/** Everything the new saga needs of the old one, read and checked. @throws Problem */
async function readValues(
  parts: Parts,
  from: LedgerId,
  before: SagaState,
  saga: AnySaga,
): Promise<Values> {
  const { stores } = parts.host;
  try {
    const body = await fetchStored(stores, from, before.start.input);
    const input = fitted(saga.input, body, 'conflict', 'the input of that saga');
    const hashes = new Map((await stores.ledger.read(from)).map(({ seq, hash }) => [seq, hash]));
    const names = keptSteps(before);
    const steps = stepsInOrder(before).filter((step) => names.has(step.record.name));
    const kept = steps.map(async (step) => keptStep(parts, from, saga, step, hashes));
    return { body, input, kept: await Promise.all(kept) };
  } catch (error) {
    if (!(error instanceof PayloadGone)) throw error;
    throw new Problem(
      'conflict',
      `what this saga was started with, or what its steps answered, is ${error.reason}`,
      'start a new saga with a new key',
    );
  }
}

async function keptStep(
  parts: Parts,
  from: LedgerId,
  saga: AnySaga,
  step: StepState,
  hashes: ReadonlyMap<number, string>,
): Promise<KeptStep> {
  const { name } = step.record;
  const { commit, externalIds } = step.forward;
  const tool = saga.steps.find((candidate) => candidate.name === name)?.tool;
  const hash = hashes.get(commit?.seq ?? 0);
  if (commit === undefined || tool === undefined || hash === undefined) {
    throw new Error(`step "${name}" is kept, but its commit is not on record`);
  }
  const { result } = commit;
  const value = result === null ? undefined : await fetchStored(parts.host.stores, from, result);
  // Read again by later steps: a result that the tool no longer gives would fail there.
  if (value !== undefined) fitted(tool.output, value, 'conflict', `the result of step "${name}"`);
  return { step: name, seq: commit.seq, hash, externalIds, value, schema: tool.output };
}

/** Copies of the results under the new saga: its payloads are its own to keep and to erase. */
async function adopt(
  parts: Parts,
  id: LedgerId,
  kept: readonly KeptStep[],
): Promise<AdoptedStep[]> {
  return Promise.all(
    kept.map(async ({ value, schema, ...step }) => ({
      ...step,
      result: value === undefined ? null : await keepSmall(parts, id, value, schema),
    })),
  );
}

async function keepSmall(
  parts: Parts,
  id: LedgerId,
  value: JsonValue,
  schema: KeptStep['schema'],
): Promise<Stored> {
  const { stores } = parts.host;
  const stored = await keep(stores, id, value, schema);
  if (stored.kind !== 'inline') return stored;
  const text = canonicalJson(value);
  if (Buffer.byteLength(text) <= MAX_ADOPTED_BYTES) return stored;
  const { digest, bytes } = await stores.payloads.put(id, text);
  return { kind: 'ref', digest, bytes };
}
