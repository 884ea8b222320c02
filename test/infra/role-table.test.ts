import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { exampleApp } from './example-app.ts';
import { REWRITES } from './policies.ts';
import { type RoleRow, roleTable } from './role-table.ts';
import { type Resources, SYNTH_MS } from './synth.ts';

const FILE = join(import.meta.dirname, 'roles.expected.json');

let resources: Resources;
let table: Record<string, RoleRow>;
beforeAll(async () => {
  ({ resources } = await exampleApp());
  table = roleTable(resources);
}, SYNTH_MS);

/** `UPDATE_GOLDEN=1` writes the table, for a person to review line by line. */
test('every role may do what the reviewed table says, and no more', () => {
  if (process.env.UPDATE_GOLDEN === '1') {
    writeFileSync(FILE, `${JSON.stringify(table, null, 2)}\n`);
  }
  expect(table).toEqual(JSON.parse(readFileSync(FILE, 'utf8')));
});

describe('of all roles together', () => {
  const rows = () => Object.entries(table);
  const grants = () =>
    rows().flatMap(([role, { may }]) =>
      Object.entries(may).flatMap(([on, actions]) =>
        actions.split(' ').map((action) => ({ role, on, action })),
      ),
    );

  test('none may do everything of a service', () => {
    expect(grants().filter(({ action }) => action.includes('*'))).toEqual([]);
  });

  test('none may change or remove what stands in the ledger', () => {
    const reaches = (on: string) => /^(?:SagasTablesLedger|\*)(?: |$)|:table\//.test(on);
    const rewriting = grants().filter(({ on, action }) => REWRITES.includes(action) && reaches(on));
    expect(rewriting).toEqual([]);
  });

  test('whoever adds to the ledger is denied every rewrite by name', () => {
    const writers = new Set(
      grants()
        .filter(({ action }) => action === 'dynamodb:PartiQLInsert')
        .map(({ role }) => role),
    );
    expect(writers.size).toBeGreaterThan(2);
    for (const [role, { never }] of rows().filter(([name]) => writers.has(name))) {
      expect([role, never?.SagasTablesLedger?.split(' ')]).toEqual([role, [...REWRITES].sort()]);
    }
  });

  test('what is granted on every resource is of services that know no resources', () => {
    const anywhere = grants().filter(({ on }) => on === '*' || on.startsWith('* '));
    expect(anywhere.filter(({ action }) => !/^(?:xray|logs|cloudwatch):/.test(action))).toEqual([]);
  });
});

describe('the data at rest', () => {
  const of = (type: string) =>
    Object.entries(resources).filter(([, resource]) => resource.Type === type);

  test('tables are encrypted, restorable to any second, and protected from deletion', () => {
    const tables = of('AWS::DynamoDB::Table');
    expect(tables.length).toBeGreaterThanOrEqual(3);
    for (const [id, { Properties }] of tables) {
      expect([id, Properties]).toMatchObject([
        id,
        {
          SSESpecification: { SSEEnabled: true },
          PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
          DeletionProtectionEnabled: true,
        },
      ]);
    }
  });

  test('queues are encrypted', () => {
    const queues = of('AWS::SQS::Queue');
    expect(queues.length).toBeGreaterThan(0);
    for (const [id, { Properties }] of queues) {
      const encrypted =
        Properties.SqsManagedSseEnabled === true || Properties.KmsMasterKeyId !== undefined;
      expect([id, encrypted]).toEqual([id, true]);
    }
  });

  test('logs end some day, and every function writes to a group of its own', () => {
    const groups = of('AWS::Logs::LogGroup');
    for (const [id, { Properties }] of groups) {
      expect([id, Properties.RetentionInDays]).toEqual([id, expect.any(Number)]);
    }
    for (const [id, { Properties }] of of('AWS::Lambda::Function')) {
      expect([id, Properties.LoggingConfig]).toEqual([
        id,
        {
          LogFormat: 'JSON',
          LogGroup: expect.anything() as unknown,
          SystemLogLevel: 'WARN',
        },
      ]);
    }
  });
});
