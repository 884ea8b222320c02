import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { order } from '../../examples/order/saga.ts';
import { refund } from '../../examples/refund/saga.ts';
import { ofType, type Resources, SYNTH_MS } from './synth.ts';

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
    for (const { name, plan } of [refund, order]) {
      expect(comments).toContainEqual(expect.stringMatching(new RegExp(`${name}.*${plan.digest}`)));
    }
    const tools = new Set(
      [refund, order].flatMap(({ steps }) => steps.map(({ tool }) => tool.name)),
    );
    const ofTools = ofType(resources, 'AWS::Lambda::Function').filter(([id]) =>
      id.includes('Tool'),
    );
    expect(ofTools).toHaveLength(tools.size);
  },
  SYNTH_MS,
);
