import { readFileSync } from 'node:fs';
import { App, Duration, Stack } from 'aws-cdk-lib';
import type { IAlarmAction } from 'aws-cdk-lib/aws-cloudwatch';
import { Topic } from 'aws-cdk-lib/aws-sns';
import type { SagaPlaneProps } from 'counterstep/cdk';
import { beforeAll, describe, expect, test } from 'vitest';
import { COMPENSATED_END, INCIDENT_END } from '../../statemachines/asl/ends.ts';
import { COUNTS, GAUGES, METRIC_NAMESPACE, OPEN_STATES } from '../../statemachines/metrics.ts';
import { holdItem, small } from '../lambdas/aws/small.ts';
import {
  final,
  idOf,
  ofType,
  planeIn,
  type Resources,
  SYNTH_MS,
  TOOL_ENTRY,
  textOf,
} from './synth.ts';

const PLANE = 'plane-1';

interface Alarm {
  readonly AlarmName: string;
  readonly AlarmDescription: string;
  readonly Namespace: string;
  readonly MetricName: string;
  readonly Dimensions?: readonly { readonly Name: string; readonly Value: unknown }[];
  readonly Statistic?: string;
  readonly Period: number;
  readonly Threshold: number;
  readonly ComparisonOperator: string;
  readonly EvaluationPeriods: number;
  readonly TreatMissingData?: string;
  readonly AlarmActions?: readonly unknown[];
  readonly OKActions?: readonly unknown[];
}

/** A plane with everything that can be watched. */
function watched(watching?: SagaPlaneProps['watching']) {
  const { stack, plane } = planeIn({
    machinePrefix: PLANE,
    ...(watching === undefined ? {} : { watching }),
  });
  plane.tool(holdItem, { entry: TOOL_ENTRY });
  plane.saga(small);
  plane.api({
    entry: 'test/infra/entries/api.lambda.ts',
    jwt: { issuer: 'https://issuer.example', audience: ['people'] },
  });
  return { stack, plane };
}

let resources: Resources;
let alarms: readonly Alarm[];
const alarmsIn = (of: Resources) =>
  ofType(of, 'AWS::CloudWatch::Alarm').map(([, { Properties }]) => Properties as unknown as Alarm);
const named = (name: string): Alarm => {
  const found = alarms.filter(({ AlarmName }) => AlarmName === `${PLANE}-${name}`);
  const [only] = found;
  if (only === undefined || found.length > 1) throw new Error(`${found.length} alarms ${name}`);
  return only;
};
const dimensionOf = (alarm: Alarm, name: string) =>
  alarm.Dimensions?.find((dimension) => dimension.Name === name)?.Value;

beforeAll(() => {
  resources = final(watched().stack).resources;
  alarms = alarmsIn(resources);
}, SYNTH_MS);

describe('the runbook', () => {
  const rows = new Map(
    [
      ...readFileSync('docs/runbook.md', 'utf8').matchAll(
        /^\| `([\w-]+)` +\| (.+?) +\| (.+?) +\|$/gm,
      ),
    ].map(([, kind = '', means = '', first = '']) => [kind, { means, first }]),
  );
  const kindOf = ({ AlarmDescription }: Alarm) =>
    /docs\/runbook\.md, ([\w-]+)$/.exec(AlarmDescription)?.[1] ?? '';

  test('has a line for every alarm, in the alarm’s own words, and an alarm for every line', () => {
    const kinds = new Map(alarms.map((alarm) => [kindOf(alarm), alarm.AlarmDescription]));
    expect([...rows.keys()].sort()).toEqual([...kinds.keys()].sort());
    for (const [kind, { means, first }] of rows) {
      expect(kinds.get(kind)).toBe(`${means} What to do: docs/runbook.md, ${kind}`);
      expect(first.length).toBeGreaterThan(20);
    }
  });

  test('names an alarm by the end of its name', () => {
    for (const alarm of alarms) {
      expect(alarm.AlarmName.startsWith(`${PLANE}-${kindOf(alarm)}`)).toBe(true);
    }
  });
});

describe('alarms', () => {
  test('ask for numbers that the plane reports, of this plane alone', () => {
    const own = alarms.filter(({ Namespace }) => Namespace === METRIC_NAMESPACE);
    expect(own.length).toBeGreaterThan(10);
    const known: readonly string[] = [...COUNTS, ...Object.keys(GAUGES)];
    for (const alarm of own) {
      expect(known).toContain(alarm.MetricName);
      expect(dimensionOf(alarm, 'Plane')).toBe(PLANE);
      const state = dimensionOf(alarm, 'State');
      expect(alarm.MetricName === 'OldestSaga').toBe(state !== undefined);
      expect((alarm.Dimensions ?? []).map(({ Name }) => Name)).not.toContain('Tenant');
    }
    const functions = ofType(resources, 'AWS::Lambda::Function');
    for (const [id, { Properties }] of functions) {
      expect([id, Properties.Environment]).toMatchObject([
        id,
        { Variables: { COUNTERSTEP_PLANE: PLANE } },
      ]);
    }
  });

  test('watch the oldest saga in every open state', () => {
    const old = alarms.filter(({ MetricName }) => MetricName === 'OldestSaga');
    expect(old.map((alarm) => dimensionOf(alarm, 'State')).sort()).toEqual([...OPEN_STATES].sort());
    expect(named('running-old')).toMatchObject({
      Threshold: 3_600,
      ComparisonOperator: 'GreaterThanThreshold',
      Statistic: 'Maximum',
      EvaluationPeriods: 5,
      TreatMissingData: 'notBreaching',
    });
  });

  test('go off where the sweep or the census is silent', () => {
    for (const [name, metric, minutes] of [
      ['sweep-missed', 'Sweeps', 5],
      ['census-missed', 'ReviewsWaiting', 15],
    ] as const) {
      expect(named(name)).toMatchObject({
        MetricName: metric,
        Period: 60,
        Threshold: 1,
        ComparisonOperator: 'LessThanThreshold',
        EvaluationPeriods: minutes,
        TreatMissingData: 'breaching',
      });
    }
    expect(named('sweep-late')).toMatchObject({ MetricName: 'OldestDue', Threshold: 120 });
  });

  test.each([
    ['incident-opened', 'IncidentsOpened'],
    ['recovery-failed', 'RecoveriesFailed'],
    ['ledger-tampered', 'LedgersTampered'],
    ['ledger-damaged', 'DamagedLedgers'],
  ])('%s goes off at the first', (name, metric) => {
    expect(named(name)).toMatchObject({
      MetricName: metric,
      Statistic: 'Sum',
      Threshold: 1,
      ComparisonOperator: 'GreaterThanOrEqualToThreshold',
      EvaluationPeriods: 1,
    });
  });

  test('there is one for every dead-letter queue', () => {
    const queues = ofType(resources, 'AWS::SQS::Queue').map(([id]) => `\${${id}.QueueName}`);
    const watchedQueues = alarms
      .filter(({ MetricName }) => MetricName === 'ApproximateNumberOfMessagesVisible')
      .map((alarm) => textOf(dimensionOf(alarm, 'QueueName')));
    expect(watchedQueues.sort()).toEqual(queues.sort());
    expect(queues.length).toBeGreaterThan(1);
  });

  test('there is one for every function that Lambda may refuse to run, and every API', () => {
    const of = (metric: string, dimension: string) =>
      alarms
        .filter(({ MetricName }) => MetricName === metric)
        .map((alarm) => textOf(dimensionOf(alarm, dimension)))
        .sort();
    const ids = (type: string) =>
      ofType(resources, type)
        .map(([id]) => `\${${id}}`)
        .sort();
    expect(of('Throttles', 'FunctionName')).toEqual(ids('AWS::Lambda::Function'));
    expect(of('5xx', 'ApiId')).toEqual(ids('AWS::ApiGatewayV2::Api'));
    expect(ids('AWS::ApiGatewayV2::Api')).toHaveLength(2);
  });

  test('the outbox may be five minutes behind', () => {
    const outbox = named('outbox-behind');
    expect(outbox).toMatchObject({ MetricName: 'IteratorAge', Threshold: 300_000 });
    expect(textOf(dimensionOf(outbox, 'FunctionName'))).toMatch(/^\$\{SagasOutboxFunction/);
  });
});

describe('what a user may choose', () => {
  test('whom alarms tell: a topic when they go off and when they are over, and other actions', () => {
    const arn = 'arn:aws:sns:eu-central-1:123456789012:pager';
    const alarmTopic = Topic.fromTopicArn(new Stack(new App(), 'Other'), 'Pager', arn);
    const other: IAlarmAction = { bind: () => ({ alarmActionArn: 'arn:aws:ssm:::opsitem:1' }) };
    const told = alarmsIn(final(watched({ alarmTopic, alarmActions: [other] }).stack).resources);
    expect(told).toHaveLength(alarms.length);
    for (const { AlarmActions = [], OKActions = [] } of told) {
      expect(AlarmActions).toEqual([arn, 'arn:aws:ssm:::opsitem:1']);
      expect(OKActions).toEqual([arn]);
    }
    for (const { AlarmActions } of alarms) expect(AlarmActions).toBeUndefined();
  });

  test('every threshold', () => {
    const { stack } = watched({
      thresholds: {
        oldest: { running: Duration.minutes(7) },
        reviewsOverdue: 3,
        appendConflicts: 9,
        sweepLateness: Duration.minutes(4),
        outboxAge: Duration.minutes(11),
        apiErrors: 13,
        throttles: 17,
      },
      dashboard: false,
    });
    const made = final(stack).resources;
    const thresholds = Object.fromEntries(
      alarmsIn(made).map(({ AlarmName, Threshold }) => [
        AlarmName.slice(PLANE.length + 1),
        Threshold,
      ]),
    );
    expect(thresholds).toMatchObject({
      'running-old': 420,
      'waiting-old': 86_400,
      'reviews-overdue': 3,
      'appends-refused': 9,
      'sweep-late': 240,
      'outbox-behind': 660_000,
      'api-failing-iam': 13,
      'throttled-tool-hold-item': 17,
    });
    expect(ofType(made, 'AWS::CloudWatch::Dashboard')).toEqual([]);
  });

  test('to watch it otherwise', () => {
    const { stack, plane } = watched(false);
    expect(plane.watching).toBeUndefined();
    const made = final(stack).resources;
    expect(alarmsIn(made)).toEqual([]);
    expect(ofType(made, 'AWS::CloudWatch::Dashboard')).toEqual([]);
  });
});

test('one dashboard shows sagas by state and age, and every alarm', () => {
  const [dashboard, ...others] = ofType(resources, 'AWS::CloudWatch::Dashboard');
  expect(others).toEqual([]);
  // Another region of the account has the same list of dashboards.
  expect(textOf(dashboard?.[1].Properties.DashboardName)).toBe(`${PLANE}-\${AWS::Region}`);
  const body = textOf(dashboard?.[1].Properties.DashboardBody);
  const { widgets } = JSON.parse(body.replaceAll(/\$\{([^}]+)\}/g, '$1')) as {
    readonly widgets: readonly { readonly properties: { readonly alarms?: readonly string[] } }[];
  };
  for (const state of OPEN_STATES) {
    for (const metric of ['Sagas', 'OldestSaga']) {
      expect(body).toContain(
        `"${METRIC_NAMESPACE}","${metric}","Plane","${PLANE}","State","${state}"`,
      );
    }
  }
  const shown = widgets.flatMap(({ properties }) => properties.alarms ?? []);
  expect(shown).toHaveLength(alarms.length);
});

describe('the sweep is called', () => {
  const rules = () =>
    ofType(resources, 'AWS::Events::Rule').map(([, { Properties }]) => Properties);
  const queue = () => idOf(resources, 'AWS::SQS::Queue', /SweepUndelivered/);
  const targets = () => [
    {
      Arn: { 'Fn::GetAtt': [idOf(resources, 'AWS::Lambda::Function', /SweepFunction/), 'Arn'] },
      DeadLetterConfig: { Arn: { 'Fn::GetAtt': [queue(), 'Arn'] } },
    },
  ];

  test('each minute, and what is not delivered is kept', () => {
    const rule = rules().find(({ ScheduleExpression }) => ScheduleExpression !== undefined);
    expect(rule).toMatchObject({
      ScheduleExpression: 'rate(1 minute)',
      State: 'ENABLED',
      Targets: targets(),
    });
    const config = ofType(resources, 'AWS::Lambda::EventInvokeConfig')[0]?.[1];
    expect(config?.Properties).toMatchObject({
      MaximumRetryAttempts: 0,
      DestinationConfig: { OnFailure: { Destination: { 'Fn::GetAtt': [queue(), 'Arn'] } } },
    });
  });

  test('with each execution of this plane’s machines that ended before its saga, and no other', () => {
    const rule = rules().find(({ EventPattern }) => EventPattern !== undefined);
    const pattern = rule?.EventPattern as {
      readonly detail: {
        readonly stateMachineArn: readonly { readonly prefix: unknown }[];
        readonly $or: unknown;
      };
    };
    expect(pattern).toMatchObject({
      source: ['aws.states'],
      'detail-type': ['Step Functions Execution Status Change'],
    });
    expect(pattern.detail.$or).toEqual([
      { status: ['TIMED_OUT', 'ABORTED'] },
      {
        status: ['FAILED'],
        error: [
          { 'anything-but': [COMPENSATED_END.Error, INCIDENT_END.Error] },
          // `anything-but` asks for a value.
          { exists: false },
        ],
      },
    ]);
    expect(textOf(pattern.detail.stateMachineArn[0]?.prefix)).toMatch(
      new RegExp(`:stateMachine:${PLANE}-$`),
    );
    expect(rule).toMatchObject({ State: 'ENABLED', Targets: targets() });
  });
});
