import type { SagaStatus } from '../../statemachines/rules/events.ts';

/**
 * Finds sagas by state, name and age. A projection: it may lag, and it can be dropped and rebuilt
 * from the ledgers. Provided by the local plane (in memory over `Heads`) and by the outbox on AWS.
 */
export interface SagaIndex {
  /** Oldest first, within one tenant. */
  list(query: SagaQuery): Promise<SagaPage>;
  /** What the projection knows of one saga's head: an anchor for verification. */
  head(
    tenant: string,
    sagaId: string,
  ): Promise<{ readonly seq: number; readonly hash: string } | undefined>;
}

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
  /** The open review, where there is one. */
  readonly review?: string;
  readonly reviewReason?: string;
  readonly reviewDeadlineAt?: number;
}

export interface SagaPage {
  readonly sagas: readonly SagaSummary[];
  readonly cursor?: string;
}
