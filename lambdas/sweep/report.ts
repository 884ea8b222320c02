import { OPEN_STATES } from '../../statemachines/metrics.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { Census } from '../ports/saga-census.ts';
import type { SweepReport } from './sweep.ts';

/** What one pass did. Zeros too: an alarm must tell "nothing" from "not run". */
export function reportSweep(metrics: Metrics, report: SweepReport): void {
  metrics.count('Sweeps', report.finished ? 1 : 0);
  metrics.count('DueSagas', report.seen);
  metrics.count('DrivesGranted', report.granted);
  // Each was counted where it was found.
  metrics.count('DamagedLedgers', 0);
  metrics.gauge('OldestDue', report.latestMs / 1000);
}

/** What there is, by state and age. */
export function reportCensus(metrics: Metrics, census: Census, now: number): void {
  for (const state of OPEN_STATES) {
    const { sagas, oldestSince } = census.states[state];
    metrics.gauge('Sagas', sagas, state);
    const ageMs = oldestSince === undefined ? 0 : Math.max(0, now - oldestSince);
    metrics.gauge('OldestSaga', Math.round(ageMs / 1000), state);
  }
  metrics.gauge('ReviewsWaiting', census.states.needs_review.sagas);
  metrics.gauge('ReviewsOverdue', census.reviewsOverdue);
}
