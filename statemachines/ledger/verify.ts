import { FINAL_STATES } from '../rules/events.ts';
import { canonicalJson, type JsonValue } from './canonical.ts';
import { type ChainedRecord, type ChainId, genesisHash, isSequenced } from './chain.ts';
import { sha256Hex } from './hash.ts';

/** What is wrong with a ledger. */
export type ChainProblem =
  /** A record does not fit its own hash, or does not follow the one before it. */
  | 'changed'
  | 'gap'
  | 'reordered'
  | 'duplicate'
  /** The chain begins as another saga's would. */
  | 'wrong_genesis'
  /** Hash and body agree, but the body is not the one text of its event. */
  | 'not_canonical'
  | 'not_json'
  /** JSON, but no event with this number. */
  | 'not_an_event'
  | 'clock_backwards'
  /** Records at the end are gone. */
  | 'cut_tail'
  /** The chain agrees with itself, but not with a hash that was kept elsewhere. */
  | 'rewritten'
  /** Something says the ledger exists; no record does. */
  | 'missing'
  /** Only in an exported file: a line that is no record. */
  | 'unreadable';

/**
 * What somebody outside the chain knows about it. A chain proves what it holds; that nothing is
 * missing at its end only an anchor proves, and one kept beside the table proves it only against
 * those who cannot write both.
 *
 * - `exists`: the ledger has events (a projection lists it, a caller was answered). With `seq`, at
 *   least that many; with `hash`, exactly this one at `seq` (a signed head).
 * - `registered`: whether the registry holds an entry. A saga that is not final always has one, so
 *   its absence under a head that is not final means that the final events were cut.
 *
 * Read anchors before the records: a ledger grows, and a head read later may be ahead. Where the
 * registry alone raises suspicion, read both once more before believing it: the saga may have
 * begun in between.
 */
export type Anchor =
  | {
      /** For people: `projection`, `signed head`. */
      readonly name: string;
      readonly exists: true;
      readonly seq?: number;
      readonly hash?: string;
    }
  | { readonly name: string; readonly registered: boolean };

export interface ChainHead {
  readonly seq: number;
  readonly hash: string;
}

export type Verdict =
  | {
      readonly kind: 'valid';
      /** The head the verdict reached; it says nothing about later records. */
      readonly seq: number;
      readonly hash: string;
      readonly events: number;
      /** Names of the anchors it was held against. None: a cut tail would not have been seen. */
      readonly checkedAgainst: readonly string[];
    }
  /** No records, and nobody says there should be. */
  | { readonly kind: 'absent'; readonly checkedAgainst: readonly string[] }
  | InvalidChain;

export interface InvalidChain {
  readonly kind: 'invalid';
  readonly problem: ChainProblem;
  /** The record (or the number of the missing one) where it shows. */
  readonly seq: number;
  /** For a person: what was found, and what it means. */
  readonly explanation: string;
  /** The last record that verified, `undefined` where none did. */
  readonly verified: ChainHead | undefined;
}

/**
 * Walks a chain once, from record 1, and says whether it is whole (design: invariant 11).
 * Takes any iterable and keeps nothing of it, so a chain of any length can be streamed. Never
 * throws for what the records hold.
 *
 * @param records in the order of `seq`; stops at the first thing that is wrong
 * @throws TypeError where `id` names no ledger
 */
export function verifyChain(
  id: ChainId,
  records: Iterable<ChainedRecord>,
  anchors: readonly Anchor[] = [],
): Verdict {
  const genesis = genesisHash(id.tenant, id.sagaId);
  const known = knownHashes(anchors);
  const checkedAgainst = anchors.map((anchor) => anchor.name);
  let head: ChainHead | undefined;
  let event: LedgerEvent | undefined;
  const invalid = (problem: ChainProblem, seq: number, explanation: string): InvalidChain => ({
    kind: 'invalid',
    problem,
    seq,
    explanation: `record ${seq}: ${explanation}`,
    verified: head,
  });

  /** Number of the first record that came too early. */
  let early: number | undefined;
  for (const record of records) {
    const expected = (head?.seq ?? 0) + 1;
    if (record.seq !== expected) {
      const fault = checkPlace(record.seq, expected);
      if (fault && early === undefined) {
        return invalid(fault.problem, record.seq, fault.explanation);
      }
      // Missing, or only later? The rest of the records will tell.
      early ??= record.seq;
      continue;
    }
    if (early !== undefined) {
      return invalid('reordered', expected, `number ${early} stands before it`);
    }
    const link = checkLink(record, head?.hash ?? genesis, id);
    if (link) return invalid(link.problem, record.seq, link.explanation);
    const opened = readBody(record);
    if (opened.kind === 'fault') return invalid(opened.problem, record.seq, opened.explanation);
    if (event && opened.event.at < event.at) {
      const explanation = `it is dated ${event.at - opened.event.at} ms before the record it follows`;
      return invalid('clock_backwards', record.seq, explanation);
    }
    for (const anchor of known.get(record.seq) ?? []) {
      if (anchor.hash === record.hash) continue;
      const explanation = `${anchor.name} knows another hash for it: the chain was written anew`;
      return invalid('rewritten', record.seq, explanation);
    }
    event = opened.event;
    head = { seq: record.seq, hash: record.hash };
  }
  if (early !== undefined) {
    const missing = (head?.seq ?? 0) + 1;
    return invalid('gap', missing, `it is missing; number ${early} follows ${missing - 1}`);
  }

  const lost = checkAnchors(anchors, head, event);
  if (lost) return invalid(lost.problem, (head?.seq ?? 0) + 1, lost.explanation);
  if (!head) return { kind: 'absent', checkedAgainst };
  return { kind: 'valid', seq: head.seq, hash: head.hash, events: head.seq, checkedAgainst };
}

interface Fault {
  readonly problem: ChainProblem;
  readonly explanation: string;
}

/** Two anchors may know the same record, and only one of them be right. */
function knownHashes(anchors: readonly Anchor[]): Map<number, { name: string; hash: string }[]> {
  const known = new Map<number, { name: string; hash: string }[]>();
  for (const anchor of anchors) {
    if (!('exists' in anchor) || anchor.hash === undefined || anchor.seq === undefined) continue;
    const { name, hash, seq } = anchor;
    known.set(seq, [...(known.get(seq) ?? []), { name, hash }]);
  }
  return known;
}

/** A number that was there before, or is none, is wrong in itself; a later one may only be early. */
function checkPlace(found: number, expected: number): Fault | undefined {
  if (!Number.isSafeInteger(found) || found < 1) {
    return { problem: 'changed', explanation: `${found} is no record number` };
  }
  if (found > expected) return undefined;
  const explanation = `it comes again where number ${expected} should follow`;
  return { problem: 'duplicate', explanation };
}

function checkLink(record: ChainedRecord, expectedPrev: string, id: ChainId): Fault | undefined {
  if (record.hash !== sha256Hex(record.prev, record.body)) {
    return { problem: 'changed', explanation: 'its hash does not fit its content' };
  }
  if (record.prev === expectedPrev) return undefined;
  if (record.seq === 1) {
    const explanation = `it does not begin the ledger of saga ${id.sagaId} of tenant ${id.tenant}`;
    return { problem: 'wrong_genesis', explanation };
  }
  const explanation = `it does not follow record ${record.seq - 1}: one of the two was replaced`;
  return { problem: 'changed', explanation };
}

interface LedgerEvent {
  readonly seq: number;
  readonly at: number;
  /** Absent in ledgers that are not a saga's. */
  readonly state: unknown;
}

type Opened =
  | { readonly kind: 'event'; readonly event: LedgerEvent }
  | ({ readonly kind: 'fault' } & Fault);

function readBody(record: ChainedRecord): Opened {
  let value: JsonValue;
  try {
    value = JSON.parse(record.body);
  } catch {
    return { kind: 'fault', problem: 'not_json', explanation: 'its body is not JSON' };
  }
  if (!isCanonical(value, record.body)) {
    const explanation = 'its body is not canonical JSON (RFC 8785): no writer of ours made it';
    return { kind: 'fault', problem: 'not_canonical', explanation };
  }
  if (!isSequenced(value) || !('at' in value) || typeof value.at !== 'number') {
    const explanation = 'its body is no event: seq or at is missing';
    return { kind: 'fault', problem: 'not_an_event', explanation };
  }
  if (value.seq !== record.seq) {
    const explanation = `its body says it is number ${value.seq}`;
    return { kind: 'fault', problem: 'not_an_event', explanation };
  }
  const state: unknown = 'state' in value ? value.state : undefined;
  return { kind: 'event', event: { seq: value.seq, at: value.at, state } };
}

function isCanonical(value: JsonValue, body: string): boolean {
  try {
    return canonicalJson(value) === body;
  } catch {
    // A broken surrogate, an overflowing number, or nesting without end: not ours either.
    return false;
  }
}

function checkAnchors(
  anchors: readonly Anchor[],
  head: ChainHead | undefined,
  last: LedgerEvent | undefined,
): Fault | undefined {
  for (const anchor of anchors) {
    if ('registered' in anchor) {
      if (anchor.registered || !head || isFinal(last?.state)) continue;
      const explanation = `${anchor.name} has no entry, which only a final saga may lack, but the chain ends in state ${String(last?.state)}: its end was cut off`;
      return { problem: 'cut_tail', explanation };
    }
    if (!head) {
      return {
        problem: 'missing',
        explanation: `${anchor.name} says the ledger exists, but it is empty`,
      };
    }
    if (anchor.seq !== undefined && anchor.seq > head.seq) {
      const explanation = `${anchor.name} has seen record ${anchor.seq}, the chain ends at ${head.seq}`;
      return { problem: 'cut_tail', explanation };
    }
  }
  return undefined;
}

function isFinal(state: unknown): boolean {
  return FINAL_STATES.some((final) => final === state);
}
