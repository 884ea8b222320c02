import { type Access, isRole, tenantFault } from '../../statemachines/access.ts';
import {
  type AccessList,
  API_VARIABLES,
  type ClaimNames,
  type MachineList,
} from '../../statemachines/asl/api-environment.ts';
import { machineName } from '../../statemachines/asl/machine-name.ts';
import type { AnySaga } from '../../statemachines/language/saga.ts';
import type { TenantBudgetBook } from '../../statemachines/rules/tenant-budget.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { Problem } from '../service/problems.ts';
import type { AccessOf } from './caller.ts';
import type { Environment } from './host.ts';

/** Code and settings of a function are replaced one after the other: in between they may differ. */
const DEPLOYING_MS = 5_000;

/**
 * The machine version that runs a definition, by the list the stack wrote.
 * @returns a function that throws Problem `definition-unavailable` where there is none that runs the
 *   very plan of the definition at hand: event 1 must not name a machine with other steps
 */
export function machinesIn(env: Environment, clock: Clock): (saga: AnySaga) => string {
  const list = read<MachineList>(env, API_VARIABLES.machines);
  const versions = new Map(list.sagas.map(([saga, version, plan]) => [saga, { version, plan }]));
  return ({ name, plan }) => {
    const found = versions.get(name);
    if (found !== undefined && plan.digest.startsWith(found.plan)) {
      const machine = `${list.base}${machineName(list.prefix, name, plan.sagaType)}`;
      return found.version === '' ? machine : `${machine}:${found.version}`;
    }
    throw new Problem(
      'definition-unavailable',
      found === undefined
        ? 'this saga definition has no state machine on the plane'
        : 'this saga definition is being replaced',
      'send the same request again in a moment; if it stays so, deploy the definition (plane.saga) together with the function behind the API',
      { until: clock.now() + DEPLOYING_MS },
    );
  };
}

/**
 * Access by IAM role, as the stack grants it. A role that is granted two different things gets neither:
 * there is no telling which was meant.
 */
export function accessIn(env: Environment, log: Log): AccessOf {
  const granted = new Map<string, Access | undefined>();
  // `arn:aws:states:region:account:stateMachine:`
  const own = read<MachineList>(env, API_VARIABLES.machines).base.split(':')[4] ?? '';
  for (const [account, role, tenant, names] of read<AccessList>(env, API_VARIABLES.access)) {
    const key = keyOf(account === '' ? own : account, role);
    const access = { tenant, roles: names.split(' ').filter(isRole) };
    if (granted.has(key)) log.error('a role is granted access twice, so it has none', { role });
    const usable = tenantFault(tenant) === undefined && !granted.has(key);
    granted.set(key, usable ? access : undefined);
  }
  return async ({ account, name }) => granted.get(keyOf(account, name));
}

export function claimsIn(env: Environment): ClaimNames | undefined {
  return env[API_VARIABLES.claims] === undefined
    ? undefined
    : read<ClaimNames>(env, API_VARIABLES.claims);
}

/** A role's name holds no slash. */
function keyOf(account: string, role: string): string {
  return `${account}/${role}`;
}

/** What sagas of each tenant may hold at once, as the stack says. */
export function tenantsIn(env: Environment): TenantBudgetBook | undefined {
  return env[API_VARIABLES.tenants] === undefined
    ? undefined
    : read<TenantBudgetBook>(env, API_VARIABLES.tenants);
}

function read<T>(env: Environment, variable: string): T {
  try {
    return JSON.parse(env[variable] ?? '') as T;
  } catch (cause) {
    throw new Error(
      `the environment variable ${variable} is missing, or no JSON: deploy this function with plane.api (counterstep/cdk), which sets it`,
      { cause },
    );
  }
}
