import { ArnFormat, Stack } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { Effect, type IGrantable, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';

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

/** Keeps and fetches payloads one by one; cannot list or erase a saga's. */
export function grantPayloads(grantee: IGrantable, payloads: Table): void {
  add(grantee, {
    sid: 'Payloads',
    actions: ['dynamodb:GetItem', 'dynamodb:PutItem'],
    resources: [payloads.tableArn],
  });
  grantKey(grantee, payloads);
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

/**
 * Starts drives on the machines whose names begin with the plane's prefix: those of today, and those
 * retained from earlier deployments, on which older sagas still run. Step Functions authorises the
 * start of a version by its machine's ARN.
 */
export function grantDrives(grantee: IGrantable, scope: Construct, machinePrefix: string): void {
  add(grantee, {
    sid: 'Drives',
    actions: ['states:StartExecution'],
    resources: [machineArn(scope, `${machinePrefix}-*`)],
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

function grantKey(grantee: IGrantable, table: Table): void {
  table.encryptionKey?.grantEncryptDecrypt(grantee);
}

function add(
  grantee: IGrantable,
  props: NonNullable<ConstructorParameters<typeof PolicyStatement>[0]>,
): void {
  grantee.grantPrincipal.addToPrincipalPolicy(new PolicyStatement(props));
}
