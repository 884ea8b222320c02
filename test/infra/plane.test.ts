import { Duration, RemovalPolicy, Stack, Token } from 'aws-cdk-lib';
import { TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { defineSaga, lambdaTimeoutSeconds } from 'counterstep';
import { DeploymentError } from 'counterstep/cdk';
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { SORT_KEY_TYPES } from '../../lambdas/stores/dynamodb/tables.ts';
import { call, diamond, line, toolOf, tools } from '../statemachines/samples.ts';
import { type Document, grantedActions, may, read, roleOf, statementsOf } from './policies.ts';
import {
  deployed,
  final,
  LEDGER_ENTRY,
  ofType,
  planeIn,
  type Resources,
  TOOL_ENTRY,
  textOf,
} from './synth.ts';

const LEDGER = /^SagasTablesLedger/;
const REWRITES = [
  'dynamodb:PutItem',
  'dynamodb:UpdateItem',
  'dynamodb:DeleteItem',
  'dynamodb:BatchWriteItem',
  'dynamodb:PartiQLUpdate',
  'dynamodb:PartiQLDelete',
];

let resources: Resources;
beforeAll(() => {
  resources = deployed([line, diamond]).resources;
});

function idOf(type: string, pattern: RegExp): string {
  const found = ofType(resources, type).filter(([id]) => pattern.test(id));
  expect(found).toHaveLength(1);
  return found[0]?.[0] ?? '';
}

const tableArn = (pattern: RegExp) => `\${${idOf('AWS::DynamoDB::Table', pattern)}.Arn}`;

/** Roles of the Lambda functions, not those of the machines. */
const functionRoles = () =>
  ofType(resources, 'AWS::IAM::Role')
    .map(([id]) => id)
    .filter((id) => !id.includes('Saga-') && !id.includes('SagasSaga'));

describe('tables', () => {
  test('have the keys that the stores write', () => {
    for (const [kind, type] of Object.entries(SORT_KEY_TYPES)) {
      const table = resources[idOf('AWS::DynamoDB::Table', new RegExp(`Tables${kind}`, 'i'))];
      expect(table?.Properties).toMatchObject({
        KeySchema: [
          { AttributeName: 'pk', KeyType: 'HASH' },
          { AttributeName: 'sk', KeyType: 'RANGE' },
        ],
        AttributeDefinitions: [
          { AttributeName: 'pk', AttributeType: 'S' },
          { AttributeName: 'sk', AttributeType: type },
        ],
      });
    }
  });

  test('outlive the stack, restore to any second, and bill by use', () => {
    const tables = ofType(resources, 'AWS::DynamoDB::Table');
    expect(tables).toHaveLength(3);
    for (const [, table] of tables) {
      expect(table).toMatchObject({
        DeletionPolicy: 'Retain',
        UpdateReplacePolicy: 'Retain',
        Properties: {
          BillingMode: 'PAY_PER_REQUEST',
          DeletionProtectionEnabled: true,
          PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
          SSESpecification: { SSEEnabled: true },
        },
      });
    }
  });

  test('only the ledger has a stream, of what was written', () => {
    const streams = ofType(resources, 'AWS::DynamoDB::Table').filter(
      ([, table]) => table.Properties.StreamSpecification !== undefined,
    );
    expect(streams.map(([id]) => id)).toEqual([idOf('AWS::DynamoDB::Table', LEDGER)]);
    expect(streams[0]?.[1].Properties.StreamSpecification).toEqual({ StreamViewType: 'NEW_IMAGE' });
  });

  test('the ledger’s own policy denies every rewrite to everyone', () => {
    const table = resources[idOf('AWS::DynamoDB::Table', LEDGER)];
    const { PolicyDocument } = table?.Properties.ResourcePolicy as { PolicyDocument: Document };
    expect(PolicyDocument.Statement).toMatchObject([{ Principal: { AWS: '*' } }]);
    for (const action of REWRITES) {
      expect(may(read(PolicyDocument), action, 'any table')).toBe('denied');
    }
    expect(may(read(PolicyDocument), 'dynamodb:PartiQLInsert', 'any table')).toBe('not granted');
  });

  test('a plane to throw away leaves nothing but what it published', () => {
    const { resources: gone } = deployed([line], { removalPolicy: RemovalPolicy.DESTROY });
    const kept = Object.entries(gone).filter(([, { DeletionPolicy }]) =>
      DeletionPolicy?.startsWith('Retain'),
    );
    expect(new Set(kept.map(([, { Type }]) => Type))).toEqual(
      new Set(['AWS::Lambda::Version', 'AWS::StepFunctions::StateMachineVersion']),
    );
    for (const [, table] of ofType(gone, 'AWS::DynamoDB::Table')) {
      expect(table.Properties.DeletionProtectionEnabled).toBe(false);
    }
  });

  test('with a customer’s key every function may use it', () => {
    const { stack, plane } = planeIn();
    const other = new Stack(stack.node.root as never, 'Keyed');
    void plane;
    const key = new Key(other, 'Key');
    expect(key.keyArn).toBeDefined();
    const keyed = deployed([line], { encryption: TableEncryption.CUSTOMER_MANAGED }).resources;
    const granted = statementsOf(keyed, roleOf(keyed, 'Toolholdstock'));
    expect(grantedActions(granted)).toContain('kms:Decrypt');
  });
});

describe('roles of functions', () => {
  test('all append and read, none can rewrite, whatever else it is granted', () => {
    const arn = tableArn(LEDGER);
    const roles = functionRoles();
    expect(roles.length).toBe(2 + 4);
    for (const role of roles) {
      const statements = statementsOf(resources, role);
      for (const action of ['dynamodb:Query', 'dynamodb:GetItem', 'dynamodb:PartiQLInsert']) {
        expect([role, action, may(statements, action, arn)]).toEqual([role, action, 'allowed']);
      }
      const generous = [
        ...statements,
        { effect: 'Allow', actions: ['*'], resources: ['*'] } as const,
      ];
      for (const action of REWRITES) {
        expect([role, action, may(generous, action, arn)]).toEqual([role, action, 'denied']);
      }
    }
  });

  test('a tool reaches payloads one by one, and of the coordination table only the registry', () => {
    const statements = statementsOf(resources, roleOf(resources, 'Toolholdstock'));
    const payloads = tableArn(/TablesPayloads/);
    const coordination = tableArn(/TablesCoordination/);
    expect(may(statements, 'dynamodb:PutItem', payloads)).toBe('allowed');
    expect(may(statements, 'dynamodb:GetItem', payloads)).toBe('allowed');
    expect(may(statements, 'dynamodb:Query', payloads)).toBe('not granted');
    expect(may(statements, 'dynamodb:DeleteItem', payloads)).toBe('not granted');
    expect(may(statements, 'dynamodb:PutItem', coordination, 'registry#3')).toBe('allowed');
    expect(may(statements, 'dynamodb:DeleteItem', coordination, 'registry#3')).toBe('allowed');
    expect(may(statements, 'dynamodb:PutItem', coordination, 'convoy#acme')).toBe('not granted');
    expect(may(statements, 'dynamodb:PutItem', coordination)).toBe('not granted');
    expect(may(statements, 'dynamodb:Query', coordination, 'registry#3')).toBe('not granted');
  });

  test('only the ledger and the sweep start drives, on machines of this plane', () => {
    const machine = ofType(resources, 'AWS::StepFunctions::StateMachine')[0]?.[1];
    const name = String(machine?.Properties.StateMachineName);
    const arn = `arn:\${AWS::Partition}:states:\${AWS::Region}:\${AWS::AccountId}:stateMachine:${name}`;
    const starts = (part: string, of = arn) =>
      may(statementsOf(resources, roleOf(resources, part)), 'states:StartExecution', of);
    expect(starts('SagasLedger')).toBe('allowed');
    expect(starts('SagasSweep')).toBe('allowed');
    expect(starts('SagasLedger', `${arn}:7`)).toBe('allowed');
    expect(starts('SagasLedger', arn.replace(name, 'payroll'))).toBe('not granted');
    expect(starts('Toolholdstock')).toBe('not granted');
  });

  test('each function has a role and a log group of its own, and writes no other log', () => {
    const functions = ofType(resources, 'AWS::Lambda::Function');
    const roles = functions.map(([, fn]) => textOf(fn.Properties.Role));
    const logs = functions.map(([, fn]) =>
      textOf((fn.Properties.LoggingConfig as { LogGroup: unknown }).LogGroup),
    );
    expect(new Set(roles).size).toBe(functions.length);
    expect(new Set(logs).size).toBe(functions.length);
    const statements = statementsOf(resources, roleOf(resources, 'Toolholdstock'));
    expect(may(statements, 'logs:PutLogEvents', logs[0]?.replace('}', '.Arn}') ?? '')).toBe(
      'not granted',
    );
    for (const [, group] of ofType(resources, 'AWS::Logs::LogGroup')) {
      expect(group.Properties.RetentionInDays).toBe(365);
    }
  });

  test('what a user grants to one tool reaches that tool alone', () => {
    const { stack, plane } = planeIn();
    const charge = plane.tool(tools.charge, { entry: TOOL_ENTRY });
    plane.tool(tools.hold, { entry: TOOL_ENTRY });
    new Secret(stack, 'ApiKey').grantRead(charge);
    const granted = final(stack).resources;
    const reads = (part: string) =>
      grantedActions(statementsOf(granted, roleOf(granted, part))).includes(
        'secretsmanager:GetSecretValue',
      );
    expect(reads('Toolchargecard')).toBe(true);
    expect(reads('Toolholdstock')).toBe(false);
  });
});

describe('functions', () => {
  test('run on the current runtime, with their timeout and the names of the tables', () => {
    const fn = resources[idOf('AWS::Lambda::Function', /Toolholdstock/)];
    expect(fn?.Properties).toMatchObject({
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      Timeout: lambdaTimeoutSeconds(tools.hold),
      Environment: {
        Variables: {
          COUNTERSTEP_LEDGER_TABLE: { Ref: idOf('AWS::DynamoDB::Table', LEDGER) },
          COUNTERSTEP_PAYLOAD_TABLE: { Ref: idOf('AWS::DynamoDB::Table', /TablesPayloads/) },
          COUNTERSTEP_COORDINATION_TABLE: {
            Ref: idOf('AWS::DynamoDB::Table', /TablesCoordination/),
          },
        },
      },
    });
  });

  test('stay deployed when they leave the app, versions and grants too, but not after a failed creation', () => {
    const kept = { DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' };
    for (const type of [
      'AWS::Lambda::Function',
      'AWS::Lambda::Version',
      'AWS::StepFunctions::StateMachine',
      'AWS::StepFunctions::StateMachineVersion',
      'AWS::IAM::Role',
      'AWS::IAM::Policy',
    ]) {
      const all = ofType(resources, type);
      expect(all.length).toBeGreaterThan(0);
      for (const [id, resource] of all)
        expect([id, resource]).toEqual([id, { ...resource, ...kept }]);
    }
  });

  test('the sweep runs each minute, and what is not delivered is kept', () => {
    const rule = ofType(resources, 'AWS::Events::Rule')[0]?.[1];
    const queue = idOf('AWS::SQS::Queue', /Undelivered/);
    expect(rule?.Properties).toMatchObject({
      ScheduleExpression: 'rate(1 minute)',
      Targets: [{ DeadLetterConfig: { Arn: { 'Fn::GetAtt': [queue, 'Arn'] } } }],
    });
    const config = ofType(resources, 'AWS::Lambda::EventInvokeConfig')[0]?.[1];
    expect(config?.Properties).toMatchObject({
      DestinationConfig: { OnFailure: { Destination: { 'Fn::GetAtt': [queue, 'Arn'] } } },
    });
  });
});

describe('machines', () => {
  test('call published versions, never what a function is today', () => {
    const machines = ofType(resources, 'AWS::StepFunctions::StateMachine');
    expect(machines).toHaveLength(2);
    for (const [, { Properties }] of machines) {
      const called = Object.values(
        Properties.DefinitionSubstitutions as Record<string, { Ref: string }>,
      );
      expect(called.length).toBeGreaterThan(1);
      for (const { Ref } of called) expect(resources[Ref]?.Type).toBe('AWS::Lambda::Version');
    }
  });

  test('may invoke their own functions in any version, and nothing else', () => {
    const role = roleOf(resources, 'SagasSagadiamond');
    const statements = statementsOf(resources, role);
    const arnOf = (pattern: RegExp) => `\${${idOf('AWS::Lambda::Function', pattern)}.Arn}`;
    const invokes = (arn: string) => may(statements, 'lambda:InvokeFunction', arn);
    expect(invokes(`${arnOf(/Toolholdstock/)}:1`)).toBe('allowed');
    expect(invokes(`${arnOf(/Toolchargecard/)}:12`)).toBe('allowed');
    expect(invokes(`${arnOf(/^SagasLedger/)}:12`)).toBe('allowed');
    expect(invokes(arnOf(/Toolholdstock/))).toBe('not granted');
    expect(invokes(`${arnOf(/Toolsendmail/)}:1`)).toBe('not granted');
    expect(
      grantedActions(statements).filter((action) => /^(dynamodb|states):/.test(action)),
    ).toEqual([]);
  });

  test('a version is published of each revision, and says which plan it is', () => {
    const [id, version] = ofType(resources, 'AWS::StepFunctions::StateMachineVersion').find(
      ([, { Properties }]) => Properties.Description === `plan ${line.plan.digest}`,
    ) ?? ['', undefined];
    expect(id).toMatch(/^SagasSagaline/);
    const machine = idOf('AWS::StepFunctions::StateMachine', /^SagasSagaline/);
    expect(version?.Properties).toMatchObject({
      StateMachineArn: { 'Fn::GetAtt': [machine, 'Arn'] },
      StateMachineRevisionId: { 'Fn::GetAtt': [machine, 'StateMachineRevisionId'] },
    });
  });

  test('are logged and traced, and have no timeout of their own', () => {
    for (const [, { Properties }] of ofType(resources, 'AWS::StepFunctions::StateMachine')) {
      expect(Properties).toMatchObject({
        TracingConfiguration: { Enabled: true },
        LoggingConfiguration: { Level: 'ERROR' },
      });
      expect(JSON.parse(String(Properties.DefinitionString))).not.toHaveProperty('TimeoutSeconds');
    }
  });

  test('another type makes another machine, under another id and name', () => {
    const typed = (type: 'STANDARD' | 'EXPRESS') =>
      defineSaga(
        { name: 'line', version: '1', type, input: z.object({ id: z.string() }) },
        (saga) => saga.step('hold', tools.hold, { input: ({ input }) => input }),
      );
    const ids = (type: 'STANDARD' | 'EXPRESS') =>
      Object.entries(deployed([typed(type)]).resources).filter(([id]) =>
        id.startsWith('SagasSagaline'),
      );
    const [standard, express] = [ids('STANDARD'), ids('EXPRESS')];
    expect(express.length).toBe(standard.length);
    const shared = express.filter(([id]) => standard.some(([other]) => other === id));
    expect(shared).toEqual([]);
    const nameOf = (entries: typeof express) =>
      entries.find(([, { Type }]) => Type === 'AWS::StepFunctions::StateMachine')?.[1].Properties;
    expect(nameOf(express)).toMatchObject({
      StateMachineType: 'EXPRESS',
      LoggingConfiguration: { Level: 'ALL' },
    });
    expect(nameOf(express)?.StateMachineName).not.toBe(nameOf(standard)?.StateMachineName);
  });

  test('have names of at most 80 characters, each its own, however long the sagas’ names are', () => {
    const named = (name: string) =>
      defineSaga({ name, version: '1', input: z.object({ id: z.string() }) }, (saga) =>
        saga.step('hold', tools.hold, { input: ({ input }) => input }),
      );
    const long = 'refund-of-a-very-long-and-windy-order-that-nobody-should-ever-name-like-this-';
    const made = deployed([named(`${long}1`), named(`${long}2`)]).resources;
    const names = ofType(made, 'AWS::StepFunctions::StateMachine').map(([, { Properties }]) =>
      String(Properties.StateMachineName),
    );
    expect(new Set(names).size).toBe(2);
    for (const name of names) {
      expect(name.length).toBeLessThanOrEqual(80);
      expect(name).toMatch(/^[\w-]+$/);
    }
  });
});

describe('what cannot work fails while synthesising, and says what to do', () => {
  test('a saga whose tools have no function: all of them are named', () => {
    const { plane } = planeIn();
    plane.tool(tools.look, { entry: TOOL_ENTRY });
    const attempt = () => plane.saga(line);
    expect(attempt).toThrow(DeploymentError);
    expect(attempt).toThrow(/step "hold".*"hold-stock".*plane\.tool/);
    expect(attempt).toThrow(/step "send".*"send-mail"/);
    expect(attempt).not.toThrow(/step "look"/);
  });

  test('two functions for one tool', () => {
    const { plane } = planeIn();
    plane.tool(tools.hold, { entry: TOOL_ENTRY });
    expect(() => plane.tool(tools.hold, { entry: TOOL_ENTRY })).toThrow(/"hold-stock".*already/);
  });

  test('two sagas of one name', () => {
    const { plane } = planeIn();
    plane.tool(tools.look, { entry: TOOL_ENTRY });
    const reading = () =>
      defineSaga({ name: 'reading', version: '1', input: z.object({ id: z.string() }) }, (saga) =>
        saga.step('look', tools.look, { input: ({ input }) => input }),
      );
    plane.saga(reading());
    expect(() => plane.saga(reading())).toThrow(/"reading".*already/);
  });

  test('a function of another version of the contract', () => {
    const { plane } = planeIn();
    plane.tool({ ...toolOf('read_only', 'look-up'), version: '2' }, { entry: TOOL_ENTRY });
    const reading = defineSaga(
      { name: 'reading', version: '1', input: z.object({ id: z.string() }) },
      (saga) => saga.step('look', tools.look, { input: ({ input }) => input }),
    );
    expect(() => plane.saga(reading)).toThrow(/version 1.*version 2/);
  });

  test.each([
    [1, /shorter than the \d+ s/],
    [600, /outlast the Task/],
  ])('a timeout of %i s for a call of 5 s', (seconds, message) => {
    const { plane } = planeIn();
    const timeout = Duration.seconds(seconds);
    expect(() => plane.tool(tools.hold, { entry: TOOL_ENTRY, timeout })).toThrow(message);
  });

  test('a call longer than a Lambda', () => {
    const { plane } = planeIn();
    const slow = { ...tools.hold, forward: { ...tools.hold.forward, timeoutMs: 890_000 } };
    expect(() => plane.tool(slow, { entry: TOOL_ENTRY })).toThrow(/pending\(\)/);
  });

  test('a timeout that is known only when deployed is left alone', () => {
    const { plane } = planeIn();
    const timeout = Duration.seconds(Token.asNumber({ Ref: 'Timeout' }));
    expect(() => plane.tool(tools.hold, { entry: TOOL_ENTRY, timeout })).not.toThrow();
  });

  test.each([
    ['ledgerEntry', () => planeIn({ ledgerEntry: 'nowhere/ledger.lambda.ts' }), /ledgerHandler\(/],
    [
      'a tool’s entry',
      () => planeIn().plane.tool(tools.hold, { entry: 'nowhere.lambda.ts' }),
      /tool "hold-stock".*toolHandler\(/,
    ],
  ])('%s that does not exist', (_, make, message) => {
    expect(make).toThrow(message);
  });

  test.each(['', 'a b', 'x'.repeat(31), 'größe'])('the machine prefix %j', (machinePrefix) => {
    expect(() => planeIn({ machinePrefix })).toThrow(/letters, digits/);
  });

  test('a machine prefix that holds is used', () => {
    const { plane } = planeIn({ machinePrefix: 'shop', ledgerEntry: LEDGER_ENTRY });
    plane.tool(toolOf('read_only', 'look-up'), { entry: TOOL_ENTRY });
    expect(plane.machinePrefix).toBe('shop');
    expect(call.timeoutMs).toBe(5_000);
  });
});
