import type { SagaStatus } from '../../statemachines/rules/events.ts';

/**
 * Finds sagas by state, name and age. A projection: it may lag, and it can be dropped and rebuilt
 * from the ledgers. Provided by the local plane (in memory over `Heads`) and by
 * `stores/dynamodb/saga-index.ts`; both pass `test/stores/saga-index.contract.ts`.
 */
export interface SagaIndex {
  /**
   * Oldest first, within one tenant. A page may hold fewer than `limit`, even none, and still have
   * a cursor: only a page without one is the last.
   * @throws Error named `Counterstep.CursorInvalid`
   */
  list(query: SagaQuery): Promise<SagaPage>;
  /** What the projection knows of one saga's head: an anchor for verification. */
  head(tenant: string, sagaId: string): Promise<NotedHead | undefined>;
}

/** The last record known of a saga's ledger. It never moves back. */
export interface NotedHead {
  readonly seq: number;
  /** Absent where the record was gone before its hash was known. */
  readonly hash?: string;
  readonly tampered?: Tampering;
}

/** A record of a ledger that was changed or removed, as its table's stream or its chain told. */
export interface Tampering {
  readonly seq: number;
  /** When it was done, or noticed (epoch milliseconds). */
  readonly at: number;
  readonly found: TamperingKind;
}

export const TAMPERING_KINDS = [
  /** A record that stood was written again. */
  'modified',
  /** A record that stood was deleted. */
  'removed',
  /** A record was announced, yet is not in the ledger. */
  'missing',
  /** A record does not follow the one before it, or cannot be read. */
  'broken',
] as const;
export type TamperingKind = (typeof TAMPERING_KINDS)[number];

export interface SagaQuery {
  readonly tenant: string;
  readonly states?: readonly SagaStatus[];
  readonly name?: string;
  /** Only sagas started before then (epoch milliseconds). */
  readonly startedBefore?: number;
  readonly limit: number;
  /** Opaque; from the page before, and bound to tenant and query. */
  readonly cursor?: string;
}

export interface SagaSummary {
  readonly sagaId: string;
  readonly name: string;
  readonly version: string;
  readonly state: SagaStatus;
  readonly startedAt: number;
  readonly changedAt: number;
  readonly seq: number;
  /** Of a compensated saga: the step that closes the checkpoint it went back to. */
  readonly checkpoint?: string;
  /** The open review, where there is one. */
  readonly review?: string;
  readonly reviewReason?: string;
  readonly reviewDeadlineAt?: number;
  /** The ledger was tampered with: the first record concerned. */
  readonly tampered?: Tampering;
}

export interface SagaPage {
  readonly sagas: readonly SagaSummary[];
  readonly cursor?: string;
}
