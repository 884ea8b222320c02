import type { SagaEvent } from '../rules/events.ts';
import { canonicalJson } from './canonical.ts';
import { sha256Hex } from './hash.ts';
import { hasLoneSurrogate } from './ijson-error.ts';
import { toIJson } from './to-ijson.ts';

/** What the chain needs of a stored ledger entry. */
export interface ChainedRecord {
  readonly seq: number;
  /** The event as canonical JSON text (RFC 8785). */
  readonly body: string;
  /** `hash` of the record before; for `seq` 1 the {@link genesisHash}. */
  readonly prev: string;
  /** SHA-256 of `prev` followed by `body`, in lower-case hex. */
  readonly hash: string;
}

/** Names one ledger. */
export interface ChainId {
  readonly tenant: string;
  readonly sagaId: string;
}

/** Anything with a place in a ledger: a saga's event, or one of a convoy or breaker. */
export interface Sequenced {
  readonly seq: number;
}

/** `error.name` of {@link LedgerDamaged}. */
export const LEDGER_DAMAGED = 'Counterstep.LedgerDamaged';

/** A stored record cannot be what was written. Verify the ledger; do not append to it. */
export class LedgerDamaged extends Error {
  override readonly name = LEDGER_DAMAGED;
  readonly seq: number;
  constructor(seq: number, explanation: string, cause?: unknown) {
    super(`record ${seq}: ${explanation}; verify this ledger before anything is added to it`, {
      cause,
    });
    this.seq = seq;
  }
}

/**
 * The `prev` of record 1. It ties a chain to its place: the records of one saga do not verify as
 * another's.
 * @throws TypeError where a part is empty or broken, or the tenant holds a `/` (which ends it)
 */
export function genesisHash(tenant: string, sagaId: string): string {
  if (tenant === '' || sagaId === '' || tenant.includes('/')) {
    throw new TypeError('a ledger needs a tenant without "/" and a saga id; give both');
  }
  if (hasLoneSurrogate(tenant + sagaId)) {
    throw new TypeError('tenant or saga id holds half of a surrogate pair; use whole characters');
  }
  return sha256Hex(`counterstep-ledger:${tenant}/${sagaId}`);
}

/**
 * Makes the record of an event that follows the record with hash `prevHash`. Members that are
 * `undefined` are dropped before hashing.
 * @throws IJsonError where the event holds something the ledger may not keep
 */
export function sealEvent(prevHash: string, event: Sequenced): ChainedRecord {
  const body = canonicalJson(toIJson(event));
  return { seq: event.seq, body, prev: prevHash, hash: sha256Hex(prevHash, body) };
}

/**
 * Reads the event back. Proves only that the body is an event with the record's number; the chain
 * is proven by `verifyChain`.
 * @throws LedgerDamaged
 */
export function openRecord<E extends Sequenced = SagaEvent>(record: ChainedRecord): E {
  let event: unknown;
  try {
    event = JSON.parse(record.body);
  } catch (cause) {
    throw new LedgerDamaged(record.seq, 'the body is not JSON', cause);
  }
  if (!isSequenced(event)) throw new LedgerDamaged(record.seq, 'the body is not an event');
  if (event.seq !== record.seq) {
    throw new LedgerDamaged(record.seq, `the body says it is number ${event.seq}`);
  }
  // The ledger's type is given by its key, and writers seal nothing else.
  return event as E;
}

/** True for an object that names its place in a ledger. */
export function isSequenced(value: unknown): value is Sequenced {
  return (
    typeof value === 'object' && value !== null && 'seq' in value && typeof value.seq === 'number'
  );
}
