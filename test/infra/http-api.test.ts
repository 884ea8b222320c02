import { App, Stack } from 'aws-cdk-lib';
import { CorsHttpMethod, DomainName } from 'aws-cdk-lib/aws-apigatewayv2';
import { AccountPrincipal, Role } from 'aws-cdk-lib/aws-iam';
import { defineSaga } from 'counterstep';
import { type SagaApiOptions, SagaPlane } from 'counterstep/cdk';
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { machineName } from '../../statemachines/asl/machine-name.ts';
import { holdItem, small } from '../lambdas/aws/small.ts';
import { grantedActions, may, REWRITES, roleOf, statementsOf } from './policies.ts';
import {
  API_ENTRY,
  final,
  LEDGER,
  LEDGER_ENTRY,
  ofType,
  planeIn,
  type Resources,
  SYNTH_MS,
  TOOL_ENTRY,
  tableArn,
  textOf,
} from './synth.ts';

const JWT = { issuer: 'https://issuer.example', audience: ['people'] };

/** A plane with one saga, its API, and one agent that may call. */
function planeWithApi(options: Partial<SagaApiOptions> = {}) {
  const { stack, plane } = planeIn();
  plane.tool(holdItem, { entry: TOOL_ENTRY });
  const api = plane.api({ entry: API_ENTRY, ...options });
  plane.saga(small);
  const agent = new Role(stack, 'Agent', { assumedBy: new AccountPrincipal(stack.account) });
  plane.grantAccess(agent, { tenant: 'acme', roles: ['starter', 'reader'] });
  return { stack, plane, api, agent };
}

let resources: Resources;
beforeAll(() => {
  resources = final(planeWithApi({ jwt: JWT }).stack).resources;
}, SYNTH_MS);

const properties = (type: string) => ofType(resources, type).map(([, each]) => each.Properties);
const apiIds = () => ofType(resources, 'AWS::ApiGatewayV2::Api').map(([id]) => id);
const ofApi = (type: string, api: string) =>
  properties(type).filter(({ ApiId }) => textOf(ApiId) === `\${${api}}`);

describe('authorisation', () => {
  test('every route has one, and all routes of an API have the same', () => {
    const kinds = apiIds().map((api) => {
      const routes = ofApi('AWS::ApiGatewayV2::Route', api);
      expect(routes.map(({ RouteKey }) => RouteKey).sort()).toEqual([
        'GET /openapi.json',
        'GET /v1/{proxy+}',
        'POST /v1/{proxy+}',
      ]);
      return [...new Set(routes.map(({ AuthorizationType }) => AuthorizationType))];
    });
    expect(kinds).toEqual([['AWS_IAM'], ['JWT']]);
    expect(properties('AWS::ApiGatewayV2::Route')).toHaveLength(6);
  });

  test('tokens are those of the issuer for this audience, sent in a header', () => {
    const [authorizer, ...others] = ofType(resources, 'AWS::ApiGatewayV2::Authorizer');
    expect(others).toEqual([]);
    expect(authorizer?.[1].Properties).toMatchObject({
      AuthorizerType: 'JWT',
      IdentitySource: ['$request.header.Authorization'],
      JwtConfiguration: { Issuer: JWT.issuer, Audience: JWT.audience },
    });
    const jwtRoutes = properties('AWS::ApiGatewayV2::Route').filter(
      ({ AuthorizationType }) => AuthorizationType === 'JWT',
    );
    for (const { AuthorizerId } of jwtRoutes) {
      expect(textOf(AuthorizerId)).toBe(`\${${authorizer?.[0]}}`);
    }
  });

  test('without `jwt` there is no API for people', () => {
    const alone = final(planeWithApi().stack).resources;
    const routes = ofType(alone, 'AWS::ApiGatewayV2::Route');
    expect(routes.map(([, { Properties }]) => Properties.AuthorizationType)).toEqual([
      'AWS_IAM',
      'AWS_IAM',
      'AWS_IAM',
    ]);
  });

  test('only the two APIs may invoke the function', () => {
    const permissions = properties('AWS::Lambda::Permission').filter(({ FunctionName }) =>
      textOf(FunctionName).includes('ApiHandler'),
    );
    const sources = permissions.map(({ Principal, SourceArn }) => [Principal, textOf(SourceArn)]);
    expect(sources).toEqual(
      apiIds().map((id) => [
        'apigateway.amazonaws.com',
        expect.stringContaining(`:execute-api:\${AWS::Region}:\${AWS::AccountId}:\${${id}}/`),
      ]),
    );
  });

  test('pages of other origins are not let in unless that is asked for', () => {
    for (const api of properties('AWS::ApiGatewayV2::Api')) {
      expect(api).not.toHaveProperty('CorsConfiguration');
    }
    const corsPreflight = {
      allowOrigins: ['https://reviews.example'],
      allowMethods: [CorsHttpMethod.GET, CorsHttpMethod.POST],
      allowHeaders: ['authorization', 'content-type', 'idempotency-key'],
    };
    const open = final(planeWithApi({ jwt: { ...JWT, corsPreflight } }).stack).resources;
    const configured = ofType(open, 'AWS::ApiGatewayV2::Api').map(
      ([, { Properties }]) => Properties.CorsConfiguration,
    );
    expect(configured).toEqual([
      undefined,
      expect.objectContaining({ AllowOrigins: ['https://reviews.example'] }),
    ]);
  });
});

describe('stages', () => {
  test('throttle, each with the limits given or those of ours', () => {
    const limits = (of: Resources) =>
      ofType(of, 'AWS::ApiGatewayV2::Stage').map(
        ([, each]) => each.Properties.DefaultRouteSettings,
      );
    const usual = { ThrottlingRateLimit: 100, ThrottlingBurstLimit: 200 };
    expect(limits(resources)).toEqual([usual, usual]);
    const throttle = { rateLimit: 5, burstLimit: 7 };
    const chosen = final(planeWithApi({ iam: { throttle }, jwt: JWT }).stack).resources;
    expect(limits(chosen)).toEqual([{ ThrottlingRateLimit: 5, ThrottlingBurstLimit: 7 }, usual]);
  });

  test('log lines that are JSON and hold nothing that a caller writes freely', () => {
    const stages = properties('AWS::ApiGatewayV2::Stage');
    expect(stages).toHaveLength(2);
    for (const { AccessLogSettings } of stages) {
      const { Format, DestinationArn } = AccessLogSettings as Record<string, unknown>;
      const line = JSON.parse(String(Format)) as Record<string, string>;
      expect(Object.keys(line)).toEqual(expect.arrayContaining(['requestId', 'status', 'caller']));
      expect(textOf(DestinationArn)).toMatch(/AccessLogs\w+\.Arn/);
      const free = /header|query|authorization|token|cookie|body|\bpath\b|userAgent|accessKey/i;
      expect(Object.values(line).filter((value) => free.test(value))).toEqual([]);
    }
  });
});

describe('the function', () => {
  test('answers before the gateway gives up', () => {
    const [[, fn] = []] = ofType(resources, 'AWS::Lambda::Function').filter(([id]) =>
      id.includes('ApiHandler'),
    );
    const integrations = properties('AWS::ApiGatewayV2::Integration');
    expect(integrations).toHaveLength(2);
    for (const { TimeoutInMillis, PayloadFormatVersion } of integrations) {
      expect(PayloadFormatVersion).toBe('2.0');
      expect(Number(TimeoutInMillis)).toBeLessThan(30_000);
      expect(Number(fn?.Properties.Timeout) * 1_000).toBeLessThan(Number(TimeoutInMillis));
    }
  });

  test('may do what the API does, and nothing that rewrites a ledger', () => {
    const statements = statementsOf(resources, roleOf(resources, 'ApiHandler'));
    const ledger = tableArn(resources, LEDGER);
    const payloads = tableArn(resources, /TablesPayloads/);
    const coordination = tableArn(resources, /TablesCoordination/);
    const verdicts = (table: string, actions: readonly string[], key?: string) =>
      actions.map((action) => may(statements, `dynamodb:${action}`, table, key));
    expect(verdicts(ledger, ['Query', 'GetItem', 'PartiQLInsert'])).toEqual(
      Array(3).fill('allowed'),
    );
    const generous = [
      ...statements,
      { effect: 'Allow', actions: ['*'], resources: ['*'] } as const,
    ];
    for (const action of REWRITES) expect(may(generous, action, ledger)).toBe('denied');
    expect(verdicts(payloads, ['GetItem', 'PutItem', 'Query'])).toEqual(Array(3).fill('allowed'));
    expect(verdicts(payloads, ['DeleteItem'])).toEqual(['not granted']);
    const registry = ['PutItem', 'DeleteItem', 'Query'];
    expect(verdicts(coordination, registry, 'registry#3')).toEqual(Array(3).fill('allowed'));
    const reading = ['GetItem', 'BatchGetItem', 'Query'];
    for (const key of ['saga#acme/s1', 'index#acme/name=refund#1', 'index#acme/names']) {
      expect(verdicts(coordination, reading, key)).toEqual(Array(3).fill('allowed'));
      expect(verdicts(coordination, ['PutItem', 'DeleteItem', 'UpdateItem'], key)).toEqual(
        Array(3).fill('not granted'),
      );
    }
    const others = /^(?:lambda|iam|ssm|apigateway|execute-api|sts|kms|s3):/;
    expect(grantedActions(statements).filter((action) => others.test(action))).toEqual([]);
  });

  test('learns machines, access and claims from its settings, which it cannot change', () => {
    const variables = apiVariables(resources);
    const machines = JSON.parse(textOf(variables.COUNTERSTEP_MACHINES)) as {
      readonly base: string;
      readonly prefix: string;
      readonly sagas: readonly (readonly string[])[];
    };
    const [[versionId] = []] = ofType(resources, 'AWS::StepFunctions::StateMachineVersion');
    const [[, machine] = []] = ofType(resources, 'AWS::StepFunctions::StateMachine');
    expect(machines.base).toMatch(/^arn:.*:states:.*:stateMachine:$/);
    expect(machines.sagas).toEqual([
      ['small', `\${part 7 of ${versionId}.Arn}`, small.plan.digest.slice(0, 8)],
    ]);
    expect(machine?.Properties.StateMachineName).toBe(
      machineName(machines.prefix, 'small', 'STANDARD'),
    );
    const [agent = ''] = ofType(resources, 'AWS::IAM::Role')
      .map(([id]) => id)
      .filter((id) => id.startsWith('Agent'));
    expect(JSON.parse(textOf(variables.COUNTERSTEP_ACCESS))).toEqual([
      ['', `\${${agent}}`, 'acme', 'starter reader'],
    ]);
    expect(JSON.parse(textOf(variables.COUNTERSTEP_CLAIMS))).toEqual({
      tenant: 'tenant',
      roles: 'roles',
    });
  });

  test('a role with access may call this API, and to read only where it has no more to do', () => {
    const { stack, plane } = planeWithApi();
    const watcher = new Role(stack, 'Watcher', { assumedBy: new AccountPrincipal(stack.account) });
    plane.grantAccess(watcher, { tenant: 'acme', roles: ['reader', 'auditor'] });
    const { resources: granted } = final(stack);
    const [[iamApi] = []] = ofType(granted, 'AWS::ApiGatewayV2::Api');
    const call = (of: string, method: string, api = iamApi) =>
      may(
        statementsOf(granted, roleOf(granted, of)),
        'execute-api:Invoke',
        `arn:\${AWS::Partition}:execute-api:\${AWS::Region}:\${AWS::AccountId}:\${${api}}/$default/${method}/v1/sagas`,
      );
    expect([call('Agent', 'GET'), call('Agent', 'POST')]).toEqual(['allowed', 'allowed']);
    expect([call('Watcher', 'GET'), call('Watcher', 'POST')]).toEqual(['allowed', 'not granted']);
    expect(call('Agent', 'GET', 'Another')).toBe('not granted');
  });
});

describe('what cannot work fails while synthesising', () => {
  test('a role with access twice, a tenant or a role that is none, an API that is missing', () => {
    const { plane, agent, stack } = planeWithApi();
    const again = () => plane.grantAccess(agent, { tenant: 'globex', roles: ['reader'] });
    expect(again).toThrow(/access already.*one tenant only/);
    const other = new Role(stack, 'Other', { assumedBy: new AccountPrincipal(stack.account) });
    expect(() => plane.grantAccess(other, { tenant: 'a/b', roles: ['reader'] })).toThrow(/"\/"/);
    expect(() => plane.grantAccess(other, { tenant: 'a', roles: [] })).toThrow(/starter, reader/);
    expect(() => plane.api({ entry: API_ENTRY })).toThrow(/API already/);
    const without = planeIn().plane;
    expect(() => without.grantAccess(other, { tenant: 'a', roles: ['reader'] })).toThrow(
      /plane\.api before/,
    );
  });

  test('an audience that takes every token', () => {
    const jwt = { issuer: JWT.issuer, audience: [] };
    expect(() => planeIn().plane.api({ entry: API_ENTRY, jwt })).toThrow(/audience.*client ids/s);
  });

  test('a role that is known to be of another account', () => {
    const app = new App({ analyticsReporting: false, context: { 'aws:cdk:bundling-stacks': [] } });
    const env = { account: '111111111111', region: 'eu-central-1' };
    const stack = new Stack(app, 'Known', { env });
    const plane = new SagaPlane(stack, 'Sagas', { ledgerEntry: LEDGER_ENTRY });
    plane.api({ entry: API_ENTRY });
    const ofAccount = (account: string) =>
      Role.fromRoleArn(stack, account, `arn:aws:iam::${account}:role/agent`);
    const grant = (account: string) => () =>
      plane.grantAccess(ofAccount(account), { tenant: 'acme', roles: ['reader'] });
    expect(grant('222222222222')).toThrow(
      /account 222222222222.*role of account 111111111111.*assumed/,
    );
    expect(grant('111111111111')).not.toThrow();
  });

  test('an API below a path of its domain', () => {
    const { stack, plane } = planeIn();
    const domainName = DomainName.fromDomainNameAttributes(stack, 'Domain', {
      name: 'api.example',
      regionalDomainName: 'd-1.example',
      regionalHostedZoneId: 'Z1',
    });
    const mapped = (mappingKey?: string) => ({
      defaultDomainMapping: { domainName, ...(mappingKey === undefined ? {} : { mappingKey }) },
    });
    const below = mapped('sagas');
    const attempts = [{ iam: below }, { jwt: { ...JWT, ...below } }];
    for (const front of attempts) {
      const { plane: other } = planeIn();
      expect(() => other.api({ entry: API_ENTRY, ...front })).toThrow(
        /"sagas".*Leave out `mappingKey`/,
      );
    }
    plane.api({ entry: API_ENTRY, iam: mapped() });
    expect(ofType(final(stack).resources, 'AWS::ApiGatewayV2::ApiMapping')).toHaveLength(1);
  });

  test('an entry that does not exist', () => {
    expect(() => planeIn().plane.api({ entry: 'nowhere.lambda.ts' })).toThrow(/apiHandler\(/);
  });

  test('more roles and sagas than fit into the environment of a function', () => {
    const { stack, plane } = planeWithApi();
    const imported = new Stack(new App({ analyticsReporting: false }), 'Roles');
    for (let n = 0; n < 60; n += 1) {
      const arn = `arn:aws:iam::123456789012:role/agents/agent-of-tenant-${n}`;
      const role = Role.fromRoleArn(imported, `Agent${n}`, arn);
      plane.grantAccess(role, { tenant: `tenant-${n}`, roles: ['starter', 'reader'] });
    }
    expect(() => final(stack)).toThrow(/\d{4} bytes where Lambda takes 4096.*accessOf/s);
  });

  test('twenty sagas and twenty roles do fit', () => {
    const { stack, plane } = planeWithApi();
    for (let n = 0; n < 20; n += 1) {
      const name = `a-saga-of-some-length-${n}`;
      const input = z.object({ id: z.string() });
      plane.saga(
        defineSaga({ name, version: '1', input }, (saga) =>
          saga.step('hold', holdItem, { input: ({ input: given }) => given }),
        ),
      );
      const role = new Role(stack, `Agent${n}`, {
        assumedBy: new AccountPrincipal('123456789012'),
      });
      plane.grantAccess(role, { tenant: `tenant-${n}`, roles: ['starter'] });
    }
    expect(() => final(stack)).not.toThrow();
  });
});

/** The function's variables; a piece chosen of a reference is written `${part n of Id.Attribute}`. */
function apiVariables(of: Resources): Readonly<Record<string, unknown>> {
  const [[, fn] = []] = ofType(of, 'AWS::Lambda::Function').filter(([id]) =>
    id.includes('ApiHandler'),
  );
  const { Variables } = (fn?.Properties.Environment ?? {}) as { Variables?: unknown };
  return JSON.parse(JSON.stringify(Variables), (_, value: unknown) => {
    const [n, list] = (value as { 'Fn::Select'?: [number, { 'Fn::Split': unknown[] }] })?.[
      'Fn::Select'
    ] ?? [0, undefined];
    return list === undefined
      ? value
      : textOf(list['Fn::Split'][1]).replace('${', `\${part ${n} of `);
  });
}
