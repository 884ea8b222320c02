import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Annotations, Match } from 'aws-cdk-lib/assertions';
import { afterAll, expect, test } from 'vitest';
import { document } from '../../examples/document/saga.ts';
import { order } from '../../examples/order/saga.ts';
import { refund } from '../../examples/refund/saga.ts';
import { exampleApp } from './example-app.ts';
import { grantedActions, may, statementsOf } from './policies.ts';
import {
  idOf,
  LEDGER,
  ofType,
  type Resource,
  type Resources,
  SYNTH_MS,
  tableArn,
  textOf,
} from './synth.ts';

const EXAMPLES = [refund, order, document];

const outdir = mkdtempSync(join(tmpdir(), 'counterstep-app-'));
afterAll(() => rmSync(outdir, { recursive: true, force: true }));

/** The command that `cdk synth` runs, without an account, and here without bundling. */
test(
  'the example app synthesises: a machine for each saga, a function for each tool',
  async () => {
    const { app, context } = JSON.parse(readFileSync('cdk.json', 'utf8')) as {
      app: string;
      context: Record<string, unknown>;
    };
    const [, ...args] = app.split(' ');
    await promisify(execFile)(process.execPath, args, {
      env: {
        PATH: process.env.PATH,
        CDK_OUTDIR: outdir,
        CDK_CONTEXT_JSON: JSON.stringify({ ...context, 'aws:cdk:bundling-stacks': [] }),
      },
    });
    const text = readFileSync(join(outdir, 'Counterstep.template.json'), 'utf8');
    const { Resources: resources } = JSON.parse(text) as { Resources: Resources };
    const comments = ofType(resources, 'AWS::StepFunctions::StateMachine').map(
      ([, { Properties }]) =>
        (JSON.parse(String(Properties.DefinitionString)) as { Comment: string }).Comment,
    );
    expect(comments).toHaveLength(EXAMPLES.length);
    for (const { name, plan } of EXAMPLES) {
      expect(comments).toContainEqual(expect.stringMatching(new RegExp(`${name}.*${plan.digest}`)));
    }
    const tools = new Set(EXAMPLES.flatMap(({ steps }) => steps.map(({ tool }) => tool.name)));
    expect(toolFunctions(resources)).toHaveLength(tools.size);
    // CloudFormation takes 500.
    expect(Object.keys(resources).length).toBeLessThan(400);
  },
  SYNTH_MS,
);

test(
  'of the examples those that the context names are deployed, and served',
  async () => {
    const { resources } = await exampleApp({ examples: 'order' });
    const machines = ofType(resources, 'AWS::StepFunctions::StateMachine').map(([id]) => id);
    expect(machines).toEqual([expect.stringContaining('Sagaorder')]);
    expect(toolFunctions(resources)).toHaveLength(order.steps.length);
    const served = ofType(resources, 'AWS::Lambda::Function').flatMap(([id, { Properties }]) =>
      /Ledger|Api/.test(id) ? [Properties.Environment] : [],
    );
    expect(served).toHaveLength(2);
    for (const environment of served) {
      expect(environment).toMatchObject({ Variables: { EXAMPLES: 'order' } });
    }
    const routes = ofType(resources, 'AWS::ApiGatewayV2::Route').map(([, { Properties }]) =>
      String(Properties.RouteKey),
    );
    expect(routes).toContain('GET /courier/records');
    expect(routes.filter((route) => /erp|documents|search|register/.test(route))).toEqual([]);
  },
  SYNTH_MS,
);

test(
  'what people and the command line need to know is in the outputs, and each role may do its part',
  async () => {
    const { template, resources } = await exampleApp({ examples: 'order' });
    const { Outputs } = template.toJSON() as { Outputs: Record<string, { Value: unknown }> };
    const output = (name: string) => textOf(Outputs[name]?.Value);
    expect(output('LedgerTable')).toBe(`\${${idOf(resources, 'AWS::DynamoDB::Table', LEDGER)}}`);
    expect(output('CoordinationTable')).toMatch(/^\$\{SagasTablesCoordination\w+\}$/);
    expect(output('EventBus')).toBe(`\${${idOf(resources, 'AWS::Events::EventBus', /./)}}`);
    const roleIn = (name: string) => /^\$\{(\w+)\.Arn\}$/.exec(output(name))?.[1] ?? '';
    const mayOf = (name: string, action: string, on: string) =>
      may(statementsOf(resources, roleIn(name)), action, on);
    const ledger = tableArn(resources, LEDGER);
    expect(mayOf('RebuilderRole', 'dynamodb:Scan', ledger)).toBe('allowed');
    expect(mayOf('OperatorRole', 'dynamodb:Scan', ledger)).toBe('not granted');
    const calls = grantedActions(statementsOf(resources, roleIn('OperatorRole')));
    expect(calls).toEqual(['execute-api:Invoke']);
    const api = resources[idOf(resources, 'AWS::Lambda::Function', /ApiHandler/)];
    const access = variablesOf(api).COUNTERSTEP_ACCESS;
    expect(JSON.parse(textOf(access))).toContainEqual([
      '',
      `\${${roleIn('OperatorRole')}}`,
      'acme',
      'reviewer operator auditor',
    ]);
  },
  SYNTH_MS,
);

test(
  'a deployment that sends from nobody’s address is warned of, and any other is not',
  async () => {
    const warned = async (given: Record<string, string>) => {
      const { stack } = await exampleApp(given);
      const about = Match.stringLikeRegexp('refunds@shop.example.*mailFrom');
      return Annotations.fromStack(stack).findWarning('*', about).length;
    };
    expect(await warned({ examples: 'refund' })).toBe(1);
    expect(await warned({ examples: 'refund', mailFrom: 'refunds@acme.example' })).toBe(0);
    expect(await warned({ examples: 'order' })).toBe(0);
  },
  SYNTH_MS,
);

test(
  'the claims that say tenant and roles can be named',
  async () => {
    const claims = async (given: Record<string, string>) => {
      const issuer = { jwtIssuer: 'https://issuer.example', jwtAudience: 'people' };
      const { resources } = await exampleApp({ examples: 'order', ...issuer, ...given });
      return ofType(resources, 'AWS::Lambda::Function').flatMap(([, fn]) => {
        const said = variablesOf(fn).COUNTERSTEP_CLAIMS;
        return said === undefined ? [] : [JSON.parse(String(said)) as unknown];
      });
    };
    const named = { jwtTenantClaim: 'custom:tenant', jwtRolesClaim: 'cognito:groups' };
    expect(await claims(named)).toEqual([{ tenant: 'custom:tenant', roles: 'cognito:groups' }]);
    expect(await claims({})).toEqual([{ tenant: 'tenant', roles: 'roles' }]);
  },
  SYNTH_MS,
);

test('a name that is no example’s fails, with the names there are', async () => {
  await expect(exampleApp({ examples: 'refund,orders' })).rejects.toThrow(
    'there is no example saga "orders": name some of refund,order,document',
  );
});

function variablesOf(fn: Resource | undefined): Readonly<Record<string, unknown>> {
  const { Variables } = (fn?.Properties.Environment ?? {}) as {
    readonly Variables?: Readonly<Record<string, unknown>>;
  };
  return Variables ?? {};
}

function toolFunctions(resources: Resources) {
  return ofType(resources, 'AWS::Lambda::Function').filter(([id]) => id.includes('Tool'));
}
