import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Duration } from 'aws-cdk-lib';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { beforeAll, describe, expect, test } from 'vitest';
import type { SagaRow } from '../../lambdas/projection/row.ts';
import { dynamoSagaIndex } from '../../lambdas/stores/dynamodb/saga-index.ts';
import { diamond, line } from '../statemachines/samples.ts';
import { functionRoles, grantedActions, may, REWRITES, roleOf, statementsOf } from './policies.ts';
import {
  deployed,
  final,
  idOf,
  LEDGER,
  ofType,
  planeIn,
  type Resources,
  SYNTH_MS,
  tableArn,
  textOf,
} from './synth.ts';

let resources: Resources;
beforeAll(() => {
  resources = deployed([line, diamond]).resources;
}, SYNTH_MS);

const FUNCTION = /^SagasOutboxFunction/;
const mappingIn = (of: Resources) =>
  ofType(of, 'AWS::Lambda::EventSourceMapping').map(([, { Properties }]) => Properties);

describe('the ledger’s stream', () => {
  test('is read from its beginning, in partial batches, and what cannot be passed on is kept', () => {
    const queue = idOf(resources, 'AWS::SQS::Queue', /^SagasOutboxUndelivered/);
    const mappings = mappingIn(resources);
    expect(mappings).toHaveLength(1);
    expect(mappings[0]).toMatchObject({
      EventSourceArn: {
        'Fn::GetAtt': [idOf(resources, 'AWS::DynamoDB::Table', LEDGER), 'StreamArn'],
      },
      FunctionName: { Ref: idOf(resources, 'AWS::Lambda::Function', FUNCTION) },
      StartingPosition: 'TRIM_HORIZON',
      BatchSize: 1_000,
      MaximumBatchingWindowInSeconds: 5,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      BisectBatchOnFunctionError: true,
      MaximumRetryAttempts: 30,
      MaximumRecordAgeInSeconds: 6 * 3_600,
      DestinationConfig: { OnFailure: { Destination: { 'Fn::GetAtt': [queue, 'Arn'] } } },
    });
    expect(resources[queue]?.Properties).toMatchObject({
      SqsManagedSseEnabled: true,
      MessageRetentionPeriod: 14 * 24 * 3_600,
    });
  });

  test('a bad record is given up before others grow too old, even if each try takes all its time', () => {
    const [mapping] = mappingIn(resources);
    const fn = resources[idOf(resources, 'AWS::Lambda::Function', FUNCTION)];
    const longest = Number(mapping?.MaximumRetryAttempts) * Number(fn?.Properties.Timeout);
    expect(longest).toBeLessThan(Number(mapping?.MaximumRecordAgeInSeconds));
    // And the stream keeps records for 24 hours.
    expect(Number(mapping?.MaximumRecordAgeInSeconds)).toBeLessThan(24 * 3_600);
  });

  test('is not read before the role may read it', () => {
    const [[, mapping] = ['', undefined]] = ofType(resources, 'AWS::Lambda::EventSourceMapping');
    const { DependsOn = [] } = (mapping ?? {}) as { DependsOn?: readonly string[] };
    expect(DependsOn.some((id) => resources[id]?.Type === 'AWS::IAM::Policy')).toBe(true);
  });
});

describe('the event bus', () => {
  test('is the plane’s own, and the function knows its name', () => {
    const bus = idOf(resources, 'AWS::Events::EventBus', /^SagasOutboxEvents/);
    const fn = resources[idOf(resources, 'AWS::Lambda::Function', FUNCTION)];
    expect(fn?.Properties).toMatchObject({
      Environment: {
        Variables: {
          COUNTERSTEP_EVENT_BUS: { Ref: bus },
          COUNTERSTEP_EVENTS: 'compensating,needs_review,completed,compensated,incident',
        },
      },
    });
    expect(ofType(resources, 'AWS::Events::Archive')).toEqual([]);
  });

  test('can be another, with an archive, and the stream read otherwise', () => {
    const { stack, plane } = planeIn();
    const shared = EventBus.fromEventBusName(stack, 'Shared', 'shared');
    expect(plane.eventBus).toBe(plane.outbox.eventBus);
    const { resources: other } = deployed([line], {
      outbox: {
        archive: { retention: Duration.days(30) },
        events: ['started', 'completed'],
        batchSize: 7,
        maxBatchingWindow: Duration.seconds(0),
        parallelizationFactor: 4,
        retryAttempts: 3,
        maxRecordAge: Duration.hours(1),
        functionProps: { memorySize: 1_024 },
      },
    });
    expect(mappingIn(other)[0]).toMatchObject({
      BatchSize: 7,
      MaximumBatchingWindowInSeconds: 0,
      ParallelizationFactor: 4,
      MaximumRetryAttempts: 3,
      MaximumRecordAgeInSeconds: 3_600,
    });
    const [[, archive] = ['', undefined]] = ofType(other, 'AWS::Events::Archive');
    expect(archive?.Properties).toMatchObject({
      RetentionDays: 30,
      EventPattern: { source: ['counterstep'] },
    });
    const fn = other[idOf(other, 'AWS::Lambda::Function', FUNCTION)];
    expect(fn?.Properties).toMatchObject({
      MemorySize: 1_024,
      Environment: { Variables: { COUNTERSTEP_EVENTS: 'started,completed' } },
    });

    const given = deployed([line], { outbox: { eventBus: shared } }).resources;
    expect(ofType(given, 'AWS::Events::EventBus')).toEqual([]);
    expect(given[idOf(given, 'AWS::Lambda::Function', FUNCTION)]?.Properties).toMatchObject({
      Environment: { Variables: { COUNTERSTEP_EVENT_BUS: 'shared' } },
    });
  });
});

describe('the outbox’s role', () => {
  test('reads ledgers and their stream, writes the projection, publishes on one bus, and no more', () => {
    const statements = statementsOf(resources, roleOf(resources, 'SagasOutbox'));
    const ledger = tableArn(resources, LEDGER);
    const coordination = tableArn(resources, /TablesCoordination/);
    const bus = `\${${idOf(resources, 'AWS::Events::EventBus', /./)}.Arn}`;
    const on = (action: string, resource: string, key?: string) =>
      may(statements, action, resource, key);
    expect(on('dynamodb:Query', ledger)).toBe('allowed');
    expect(on('dynamodb:GetRecords', ledger.replace('.Arn}', '.StreamArn}'))).toBe('allowed');
    expect(on('dynamodb:ListStreams', `${ledger}/stream/2026`)).toBe('allowed');
    for (const action of [...REWRITES, 'dynamodb:PartiQLInsert']) {
      expect([action, on(action, ledger)]).toEqual([action, 'denied']);
    }
    for (const action of ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:DeleteItem']) {
      for (const key of ['saga#acme/s', 'index#acme/name=refund#3', 'index#acme/names']) {
        expect([action, key, on(action, coordination, key)]).toEqual([action, key, 'allowed']);
      }
      expect(on(action, coordination, 'registry#3')).toBe('not granted');
      expect(on(action, coordination)).toBe('not granted');
    }
    expect(on('events:PutEvents', bus)).toBe('allowed');
    expect(on('events:PutEvents', bus.replace('Sagas', 'Other'))).toBe('not granted');
    expect(
      grantedActions(statements).filter((action) => /^(?:states|lambda|s3|kms):/.test(action)),
    ).toEqual([]);
  });

  test('no function may look for ledgers it does not know; whoever rebuilds may', () => {
    const scans = (of: Resources, role: string) =>
      may(statementsOf(of, role), 'dynamodb:Scan', tableArn(of, LEDGER));
    const roles = functionRoles(resources);
    expect(roles.length).toBeGreaterThan(3);
    for (const role of roles) expect([role, scans(resources, role)]).toEqual([role, 'not granted']);

    const { stack, plane } = planeIn();
    const operator = new Role(stack, 'Operator', {
      assumedBy: new ServicePrincipal('ec2.amazonaws.com'),
    });
    plane.outbox.grantRebuild(operator);
    const granted = final(stack).resources;
    const statements = statementsOf(granted, roleOf(granted, 'Operator'));
    expect(scans(granted, roleOf(granted, 'Operator'))).toBe('allowed');
    const bus = textOf({ 'Fn::GetAtt': [idOf(granted, 'AWS::Events::EventBus', /./), 'Arn'] });
    expect(may(statements, 'events:PutEvents', bus)).toBe('allowed');
    const coordination = tableArn(granted, /TablesCoordination/);
    expect(may(statements, 'dynamodb:PutItem', coordination, 'index#acme/name=refund#1')).toBe(
      'allowed',
    );
    expect(may(statements, 'dynamodb:PutItem', tableArn(granted, LEDGER))).toBe('not granted');
  });

  test('the projection writes where the grant lets it', async () => {
    const sent: (readonly [string, string])[] = [];
    const client = {
      async send(command: { readonly input: Partial<Record<'Key' | 'Item', Item>> }) {
        const { Item, Key } = command.input;
        const action = `dynamodb:${command.constructor.name.replace('Command', '')}`;
        sent.push([action, (Item ?? Key)?.pk?.S ?? '']);
        // As if the saga had been waiting before.
        return action === 'dynamodb:GetItem' ? { Item: stored('waiting', 1) } : {};
      },
    } as unknown as DynamoDBClient;
    const index = dynamoSagaIndex({ client, table: 'coordination' });
    await index.note({ tenant: 'acme', sagaId: 's' }, { row: row('running', 2), repair: true });
    expect(new Set(sent.map(([action]) => action))).toEqual(
      new Set(['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:DeleteItem']),
    );
    const statements = statementsOf(resources, roleOf(resources, 'SagasOutbox'));
    const coordination = tableArn(resources, /TablesCoordination/);
    for (const [action, key] of sent) {
      const answer = may(statements, action, coordination, key);
      expect([action, key, answer]).toEqual([action, key, 'allowed']);
    }
  });
});

type Item = Readonly<Record<string, { readonly S?: string; readonly N?: string }>>;

function row(state: SagaRow['state'], seq: number): SagaRow {
  const times = { startedAt: 1, changedAt: 1, stateSince: 1, drive: 'running' } as const;
  const name = { tenant: 'acme', sagaId: 's', name: 'refund', version: '1' };
  return { ...name, ...times, state, seq, hash: `hash-${seq}` };
}

function stored(state: SagaRow['state'], seq: number): Item {
  const numbers = { seq: { N: String(seq) }, revision: { N: '1' } };
  return { ...numbers, row: { S: JSON.stringify(row(state, seq)) } };
}
