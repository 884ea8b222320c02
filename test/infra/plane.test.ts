import { Role } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { LoggingFormat, SystemLogLevel } from 'aws-cdk-lib/aws-lambda';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { LogLevel } from 'aws-cdk-lib/aws-stepfunctions';
import { type AnySaga, defineSaga, lambdaTimeoutSeconds } from 'counterstep';
import type { SagaFunctionProps } from 'counterstep/cdk';
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { diamond, line, tools } from '../statemachines/samples.ts';
import { grantedActions, may, roleOf, statementsOf } from './policies.ts';
import {
  deployed,
  final,
  idOf,
  LEDGER,
  ofType,
  planeIn,
  type Resources,
  SYNTH_MS,
  TOOL_ENTRY,
} from './synth.ts';

let resources: Resources;
beforeAll(() => {
  resources = deployed([line, diamond]).resources;
}, SYNTH_MS);

describe('functions', () => {
  test('run on the current runtime, with their timeout and the names of the tables', () => {
    const fn = resources[idOf(resources, 'AWS::Lambda::Function', /Toolholdstock/)];
    expect(fn?.Properties).toMatchObject({
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      Timeout: lambdaTimeoutSeconds(tools.hold),
      Environment: {
        Variables: {
          COUNTERSTEP_LEDGER_TABLE: { Ref: idOf(resources, 'AWS::DynamoDB::Table', LEDGER) },
          COUNTERSTEP_PAYLOAD_TABLE: {
            Ref: idOf(resources, 'AWS::DynamoDB::Table', /TablesPayloads/),
          },
          COUNTERSTEP_COORDINATION_TABLE: {
            Ref: idOf(resources, 'AWS::DynamoDB::Table', /TablesCoordination/),
          },
        },
      },
    });
  });

  test('log JSON without Lambda’s own lines of what goes well, unless told otherwise', () => {
    const loggingOf = (functionProps: SagaFunctionProps) =>
      ofType(deployed([line], { functionProps }).resources, 'AWS::Lambda::Function').map(
        ([, { Properties }]) => Properties.LoggingConfig as Readonly<Record<string, unknown>>,
      );
    const own = [
      [{}, 'JSON', 'WARN'],
      [{ systemLogLevelV2: SystemLogLevel.INFO }, 'JSON', 'INFO'],
      [{ loggingFormat: LoggingFormat.JSON }, 'JSON', 'WARN'],
      [{ loggingFormat: LoggingFormat.TEXT }, 'Text', undefined],
    ] as const;
    for (const [props, format, level] of own) {
      const configs = loggingOf(props);
      expect(configs.length).toBeGreaterThan(2);
      for (const { LogFormat, SystemLogLevel: system } of configs) {
        expect([props, LogFormat, system]).toEqual([props, format, level]);
      }
    }
  });

  test('of the plane’s own take properties one by one', () => {
    const { stack } = planeIn({
      functionProps: { memorySize: 256 },
      ledgerFunctionProps: { memorySize: 1_024 },
      sweep: { functionProps: { memorySize: 2_048 } },
    });
    const sizes = ofType(final(stack).resources, 'AWS::Lambda::Function').map(
      ([id, { Properties }]) => [/Sagas(Ledger|Sweep|Outbox)/.exec(id)?.[1], Properties.MemorySize],
    );
    expect(Object.fromEntries(sizes)).toEqual({ Ledger: 1_024, Sweep: 2_048, Outbox: 256 });
  });

  test('write to logs under the user’s key, and what they could not do to the user’s queues', () => {
    const { stack } = planeIn();
    const keyArn = 'arn:aws:kms:eu-central-1:123456789012:key/0a1b2c3d-0000-4000-8000-123456789012';
    const queue = (name: string) =>
      Queue.fromQueueArn(stack, name, `arn:aws:sqs:eu-central-1:123456789012:${name}`);
    const made = final(
      planeIn({
        logEncryptionKey: Key.fromKeyArn(stack, 'Key', keyArn),
        sweep: { deadLetterQueue: queue('calls') },
        outbox: { deadLetterQueue: queue('records') },
      }).stack,
    ).resources;
    const groups = ofType(made, 'AWS::Logs::LogGroup');
    expect(groups).toHaveLength(3);
    for (const [, { Properties }] of groups) {
      expect(Properties.KmsKeyId).toBe(keyArn);
    }
    expect(ofType(made, 'AWS::SQS::Queue')).toEqual([]);
    const [[, stream] = []] = ofType(made, 'AWS::Lambda::EventSourceMapping');
    expect(stream?.Properties.DestinationConfig).toEqual({
      OnFailure: { Destination: 'arn:aws:sqs:eu-central-1:123456789012:records' },
    });
    const [[, calls] = []] = ofType(made, 'AWS::Lambda::EventInvokeConfig');
    expect(calls?.Properties.DestinationConfig).toEqual({
      OnFailure: { Destination: 'arn:aws:sqs:eu-central-1:123456789012:calls' },
    });
  });

  test('may be described in any words, of which a role takes Latin letters only', () => {
    const { stack, plane } = planeIn();
    const description = 'Holds one “item” – für C\u00f4te d’Ivoire 🚚.';
    plane.tool({ ...tools.hold, description }, { entry: TOOL_ENTRY });
    plane.tool({ ...tools.look, description: `${'x'.repeat(241)}🚚` }, { entry: TOOL_ENTRY });
    const made = final(stack).resources;
    const described = (type: string, id: RegExp) =>
      made[idOf(made, type, id)]?.Properties.Description;
    expect(described('AWS::Lambda::Function', /Toolholdstock/)).toBe(
      `Tool hold-stock: ${description}`,
    );
    expect(described('AWS::IAM::Role', /Toolholdstock/)).toBe(
      'Tool hold-stock: Holds one ?item? ? für C\u00f4te d?Ivoire ?.',
    );
    const long = String(described('AWS::Lambda::Function', /Toollookup/));
    expect(long).toBe(`Tool look-up: ${'x'.repeat(241)}`);
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
    const arnOf = (pattern: RegExp) =>
      `\${${idOf(resources, 'AWS::Lambda::Function', pattern)}.Arn}`;
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

  test('of another set of tools have another role: that of before stays, with its rights, for versions of its day', () => {
    const shorter = (version: string) =>
      defineSaga({ name: 'line', version, input: z.object({ id: z.string() }) }, (saga) =>
        saga.step('hold', tools.hold, { input: ({ input }) => input }),
      );
    const roleIn = (saga: AnySaga) => {
      const made = deployed([saga]).resources;
      const id = roleOf(made, 'SagasSagaline');
      const others = ofType(made, 'AWS::IAM::Policy').filter(([, { Properties }]) =>
        JSON.stringify(Properties.Roles).includes(id),
      );
      return { id, role: made[id], others };
    };
    const before = roleIn(line);
    expect(before.role).toMatchObject({
      DeletionPolicy: 'RetainExceptOnCreate',
      UpdateReplacePolicy: 'Retain',
      Properties: { Policies: [{ PolicyName: 'Machine' }] },
    });
    expect(before.others).toEqual([]);
    expect(roleIn(shorter('2')).id).not.toBe(before.id);
    expect(roleIn(shorter('3')).id).toBe(roleIn(shorter('2')).id);
  });

  test('run with a role of the user’s where one is given', () => {
    const { stack, plane } = planeIn();
    plane.tool(tools.hold, { entry: TOOL_ENTRY });
    const role = Role.fromRoleArn(stack, 'Own', 'arn:aws:iam::123456789012:role/machines');
    const input = z.object({ id: z.string() });
    const saga = defineSaga({ name: 'own', version: '1', input }, (steps) =>
      steps.step('hold', tools.hold, { input: ({ input: given }) => given }),
    );
    plane.saga(saga, { role });
    const made = final(stack).resources;
    const [machine] = ofType(made, 'AWS::StepFunctions::StateMachine');
    expect(machine?.[1].Properties.RoleArn).toBe('arn:aws:iam::123456789012:role/machines');
    expect(ofType(made, 'AWS::IAM::Role').filter(([id]) => /Sagaown/.test(id))).toEqual([]);
  });

  test('a version is published of each revision, and says which plan it is', () => {
    const [id, version] = ofType(resources, 'AWS::StepFunctions::StateMachineVersion').find(
      ([, { Properties }]) => Properties.Description === `plan ${line.plan.digest}`,
    ) ?? ['', undefined];
    expect(id).toMatch(/^SagasSagaline/);
    const machine = idOf(resources, 'AWS::StepFunctions::StateMachine', /^SagasSagaline/);
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

  test('tell every step in their log where they are told to', () => {
    const { stack, plane } = planeIn();
    plane.tool(tools.hold, { entry: TOOL_ENTRY });
    const saga = defineSaga(
      { name: 'loud', version: '1', type: 'EXPRESS', input: z.object({ id: z.string() }) },
      (steps) => steps.step('hold', tools.hold, { input: ({ input }) => input }),
    );
    plane.saga(saga, { logLevel: LogLevel.ALL });
    const machines = ofType(final(stack).resources, 'AWS::StepFunctions::StateMachine');
    expect(machines.map(([, { Properties }]) => Properties.LoggingConfiguration)).toMatchObject([
      { Level: 'ALL' },
    ]);
  });

  test('only a stand-in without versions is deployed to without them', () => {
    const versions = (context: Readonly<Record<string, string>>) =>
      ofType(deployed([line], {}, context).resources, 'AWS::StepFunctions::StateMachineVersion');
    expect(versions({})).toHaveLength(1);
    expect(versions({ 'counterstep:machineVersions': 'none' })).toEqual([]);
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
      LoggingConfiguration: { Level: 'ERROR' },
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
