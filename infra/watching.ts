import { Duration, Stack } from 'aws-cdk-lib';
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import { Alarm, Dashboard, type IAlarm, type IAlarmAction } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import {
  ALARMS,
  type AlarmKind,
  type AlarmSpec,
  above,
  atLeast,
  planeAlarms,
  type WatchingThresholds,
} from './alarms.ts';
import { dashboardRows } from './dashboard.ts';

/** Who is told, and when. */
export interface WatchingOptions {
  /** Gets a message when an alarm goes off, and when it is over. Default: nobody is told. */
  readonly alarmTopic?: ITopic;
  /** Other actions when an alarm goes off, named as CDK's own. */
  readonly alarmActions?: readonly IAlarmAction[];
  /** And when it is over. */
  readonly okActions?: readonly IAlarmAction[];
  readonly thresholds?: WatchingThresholds;
  /** Default `true`. */
  readonly dashboard?: boolean;
}

/** What a plane adds to the options. */
export interface WatchingProps extends WatchingOptions {
  /** The plane's name in its metrics, and before the alarms' names. */
  readonly plane: string;
  readonly sweep: Watched;
  readonly outbox: Watched;
}

/** A function that is called by events, with the queue for what it could not do. */
export interface Watched {
  readonly fn: IFunction;
  readonly undelivered: IQueue;
}

const MAX_SHOWN = 100;
const FIVE_MINUTES = Duration.minutes(5);

/**
 * Alarms over everything that nobody may miss, and one dashboard. Each alarm's description says what it
 * means; `docs/runbook.md` says what to do first.
 */
export class Watching extends Construct {
  readonly dashboard: Dashboard | undefined;
  readonly #props: WatchingProps;
  readonly #alarms: Alarm[] = [];
  /** Those on the dashboard, which shows no more than 100. */
  readonly #shown: Alarm[] = [];

  constructor(scope: Construct, id: string, props: WatchingProps) {
    super(scope, id);
    this.#props = props;
    const { plane, sweep, outbox, thresholds = {} } = props;
    for (const spec of planeAlarms(plane, thresholds)) this.#alarm(spec);
    this.#alarm({
      kind: 'sweep-failed',
      metric: sweep.fn.metricErrors({ period: Duration.minutes(1), statistic: 'Sum' }),
      ...atLeast(1),
      evaluationPeriods: 5,
      datapointsToAlarm: 2,
    });
    const outboxAge = outbox.fn.metric('IteratorAge', {
      period: Duration.minutes(1),
      statistic: 'Maximum',
    });
    this.#alarm({
      kind: 'outbox-behind',
      metric: outboxAge,
      ...above((thresholds.outboxAge ?? FIVE_MINUTES).toMilliseconds()),
    });
    this.#queue('sweep-undelivered', sweep.undelivered);
    this.#queue('outbox-undelivered', outbox.undelivered);
    this.function('sweep', sweep.fn);
    this.function('outbox', outbox.fn);
    if (props.dashboard === false) return;
    this.dashboard = new Dashboard(this, 'Dashboard', {
      // Dashboards are one list for all regions of an account.
      dashboardName: `${plane}-${Stack.of(this).region}`,
      widgets: dashboardRows({ plane, alarms: this.#shown, outboxAge }),
    });
  }

  /** Every alarm there is so far. */
  get alarms(): readonly IAlarm[] {
    return this.#alarms;
  }

  /** Watches that Lambda runs the function whenever it is called. */
  function(name: string, fn: IFunction): void {
    this.#alarm({
      kind: 'throttled',
      which: name,
      metric: fn.metricThrottles({ period: FIVE_MINUTES, statistic: 'Sum' }),
      ...atLeast(this.#props.thresholds?.throttles ?? 1),
    });
  }

  /** Watches that the API answers. */
  api(name: string, api: HttpApi): void {
    this.#alarm({
      kind: 'api-failing',
      which: name,
      metric: api.metricServerError({ period: FIVE_MINUTES, statistic: 'Sum' }),
      ...atLeast(this.#props.thresholds?.apiErrors ?? 5),
    });
  }

  #queue(kind: AlarmKind, queue: IQueue): void {
    const metric = queue.metricApproximateNumberOfMessagesVisible({
      period: Duration.minutes(1),
      statistic: 'Maximum',
    });
    this.#alarm({ kind, metric, ...atLeast(1) });
  }

  #alarm({ kind, which, ...props }: AlarmSpec): void {
    const { plane, alarmTopic, alarmActions = [], okActions = [] } = this.#props;
    const name = which === undefined ? kind : `${kind}-${which}`;
    const alarm = new Alarm(this, name, {
      ...props,
      alarmName: `${plane}-${name}`,
      alarmDescription: `${ALARMS[kind]} What to do: docs/runbook.md, ${kind}`,
    });
    const topic = alarmTopic === undefined ? [] : [new SnsAction(alarmTopic)];
    const actions = [...topic, ...alarmActions];
    if (actions.length > 0) alarm.addAlarmAction(...actions);
    const ended = [...topic, ...okActions];
    if (ended.length > 0) alarm.addOkAction(...ended);
    this.#alarms.push(alarm);
    if (this.#shown.length < MAX_SHOWN) this.#shown.push(alarm);
  }
}
