import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test, vi } from 'vitest';
import { document } from '../../examples/document/saga.ts';
import { order } from '../../examples/order/saga.ts';
import { refund } from '../../examples/refund/saga.ts';
import { exampleApp } from './example-app.ts';
import { ofType, type Resources, SYNTH_MS } from './synth.ts';

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

test('a name that is no example’s fails, with the names there are', async () => {
  vi.resetModules();
  await expect(exampleApp({ examples: 'refund,orders' })).rejects.toThrow(
    'there is no example saga "orders": name some of refund,order,document',
  );
});

function toolFunctions(resources: Resources) {
  return ofType(resources, 'AWS::Lambda::Function').filter(([id]) => id.includes('Tool'));
}
