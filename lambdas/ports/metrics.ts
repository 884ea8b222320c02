import type { CountName, GaugeName, OpenState } from '../../statemachines/metrics.ts';

/**
 * Numbers about what the engine does, for alarms and dashboards. Provided by `aws/emf-metrics.ts`;
 * where there is none, nothing is reported. Nothing of it names a tenant or a saga.
 */
export interface Metrics {
  /** Adds to a count. Adding 0 reports it, so that "none" differs from "unknown". */
  count(name: CountName, by?: number): void;
  /** What was measured now; a later measurement of the same report replaces it. */
  gauge(name: GaugeName, value: number, state?: OpenState): void;
}
