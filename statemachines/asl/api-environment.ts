/**
 * Environment variables by which a deployed API function learns what was deployed beside it. The
 * constructs write them as JSON and the handler reads them; both take the form from here.
 */
export const API_VARIABLES = {
  machines: 'COUNTERSTEP_MACHINES',
  access: 'COUNTERSTEP_ACCESS',
  claims: 'COUNTERSTEP_CLAIMS',
  /** A `TenantBudgetBook`. */
  tenants: 'COUNTERSTEP_TENANTS',
} as const;

/** All variables of a function together, names included: Lambda's own limit. */
export const MAX_ENVIRONMENT_BYTES = 4_096;

/** How much of a plan's digest stands beside its machine: enough to tell two revisions apart. */
export const PLAN_DIGITS = 8;

/**
 * Machine versions of the plane's sagas. Their ARNs follow from what they have in common and from the
 * definitions, so only the number of each stands there.
 */
export interface MachineList {
  /** `arn:…:stateMachine:` */
  readonly base: string;
  /** What the names of all machines begin with. */
  readonly prefix: string;
  /**
   * Name of the saga, number of its machine's version (empty on a stand-in that has none), first digits
   * of the digest of the plan that runs.
   */
  readonly sagas: readonly (readonly [saga: string, version: string, plan: string])[];
}

/**
 * IAM roles that may call, each with its account (empty: the plane's own), its tenant, and what it may
 * do there (roles separated by spaces).
 */
export type AccessList = readonly (readonly [
  account: string,
  role: string,
  tenant: string,
  roles: string,
])[];

/** Where a verified token says tenant and roles. */
export interface ClaimNames {
  readonly tenant: string;
  readonly roles: string;
}
