import type { SagaStatus } from './rules/events.ts';

/**
 * Names of the numbers that a plane reports. Functions report them, alarms and the dashboard ask for
 * them; neither writes a name again.
 */

export const METRIC_NAMESPACE = 'Counterstep';

/** Which plane reports: the first part of its machines' names. On every number. */
export const PLANE_DIMENSION = 'Plane';
/** Only on what is reported of each state. There is no dimension by tenant or saga: each value is paid for. */
export const STATE_DIMENSION = 'State';

/** Where somebody or something still has to act. */
export const OPEN_STATES = [
  'queued',
  'running',
  'waiting',
  'compensating',
  'needs_review',
] as const satisfies readonly SagaStatus[];
export type OpenState = (typeof OPEN_STATES)[number];

export function isOpen(state: SagaStatus): state is OpenState {
  return OPEN_STATES.some((open) => open === state);
}

/** What happened so often since the last report. */
export const COUNTS = [
  /** Passes of the sweep that came to their end: its heartbeat. */
  'Sweeps',
  /** Due entries that the sweep looked at. */
  'DueSagas',
  'DrivesGranted',
  'SagasStarted',
  'SagasCompleted',
  'SagasCompensated',
  'RecoveriesStarted',
  /** Reviews opened since a recovery failed for good, or its arguments are missing. */
  'RecoveriesFailed',
  /** Recoveries that cost more than was set aside for them. */
  'RecoveryOvershoots',
  'ReviewsOpened',
  'IncidentsOpened',
  /** Breakers of tools that opened, since their provider kept failing. */
  'BreakersOpened',
  /** Appends that found another writer's event in their place. Some are in the ordinary course. */
  'AppendConflicts',
  /** Times that a ledger did not hold and was therefore not written to. */
  'DamagedLedgers',
  /** Records that were changed or removed behind the plane's back. */
  'LedgersTampered',
] as const;
export type CountName = (typeof COUNTS)[number];

/** What was measured, with its unit in the words of CloudWatch. */
export const GAUGES = {
  /** Those that run or undo, once they took half a minute. */
  Sagas: 'Count',
  /** Time that the longest one has been in its state. */
  OldestSaga: 'Seconds',
  ReviewsWaiting: 'Count',
  /** Reviews whose deadline is over. */
  ReviewsOverdue: 'Count',
  /** How long the saga that the sweep found latest had been due. */
  OldestDue: 'Seconds',
  /** Age of the oldest record when the outbox got it. */
  OutboxLag: 'Seconds',
} as const;
export type GaugeName = keyof typeof GAUGES;
