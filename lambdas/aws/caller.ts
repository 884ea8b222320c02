import { type Access, isRole, type Role, tenantFault } from '../../statemachines/access.ts';
import type { ClaimNames } from '../../statemachines/asl/api-environment.ts';
import type { Principal } from '../service/principal.ts';
import { Problem } from '../service/problems.ts';
import type { HttpEvent } from './http-event.ts';

/** An IAM role, as far as its callers can be told apart: role names are unique within an account. */
export interface CallerRole {
  readonly account: string;
  /** Without its path, which the ARN of an assumed role does not show. */
  readonly name: string;
}

/** Which tenant a role acts for, and what it may do there; nothing where it may do nothing. */
export type AccessOf = (role: CallerRole) => Promise<Access | undefined>;

export interface CallerSettings {
  readonly accessOf: AccessOf;
  /** Absent: people do not call this plane. */
  readonly claims?: ClaimNames;
}

/**
 * Who called, by what the gateway verified. Nothing that callers write themselves is read: no header,
 * no path, no body, and not the name they gave their session.
 * @throws Problem `unauthenticated` where the gateway verified nobody
 * @throws Problem `forbidden` where the caller is mapped to no tenant
 */
export async function callerOf(event: HttpEvent, settings: CallerSettings): Promise<Principal> {
  const { iam, jwt } = membersOf(event.requestContext.authorizer);
  // A route has one authorizer; an event that shows two was not made by the gateway.
  if (isObject(iam) && jwt === undefined) return roleCaller(iam, settings);
  if (isObject(jwt) && iam === undefined) return tokenCaller(jwt, settings);
  throw unauthenticated();
}

const ASSUMED_ROLE =
  /^arn:(aws[a-z-]*):sts::(\d{12}):assumed-role\/([\w+=,.@-]{1,64})\/[\w+=,.@-]{1,64}$/;

async function roleCaller(
  iam: Readonly<Record<string, unknown>>,
  { accessOf }: CallerSettings,
): Promise<Principal> {
  const match = ASSUMED_ROLE.exec(String(iam.userArn));
  if (match === null) {
    throw new Problem(
      'forbidden',
      'the caller is no assumed IAM role',
      'call with the credentials of a role; users and the root user are mapped to no tenant',
    );
  }
  const [, partition = '', account = '', name = ''] = match;
  const access = await accessOf({ account, name });
  if (access === undefined) throw unmapped('this IAM role');
  return principal(`arn:${partition}:iam::${account}:role/${name}`, access);
}

function tokenCaller(
  jwt: Readonly<Record<string, unknown>>,
  { claims: names }: CallerSettings,
): Principal {
  const { claims } = jwt;
  if (names === undefined || !isObject(claims)) throw unauthenticated();
  const { iss, sub } = claims;
  if (!isName(iss) || !isName(sub)) {
    throw new Problem(
      'forbidden',
      'the token does not say who it stands for',
      'use a token with the claims "iss" and "sub"',
    );
  }
  const tenant = claims[names.tenant];
  const roles = rolesIn(claims[names.roles]);
  // A list of tenants, written as text, is not one tenant.
  if (!isName(tenant) || tenant.startsWith('[') || roles.length === 0) {
    throw unmapped('the subject of this token');
  }
  // An issuer is a URL without a fragment, so the two parts stay apart.
  return principal(`${iss}#${sub}`, { tenant, roles });
}

/** The gateway writes a list as text, `[starter reader]`; stand-ins for it may leave it a list. */
function rolesIn(claim: unknown): Role[] {
  return listOf(claim).filter(isRole);
}

function listOf(claim: unknown): readonly unknown[] {
  if (Array.isArray(claim)) return claim;
  if (typeof claim !== 'string') return [];
  return claim.replace(/^\[(.*)\]$/s, '$1').split(/\s+/);
}

function principal(id: string, access: Access): Principal {
  const { tenant } = access;
  const roles = access.roles.filter(isRole);
  if (tenantFault(tenant) !== undefined || roles.length === 0) throw unmapped('the caller');
  return { id, tenant, roles };
}

const MAX_NAME = 300;

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_NAME;
}

function unauthenticated(): Problem {
  return new Problem(
    'unauthenticated',
    'the gateway verified no caller',
    'call through the API with IAM credentials, or through the one with a token',
  );
}

function unmapped(who: string): Problem {
  return new Problem(
    'forbidden',
    `${who} is mapped to no tenant, or to no role there`,
    'ask whoever operates the plane for access: a role is mapped with grantAccess, a person by the claims of the token',
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function membersOf(authorizer: unknown): Readonly<Record<string, unknown>> {
  if (!isObject(authorizer)) return {};
  const given = Object.entries(authorizer).filter(
    ([, value]) => value !== undefined && value !== null,
  );
  return Object.fromEntries(given);
}
