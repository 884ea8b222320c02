import { Duration, Lazy, Stack } from 'aws-cdk-lib';
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import { type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import { Construct } from 'constructs';
import type { Access, Role } from '../statemachines/access.ts';
import { API_VARIABLES, type ClaimNames } from '../statemachines/asl/api-environment.ts';
import type { TenantBudgetBook } from '../statemachines/rules/tenant-budget.ts';
import { accept, wildcard } from './accept.ts';
import {
  accessList,
  accountProblems,
  claimProblems,
  environmentProblems,
  type Grant,
  grantProblems,
  machineList,
} from './api-settings.ts';
import { type FunctionSettings, type SagaFunctionProps, sagaFunction } from './functions.ts';
import {
  grantAppend,
  grantCharging,
  grantDrives,
  grantErasure,
  grantPayloads,
  grantProjection,
  grantReadBreakers,
  grantRegistry,
} from './grants.ts';
import {
  type HttpFrontProps,
  iamFront,
  type JwtFrontProps,
  jwtFront,
  mappingProblems,
} from './http-front.ts';
import { refuse } from './problems.ts';
import type { Saga } from './saga.ts';

export interface SagaApiOptions {
  /** The file whose `handler` is `apiHandler({ sagas: [...] })`. */
  readonly entry: string;
  /** The API for services and agents, called with IAM credentials. It is always there. */
  readonly iam?: HttpFrontProps;
  /** The API for people. Default: there is none. */
  readonly jwt?: JwtFrontProps;
  /** Of the function, beside what the plane gives all its functions. */
  readonly functionProps?: SagaFunctionProps;
}

/** What a plane adds to the options. */
export interface SagaApiProps extends SagaApiOptions {
  readonly settings: FunctionSettings;
  readonly machinePrefix: string;
  readonly tenants?: TenantBudgetBook | undefined;
  /** Read when everything is declared. */
  sagas(): Iterable<Saga>;
}

/** An integration ends after 29 s; the function, its cold start included, answers before. */
const TIMEOUT = Duration.seconds(26);

const PLACE = 'the function behind the API (plane.api)';

/** Roles with calls that change something. */
const CHANGE: readonly Role[] = ['starter', 'reviewer', 'operator'];

/**
 * The HTTP API of a plane: one function, and before it an HTTP API for each kind of authorisation, since
 * a route has only one kind. The function learns from the gateway who calls, and nothing from the caller.
 */
export class SagaApi extends Construct {
  readonly function: NodejsFunction;
  /** For services and agents. */
  readonly iamApi: HttpApi;
  /** For people, where there is a `jwt`. */
  readonly jwtApi: HttpApi | undefined;
  readonly #grants: Grant[] = [];

  constructor(scope: Construct, id: string, props: SagaApiProps) {
    super(scope, id);
    const { jwt, iam = {}, settings } = props;
    const claims = {
      tenant: jwt?.tenantClaim ?? 'tenant',
      roles: jwt?.rolesClaim ?? 'roles',
    };
    refuse(mappingProblems('the API for services and agents (prop `iam`)', iam));
    if (jwt !== undefined) {
      refuse([
        ...claimProblems(claims, jwt.audience),
        ...mappingProblems('the API for people (prop `jwt`)', jwt),
      ]);
    }
    this.function = this.#function(props, jwt === undefined ? undefined : claims);
    const parts = { fn: this.function, settings };
    this.iamApi = iamFront(new Construct(this, 'Iam'), parts, iam);
    this.jwtApi = jwt === undefined ? undefined : jwtFront(new Construct(this, 'Jwt'), parts, jwt);
    this.node.addValidation({
      validate: () =>
        environmentProblems(PLACE, this.function).map(
          ({ place, problem, remedy }) => `${place}: ${problem}. ${remedy}.`,
        ),
    });
  }

  /**
   * Lets a role call the API for services and agents, for one tenant. The mapping is part of the
   * deployed function's settings, which the function cannot change.
   * @throws DeploymentError where the role has access already or is known to be of another account, or
   *   where tenant or roles cannot be used
   */
  grantAccess(role: IRole, access: Access): void {
    const grant = { role, access };
    const place = `the access of role "${role.node.path}"`;
    refuse([
      ...grantProblems(place, this.#grants, grant),
      ...accountProblems(place, Stack.of(this).account, role),
    ]);
    this.#grants.push(grant);
    const { iamApi } = this;
    const changes = access.roles.some((each) => CHANGE.includes(each));
    const resources = (changes ? ['GET', 'POST'] : ['GET']).map((method) =>
      iamApi.arnForExecuteApi(method, '/*', '$default'),
    );
    role.addToPrincipalPolicy(
      new PolicyStatement({ sid: 'CallSagas', actions: ['execute-api:Invoke'], resources }),
    );
    const why = 'every call of this API is decided on by the function, for this role’s tenant only';
    accept(role, Object.fromEntries(resources.map((each) => [wildcard(this, each), why])));
  }

  #function(props: SagaApiProps, claims: ClaimNames | undefined): NodejsFunction {
    const { settings, entry, functionProps, machinePrefix, tenants } = props;
    const { ledger, payloads, coordination } = settings.tables;
    const fn = sagaFunction(new Construct(this, 'Handler'), settings, {
      service: 'api',
      place: PLACE,
      description: 'Answers the HTTP API of the sagas',
      timeout: TIMEOUT,
      entryContent: 'export const handler = apiHandler({ sagas: [yourSaga] })',
      props: {
        ...functionProps,
        entry,
        environment: {
          ...functionProps?.environment,
          [API_VARIABLES.machines]: Lazy.string({
            produce: () => machineList(this, machinePrefix, props.sagas()),
          }),
          [API_VARIABLES.access]: Lazy.string({ produce: () => accessList(this, this.#grants) }),
          ...(claims === undefined ? {} : { [API_VARIABLES.claims]: JSON.stringify(claims) }),
          ...(tenants === undefined ? {} : { [API_VARIABLES.tenants]: JSON.stringify(tenants) }),
        },
      },
    });
    grantAppend(fn, ledger);
    grantPayloads(fn, payloads);
    grantErasure(fn, payloads);
    grantRegistry(fn, coordination, { read: true });
    grantProjection(fn, coordination);
    grantCharging(fn, coordination);
    grantReadBreakers(fn, coordination);
    grantDrives(fn, this, machinePrefix);
    return fn;
  }
}
