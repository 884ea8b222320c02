import { Fn, Stack, Token, TokenComparison } from 'aws-cdk-lib';
import type { IRole } from 'aws-cdk-lib/aws-iam';
import type { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import type { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import type { Construct } from 'constructs';
import { type Access, isRole, ROLES, tenantFault } from '../statemachines/access.ts';
import {
  type AccessList,
  type ClaimNames,
  MAX_ENVIRONMENT_BYTES,
  type MachineList,
  PLAN_DIGITS,
} from '../statemachines/asl/api-environment.ts';
import type { Problem } from '../statemachines/language/problems.ts';
import { machineArn } from './grants.ts';
import type { Saga } from './saga.ts';

/** A role that was granted access. */
export interface Grant {
  readonly role: IRole;
  readonly access: Access;
}

/** @returns JSON of the current machine version of each saga; versions are known when deployed */
export function machineList(scope: Construct, prefix: string, sagas: Iterable<Saga>): string {
  const list: MachineList = {
    base: machineArn(scope, ''),
    prefix,
    sagas: [...sagas].map(({ definition: { name, plan }, version }) => [
      name,
      version === undefined ? '' : numberOf(version.attrArn),
      plan.digest.slice(0, PLAN_DIGITS),
    ]),
  };
  return Stack.of(scope).toJsonString(list);
}

/** The last part of `arn:aws:states:region:account:stateMachine:name:version`. */
function numberOf(versionArn: string): string {
  return Fn.select(7, Fn.split(':', versionArn));
}

/** @returns JSON of what each role may do; names and accounts may be known only when deployed */
export function accessList(scope: Construct, grants: readonly Grant[]): string {
  const stack = Stack.of(scope);
  const list: AccessList = grants.map(({ role, access }) => {
    const account = role.principalAccount ?? stack.account;
    return [
      account === stack.account ? '' : account,
      role.roleName,
      access.tenant,
      access.roles.join(' '),
    ];
  });
  return stack.toJsonString(list);
}

export function grantProblems(place: string, grants: readonly Grant[], added: Grant): Problem[] {
  const { access, role } = added;
  const problems: Problem[] = [];
  const fault = Token.isUnresolved(access.tenant) ? undefined : tenantFault(access.tenant);
  if (fault !== undefined) {
    problems.push({
      place,
      problem: `the tenant ${JSON.stringify(access.tenant)} ${fault}`,
      remedy: 'Give the tenant another name',
    });
  }
  if (access.roles.length === 0 || !access.roles.every(isRole)) {
    problems.push({
      place,
      problem: `its roles are ${JSON.stringify(access.roles)}`,
      remedy: `Use one or more of ${ROLES.join(', ')}`,
    });
  }
  if (grants.some((grant) => grant.role === role || grant.role.roleArn === role.roleArn)) {
    problems.push({
      place,
      problem: 'it has access already, and a role acts for one tenant only',
      remedy: 'Grant it once, or use one role for each tenant',
    });
  }
  return problems;
}

/**
 * A role of another account could be granted nothing from here, and no HTTP API takes a policy that lets
 * it in. Accounts that are known only when deployed are the caller's to answer for.
 */
export function accountProblems(place: string, account: string, role: IRole): Problem[] {
  const { principalAccount = account } = role;
  if (Token.compareStrings(principalAccount, account) !== TokenComparison.DIFFERENT) return [];
  return [
    {
      place,
      problem: `it is of account ${principalAccount}, and an HTTP API lets in roles of its own account ${account} only`,
      remedy: `Grant access to a role of account ${account}, and let that one be assumed by the other`,
    },
  ];
}

export function claimProblems(names: ClaimNames, audience: readonly string[]): Problem[] {
  const place = 'the API for people (prop `jwt`)';
  const problems: Problem[] = [];
  if (audience.length === 0 || audience.includes('')) {
    problems.push({
      place,
      problem: 'it names no audience, so tokens made for other applications would pass',
      remedy: 'Give `audience` the client ids whose tokens it takes',
    });
  }
  if (names.tenant === '' || names.roles === '') {
    problems.push({
      place,
      problem: 'a claim has no name',
      remedy: 'Name the claims that hold tenant and roles, or leave them out for the default',
    });
  }
  return problems;
}

/** What is known only when deployed may take so many bytes: IAM's limit for roles; tables mostly take less. */
const NAME_BYTES = 64;
const PSEUDO_BYTES: Readonly<Record<string, number>> = {
  'AWS::AccountId': 12,
  'AWS::Partition': 10,
  'AWS::Region': 14,
};
const VERSION_BYTES = 6;

/** Why the function could not be deployed with the variables it has by now. */
export function environmentProblems(place: string, fn: NodejsFunction): Problem[] {
  const { environment } = fn.node.defaultChild as CfnFunction;
  const { variables = {} } = Stack.of(fn).resolve(environment) as {
    readonly variables?: Readonly<Record<string, unknown>>;
  };
  const bytes = Object.entries(variables).reduce(
    (sum, [name, value]) => sum + name.length + sized(value),
    0,
  );
  if (bytes <= MAX_ENVIRONMENT_BYTES) return [];
  return [
    {
      place,
      problem: `its environment, which names every saga and every role with access, may take ${bytes} bytes where Lambda takes ${MAX_ENVIRONMENT_BYTES}`,
      remedy:
        'Give `apiHandler` an `accessOf` that looks roles up in a table of yours instead of granting each here, or put the sagas on several planes',
    },
  ];
}

/** Text as CDK resolves it: a string, or pieces of text and references. */
function sized(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value);
  const intrinsic = value as {
    readonly Ref?: string;
    readonly 'Fn::Join'?: readonly [string, readonly unknown[]];
    readonly 'Fn::Select'?: unknown;
  };
  const pieces = intrinsic['Fn::Join']?.[1];
  if (pieces !== undefined) return pieces.reduce<number>((sum, piece) => sum + sized(piece), 0);
  if (intrinsic['Fn::Select'] !== undefined) return VERSION_BYTES;
  return PSEUDO_BYTES[intrinsic.Ref ?? ''] ?? NAME_BYTES;
}
