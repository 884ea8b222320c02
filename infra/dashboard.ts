import {
  AlarmStatusWidget,
  GraphWidget,
  type IAlarm,
  type IMetric,
  type IWidget,
} from 'aws-cdk-lib/aws-cloudwatch';
import { OPEN_STATES } from '../statemachines/metrics.ts';
import { countOf, gaugeOf } from './alarms.ts';

export interface DashboardParts {
  readonly plane: string;
  /** Read when the template is written: functions and APIs add theirs later. */
  readonly alarms: IAlarm[];
  readonly outboxAge: IMetric;
}

const HALF = { width: 12, height: 6 } as const;

/** One page: alarms, sagas by state, the age of the oldest in each, and what became of them. */
export function dashboardRows({ plane, alarms, outboxAge }: DashboardParts): IWidget[][] {
  return [
    [new AlarmStatusWidget({ alarms, title: 'Alarms', width: 24, height: 4 })],
    [
      new GraphWidget({
        ...HALF,
        title: 'Open sagas by state',
        left: OPEN_STATES.map((state) => gaugeOf(plane, 'Sagas', state).with({ label: state })),
      }),
      new GraphWidget({
        ...HALF,
        title: 'Longest in its state (seconds)',
        left: OPEN_STATES.map((state) =>
          gaugeOf(plane, 'OldestSaga', state).with({ label: state }),
        ),
      }),
    ],
    [
      new GraphWidget({
        ...HALF,
        title: 'What became of sagas',
        left: [
          countOf(plane, 'SagasStarted'),
          countOf(plane, 'SagasCompleted'),
          countOf(plane, 'RecoveriesStarted'),
          countOf(plane, 'SagasCompensated'),
          countOf(plane, 'IncidentsOpened'),
        ],
      }),
      new GraphWidget({
        ...HALF,
        title: 'Waiting for a person',
        left: [gaugeOf(plane, 'ReviewsWaiting'), gaugeOf(plane, 'ReviewsOverdue')],
        right: [
          countOf(plane, 'ReviewsOpened'),
          countOf(plane, 'RecoveriesFailed'),
          countOf(plane, 'RecoveryOvershoots'),
        ],
      }),
    ],
    [
      new GraphWidget({
        ...HALF,
        title: 'The sweep',
        left: [countOf(plane, 'DueSagas'), countOf(plane, 'DrivesGranted')],
        right: [gaugeOf(plane, 'OldestDue')],
      }),
      new GraphWidget({
        ...HALF,
        title: 'Ledgers and outbox',
        left: [
          countOf(plane, 'AppendConflicts'),
          countOf(plane, 'DamagedLedgers'),
          countOf(plane, 'LedgersTampered'),
        ],
        right: [gaugeOf(plane, 'OutboxLag'), outboxAge],
      }),
    ],
  ];
}
