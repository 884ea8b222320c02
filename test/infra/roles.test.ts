import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { beforeAll, describe, expect, test } from 'vitest';
import { dynamoRegistry } from '../../lambdas/stores/dynamodb/registry.ts';
import { diamond, line, tools } from '../statemachines/samples.ts';
import { functionRoles, grantedActions, may, REWRITES, roleOf, statementsOf } from './policies.ts';
import {
  deployed,
  final,
  LEDGER,
  ofType,
  planeIn,
  type Resources,
  SYNTH_MS,
  TOOL_ENTRY,
  tableArn,
  textOf,
} from './synth.ts';

const APPENDS = ['dynamodb:Query', 'dynamodb:GetItem', 'dynamodb:PartiQLInsert'];

let resources: Resources;
beforeAll(() => {
  resources = deployed([line, diamond]).resources;
}, SYNTH_MS);

describe('roles of functions', () => {
  test('all but the outbox append and read, none can rewrite, whatever else it is granted', () => {
    const arn = tableArn(resources, LEDGER);
    const roles = functionRoles(resources);
    expect(roles.length).toBe(2 + 4 + 1);
    for (const role of roles) {
      const statements = statementsOf(resources, role);
      const reads = /^SagasOutbox/.test(role) ? ['dynamodb:Query'] : undefined;
      for (const action of reads ?? APPENDS) {
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
    const payloads = tableArn(resources, /TablesPayloads/);
    const coordination = tableArn(resources, /TablesCoordination/);
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
    const writes = ofType(resources, 'AWS::Logs::LogGroup')
      .map(([id]) => id)
      .filter((id) => may(statements, 'logs:PutLogEvents', `\${${id}.Arn}`) === 'allowed');
    expect(writes).toEqual([expect.stringMatching(/^SagasToolholdstockLogs/)]);
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

  test('the registry writes where its grant lets it', async () => {
    const keys: string[] = [];
    const client = {
      send: async ({ input }: { input: { Item?: Item; Key?: Item } }) => {
        keys.push((input.Item ?? input.Key)?.pk?.S ?? '');
      },
    } as unknown as DynamoDBClient;
    const registry = dynamoRegistry(client, 'coordination');
    const entry = { tenant: 'acme', sagaId: 's1', dueAt: 1 };
    await registry.add(entry);
    await registry.remove(entry);
    const statements = statementsOf(resources, roleOf(resources, 'Toolholdstock'));
    const coordination = tableArn(resources, /TablesCoordination/);
    expect(keys).toHaveLength(2);
    expect(may(statements, 'dynamodb:PutItem', coordination, keys[0])).toBe('allowed');
    expect(may(statements, 'dynamodb:DeleteItem', coordination, keys[1])).toBe('allowed');
  });
});

type Item = Readonly<Record<string, { readonly S?: string }>>;
