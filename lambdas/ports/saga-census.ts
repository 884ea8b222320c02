import type { OpenState } from '../../statemachines/metrics.ts';

/**
 * Counts the sagas of all tenants by state. From a projection, so it may lag. Provided by
 * `stores/dynamodb/saga-census.ts`.
 */
export interface SagaCensus {
  /** @throws StoreUnavailable */
  take(now: number): Promise<Census>;
}

export interface Census {
  readonly states: Readonly<Record<OpenState, StateCensus>>;
  /** Reviews whose deadline is over by now. */
  readonly reviewsOverdue: number;
}

export interface StateCensus {
  /** At least so many: the work for one census is bounded. */
  readonly sagas: number;
  /** Since when the longest one is in this state (epoch milliseconds); absent where there is none. */
  readonly oldestSince?: number;
}
