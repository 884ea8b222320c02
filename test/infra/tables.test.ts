import { RemovalPolicy } from 'aws-cdk-lib';
import { BillingMode, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import { beforeAll, describe, expect, test } from 'vitest';
import { SORT_KEY_TYPES } from '../../lambdas/stores/dynamodb/tables.ts';
import { diamond, line } from '../statemachines/samples.ts';
import {
  type Document,
  grantedActions,
  may,
  REWRITES,
  read,
  roleOf,
  statementsOf,
} from './policies.ts';
import { deployed, idOf, LEDGER, ofType, type Resources, SYNTH_MS } from './synth.ts';

let resources: Resources;
beforeAll(() => {
  resources = deployed([line, diamond]).resources;
}, SYNTH_MS);

describe('tables', () => {
  test('have the keys that the stores write', () => {
    for (const [kind, type] of Object.entries(SORT_KEY_TYPES)) {
      const table =
        resources[idOf(resources, 'AWS::DynamoDB::Table', new RegExp(`Tables${kind}`, 'i'))];
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

  test('are billed as is asked for', () => {
    const { resources: given } = deployed([line], { billingMode: BillingMode.PROVISIONED });
    for (const [, table] of ofType(given, 'AWS::DynamoDB::Table')) {
      expect(table.Properties).not.toHaveProperty('BillingMode');
      expect(table.Properties.ProvisionedThroughput).toEqual({
        ReadCapacityUnits: 5,
        WriteCapacityUnits: 5,
      });
    }
  });

  test('only the ledger has a stream, with what stood there before', () => {
    const streams = ofType(resources, 'AWS::DynamoDB::Table').filter(
      ([, table]) => table.Properties.StreamSpecification !== undefined,
    );
    expect(streams.map(([id]) => id)).toEqual([idOf(resources, 'AWS::DynamoDB::Table', LEDGER)]);
    expect(streams[0]?.[1].Properties.StreamSpecification).toEqual({
      StreamViewType: 'NEW_AND_OLD_IMAGES',
    });
  });

  test('the ledger’s own policy denies every rewrite to everyone', () => {
    const table = resources[idOf(resources, 'AWS::DynamoDB::Table', LEDGER)];
    const { PolicyDocument } = (table?.Properties.ResourcePolicy ?? {}) as {
      PolicyDocument: Document;
    };
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
    const keyed = deployed([line], { encryption: TableEncryption.CUSTOMER_MANAGED }).resources;
    const granted = statementsOf(keyed, roleOf(keyed, 'Toolholdstock'));
    expect(grantedActions(granted)).toContain('kms:Decrypt');
  });
});
