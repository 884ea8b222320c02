import { Duration } from 'aws-cdk-lib';
import {
  type AlarmProps,
  ComparisonOperator,
  type IMetric,
  Metric,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import {
  type CountName,
  type GaugeName,
  METRIC_NAMESPACE,
  type OpenState,
  PLANE_DIMENSION,
  STATE_DIMENSION,
} from '../statemachines/metrics.ts';

/** From when on somebody is told. What is left out keeps its default. */
export interface WatchingThresholds {
  /**
   * How long one saga may be in a state. Defaults: 1 hour `queued`, `running` and `compensating`,
   * 1 day `waiting` and `needs_review`.
   */
  readonly oldest?: Partial<Readonly<Record<OpenState, Duration>>>;
  /** Reviews behind their deadline. Default 1. */
  readonly reviewsOverdue?: number;
  /** Appends that found another writer's event in their place, within 5 minutes. Default 500. */
  readonly appendConflicts?: number;
  /** How late a due saga may be found. Default 2 minutes. */
  readonly sweepLateness?: Duration;
  /** How old a record may get before the outbox takes it. Default 5 minutes. */
  readonly outboxAge?: Duration;
  /** Answers of one API with a status of 500 or above, within 5 minutes. Default 5. */
  readonly apiErrors?: number;
  /** Calls of one function that Lambda refused for lack of concurrency, within 5 minutes. Default 1. */
  readonly throttles?: number;
}

/** What each alarm means; what to do first stands in `docs/runbook.md` under the same name. */
export const ALARMS = {
  'queued-old': 'A saga has been waiting for its turn for too long.',
  'running-old': 'A saga has been running for too long without coming to its next state.',
  'waiting-old': 'A saga has been waiting for a provider for too long.',
  'compensating-old': 'A saga has been undoing its effects for too long.',
  'review-old': 'A saga has been waiting for a person for too long.',
  'reviews-overdue': 'A review is not decided, and its deadline is over.',
  'recovery-failed': 'An effect could not be undone; a person has to see to it.',
  'incident-opened': 'A saga failed behind the point of no return, or late evidence came up.',
  'ledger-tampered': 'A record that stood in a ledger was changed or removed.',
  'ledger-damaged': 'A ledger does not hold; nothing is added to it, and its saga stands still.',
  'breaker-opened': 'A tool’s provider keeps failing, and is not called for a while.',
  'appends-refused': 'Writers of the same sagas keep getting in each other’s way.',
  'sweep-missed': 'The sweep did not come to its end: sagas that are due are not found.',
  'sweep-failed': 'The sweep fails again and again.',
  'sweep-late': 'Sagas are found later than two minutes after they were due.',
  'census-missed': 'Open sagas are not counted: the alarms about their age are blind.',
  'outbox-behind': 'What happened to sagas reaches lists and listeners late.',
  'sweep-undelivered': 'A call of the sweep failed, or could not be delivered.',
  'outbox-undelivered': 'Records could not be passed on to lists and listeners, and were given up.',
  'api-failing': 'The API answers with server errors.',
  throttled: 'Lambda refuses to run a function for lack of concurrency.',
} as const;
export type AlarmKind = keyof typeof ALARMS;

export interface AlarmSpec extends Omit<AlarmProps, 'alarmName' | 'alarmDescription'> {
  readonly kind: AlarmKind;
  /** Which of several; part of the alarm's name. */
  readonly which?: string;
}

export function countOf(
  plane: string,
  name: CountName,
  period: Duration = Duration.minutes(1),
): Metric {
  return new Metric({
    namespace: METRIC_NAMESPACE,
    metricName: name,
    dimensionsMap: { [PLANE_DIMENSION]: plane },
    statistic: 'Sum',
    period,
  });
}

export function gaugeOf(plane: string, name: GaugeName, state?: OpenState): Metric {
  return new Metric({
    namespace: METRIC_NAMESPACE,
    metricName: name,
    dimensionsMap: {
      [PLANE_DIMENSION]: plane,
      ...(state === undefined ? {} : { [STATE_DIMENSION]: state }),
    },
    statistic: 'Maximum',
    period: Duration.minutes(1),
  });
}

const HOUR = Duration.hours(1);
const DAY = Duration.days(1);

const OLD: readonly (readonly [AlarmKind, OpenState, Duration])[] = [
  ['queued-old', 'queued', HOUR],
  ['running-old', 'running', HOUR],
  ['waiting-old', 'waiting', DAY],
  ['compensating-old', 'compensating', HOUR],
  ['review-old', 'needs_review', DAY],
];

/** The alarms over what the plane's own functions report. */
export function planeAlarms(plane: string, thresholds: WatchingThresholds): AlarmSpec[] {
  const { oldest = {}, reviewsOverdue = 1, appendConflicts = 500 } = thresholds;
  const lateness = thresholds.sweepLateness ?? Duration.minutes(2);
  return [
    ...OLD.map(([kind, state, most]) => ({
      kind,
      metric: gaugeOf(plane, 'OldestSaga', state),
      ...above((oldest[state] ?? most).toSeconds()),
    })),
    {
      kind: 'reviews-overdue',
      metric: gaugeOf(plane, 'ReviewsOverdue'),
      ...atLeast(reviewsOverdue),
      evaluationPeriods: 3,
    },
    { kind: 'recovery-failed', metric: countOf(plane, 'RecoveriesFailed'), ...atLeast(1) },
    { kind: 'incident-opened', metric: countOf(plane, 'IncidentsOpened'), ...atLeast(1) },
    { kind: 'ledger-tampered', metric: countOf(plane, 'LedgersTampered'), ...atLeast(1) },
    { kind: 'ledger-damaged', metric: countOf(plane, 'DamagedLedgers'), ...atLeast(1) },
    { kind: 'breaker-opened', metric: countOf(plane, 'BreakersOpened'), ...atLeast(1) },
    {
      kind: 'appends-refused',
      metric: countOf(plane, 'AppendConflicts', Duration.minutes(5)),
      ...atLeast(appendConflicts),
    },
    // One pass may take longer than a minute; that none ends in five is no chance.
    missed('sweep-missed', countOf(plane, 'Sweeps'), 5),
    {
      kind: 'sweep-late',
      metric: gaugeOf(plane, 'OldestDue'),
      ...above(lateness.toSeconds()),
      evaluationPeriods: 5,
      datapointsToAlarm: 3,
    },
    missed(
      'census-missed',
      gaugeOf(plane, 'ReviewsWaiting').with({ statistic: 'SampleCount' }),
      15,
    ),
  ];
}

/** Alarms when no minute of so many has a value above zero. */
function missed(kind: AlarmKind, metric: IMetric, minutes: number): AlarmSpec {
  return {
    kind,
    metric,
    threshold: 1,
    comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
    evaluationPeriods: minutes,
    treatMissingData: TreatMissingData.BREACHING,
  };
}

export function atLeast(threshold: number) {
  return {
    threshold,
    comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
    evaluationPeriods: 1,
    treatMissingData: TreatMissingData.NOT_BREACHING,
  } as const;
}

/** Over five minutes in a row: what passes by itself calls nobody. */
export function above(threshold: number) {
  return {
    threshold,
    comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
    evaluationPeriods: 5,
    treatMissingData: TreatMissingData.NOT_BREACHING,
  } as const;
}
