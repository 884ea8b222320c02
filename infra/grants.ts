import { ArnFormat, Stack } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { Effect, type IGrantable, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { accept, wildcard } from './accept.ts';

/** Every way to change or remove an item that stands. A conditional put counts: IAM cannot demand the condition. */
export const REWRITES = [
  'dynamodb:PutItem',
  'dynamodb:UpdateItem',
  'dynamodb:DeleteItem',
  'dynamodb:BatchWriteItem',
  'dynamodb:PartiQLUpdate',
  'dynamodb:PartiQLDelete',
] as const;

/** Reads ledgers and adds to them. The deny stands whatever else the role is ever granted. */
export function grantAppend(grantee: IGrantable, ledger: Table): void {
  add(grantee, {
    sid: 'Append',
    actions: ['dynamodb:Query', 'dynamodb:GetItem', 'dynamodb:PartiQLInsert'],
    resources: [ledger.tableArn],
  });
  add(grantee, {
    sid: 'NeverRewrite',
    effect: Effect.DENY,
    actions: [...REWRITES],
    resources: [ledger.tableArn],
  });
  grantKey(grantee, ledger);
}

/** Reads ledgers, and does nothing else to them. The deny stands whatever else the role is granted. */
export function grantReadLedgers(grantee: IGrantable, ledger: Table): void {
  add(grantee, { sid: 'Read', actions: ['dynamodb:Query'], resources: [ledger.tableArn] });
  add(grantee, {
    sid: 'NeverWrite',
    effect: Effect.DENY,
    actions: [...REWRITES, 'dynamodb:PartiQLInsert'],
    resources: [ledger.tableArn],
  });
  grantKey(grantee, ledger);
}

/**
 * Finds ledgers of all tenants and reads them. For an operator's role: no function of the plane may
 * list what it does not know by name.
 */
export function grantScanLedgers(grantee: IGrantable, ledger: Table): void {
  add(grantee, {
    sid: 'Scan',
    actions: ['dynamodb:Scan', 'dynamodb:Query'],
    resources: [ledger.tableArn],
  });
  grantKey(grantee, ledger);
}

/** Reads the ledger's stream. @returns the stream's ARN */
export function grantLedgerStream(fn: LambdaFunction, ledger: Table): string {
  const stream = ledger.tableStreamArn;
  if (stream === undefined) throw new Error('the ledger table has no stream');
  add(fn, {
    sid: 'Stream',
    actions: ['dynamodb:DescribeStream', 'dynamodb:GetRecords', 'dynamodb:GetShardIterator'],
    resources: [stream],
  });
  // Of the table's streams, not of one: that is how this action knows them.
  const streams = `${ledger.tableArn}/stream/*`;
  add(fn, { sid: 'Streams', actions: ['dynamodb:ListStreams'], resources: [streams] });
  if (fn.role !== undefined) {
    accept(fn.role, {
      [wildcard(ledger, streams)]: 'the action knows the streams of a table only as a whole',
    });
  }
  return stream;
}

/** Keeps and fetches payloads one by one; cannot list or erase a saga's. */
export function grantPayloads(grantee: IGrantable, payloads: Table): void {
  add(grantee, {
    sid: 'Payloads',
    actions: ['dynamodb:GetItem', 'dynamodb:PutItem'],
    resources: [payloads.tableArn],
  });
  grantKey(grantee, payloads);
}

/** Lists a saga's payloads, to erase them all. */
export function grantErasure(grantee: IGrantable, payloads: Table): void {
  add(grantee, {
    sid: 'Erasure',
    actions: ['dynamodb:Query'],
    resources: [payloads.tableArn],
  });
}

/** Partitions of the registry in the coordination table; the other kinds of items are out of reach. */
const REGISTRY_PARTITIONS = 'registry#*';

/** Adds and removes due entries. With `read` it also lists them, as the sweep does. */
export function grantRegistry(
  grantee: IGrantable,
  coordination: Table,
  options: { readonly read?: boolean } = {},
): void {
  add(grantee, {
    sid: 'Registry',
    actions: [
      'dynamodb:PutItem',
      'dynamodb:DeleteItem',
      ...(options.read === true ? ['dynamodb:Query'] : []),
    ],
    resources: [coordination.tableArn],
    conditions: {
      'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [REGISTRY_PARTITIONS] },
      // Without this, a request that names no key would satisfy "for all values".
      Null: { 'dynamodb:LeadingKeys': 'false' },
    },
  });
  grantKey(grantee, coordination);
}

/** Partitions of the projection in the coordination table: sagas and the lists they stand in. */
const SAGAS = 'saga#*';
const TENANTS_LISTS = 'index#*';
/** Lists over all tenants, which say nothing of a saga but where it is. */
const OPEN_LISTS = 'open#*';

/**
 * Reads the projection: lists, and noted heads. With `write` it also notes, as the outbox does.
 * Strongly consistent reads are by key, so no other kind of item comes within reach.
 */
export function grantProjection(
  grantee: IGrantable,
  coordination: Table,
  options: { readonly write?: boolean } = {},
): void {
  add(grantee, {
    sid: options.write === true ? 'WriteProjection' : 'ReadProjection',
    actions:
      options.write === true
        ? ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:DeleteItem']
        : ['dynamodb:GetItem', 'dynamodb:BatchGetItem', 'dynamodb:Query'],
    resources: [coordination.tableArn],
    conditions: {
      'ForAllValues:StringLike': {
        'dynamodb:LeadingKeys':
          options.write === true ? [SAGAS, TENANTS_LISTS, OPEN_LISTS] : [SAGAS, TENANTS_LISTS],
      },
      Null: { 'dynamodb:LeadingKeys': 'false' },
    },
  });
  grantKey(grantee, coordination);
}

/** Partitions of what open sagas hold of their tenants' budgets. */
const BUDGETS = 'budget#*';

/** Charges sagas to their tenants' budgets when they start. */
export function grantCharging(grantee: IGrantable, coordination: Table): void {
  grantBudgets(grantee, coordination, 'Charge', 'dynamodb:PutItem');
}

/** Gives back what sagas held, and charges nothing. */
export function grantGivingBack(grantee: IGrantable, coordination: Table): void {
  grantBudgets(grantee, coordination, 'GiveBack', 'dynamodb:DeleteItem');
}

function grantBudgets(grantee: IGrantable, coordination: Table, sid: string, own: string): void {
  add(grantee, {
    sid,
    actions: ['dynamodb:GetItem', own, 'dynamodb:UpdateItem'],
    resources: [coordination.tableArn],
    conditions: only(BUDGETS),
  });
  grantKey(grantee, coordination);
}

/** Reads and writes the breaker of one tool. */
export function grantBreaker(grantee: IGrantable, coordination: Table, tool: string): void {
  add(grantee, {
    sid: 'Breaker',
    actions: ['dynamodb:Query', 'dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:DeleteItem'],
    resources: [coordination.tableArn],
    conditions: only(`breaker#${tool}`),
  });
  grantKey(grantee, coordination);
}

/** Reads the breakers of all tools, which say nothing of a saga or a tenant. */
export function grantReadBreakers(grantee: IGrantable, coordination: Table): void {
  add(grantee, {
    sid: 'ReadBreakers',
    actions: ['dynamodb:Query'],
    resources: [coordination.tableArn],
    conditions: only('breaker#*'),
  });
  grantKey(grantee, coordination);
}

/** Counts open sagas over all tenants, as the sweep does, and takes out entries that are not true. */
export function grantCensus(grantee: IGrantable, coordination: Table): void {
  add(grantee, {
    sid: 'Count',
    actions: ['dynamodb:Query', 'dynamodb:DeleteItem'],
    resources: [coordination.tableArn],
    conditions: only(OPEN_LISTS),
  });
  add(grantee, {
    sid: 'LookUp',
    actions: ['dynamodb:GetItem'],
    resources: [coordination.tableArn],
    conditions: only(SAGAS),
  });
  grantKey(grantee, coordination);
}

/**
 * Starts drives on the machines whose names begin with the plane's prefix: those of today, and those
 * retained from earlier deployments, on which older sagas still run. Step Functions authorises the
 * start of a version by its machine's ARN.
 */
export function grantDrives(fn: LambdaFunction, scope: Construct, machinePrefix: string): void {
  const machines = machineArn(scope, `${machinePrefix}-*`);
  add(fn, { sid: 'Drives', actions: ['states:StartExecution'], resources: [machines] });
  if (fn.role === undefined) return;
  accept(fn.role, {
    [wildcard(scope, machines)]:
      'machines of earlier deployments too, which older sagas still run on; the prefix is the plane’s own',
  });
}

export function machineArn(scope: Construct, name: string): string {
  return Stack.of(scope).formatArn({
    service: 'states',
    resource: 'stateMachine',
    resourceName: name,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });
}

function only(partitions: string) {
  return {
    'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [partitions] },
    // Without this, a request that names no key would satisfy "for all values".
    Null: { 'dynamodb:LeadingKeys': 'false' },
  };
}

function grantKey(grantee: IGrantable, table: Table): void {
  table.encryptionKey?.grantEncryptDecrypt(grantee);
}

function add(
  grantee: IGrantable,
  props: NonNullable<ConstructorParameters<typeof PolicyStatement>[0]>,
): void {
  grantee.grantPrincipal.addToPrincipalPolicy(new PolicyStatement(props));
}
