import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { App, Stack } from 'aws-cdk-lib';
import { SagaPlane } from 'counterstep/cdk';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { holdItem, small } from '../lambdas/aws/small.ts';
import { API_ENTRY, LEDGER_ENTRY, SYNTH_MS, TOOL_ENTRY } from './synth.ts';

const run = promisify(execFile);
const outdir = mkdtempSync(join(tmpdir(), 'counterstep-bundle-'));
const bundles = new Map<string, string>();

/** Bundles one function of each kind as a deployment would: with the local esbuild, without Docker. */
beforeAll(() => {
  const app = new App({ outdir, analyticsReporting: false, treeMetadata: false });
  const stack = new Stack(app, 'Test');
  const plane = new SagaPlane(stack, 'Sagas', { ledgerEntry: LEDGER_ENTRY });
  plane.tool(holdItem, { entry: TOOL_ENTRY });
  plane.saga(small);
  plane.api({ entry: API_ENTRY });
  const { Resources } = app.synth().getStackByName('Test').template as {
    Resources: Record<string, { Type: string; Properties: { Code?: { S3Key: string } } }>;
  };
  for (const [id, { Type, Properties }] of Object.entries(Resources)) {
    if (Type !== 'AWS::Lambda::Function') continue;
    const asset = `asset.${Properties.Code?.S3Key.replace(/\.zip$/, '')}`;
    bundles.set(id.replace(/^Sagas|Function\w*$/g, ''), join(outdir, asset, 'index.mjs'));
  }
}, SYNTH_MS);

afterAll(() => rmSync(outdir, { recursive: true, force: true }));

const ENVIRONMENT = {
  PATH: process.env.PATH,
  AWS_REGION: 'eu-central-1',
  COUNTERSTEP_LEDGER_TABLE: 'ledger',
  COUNTERSTEP_PAYLOAD_TABLE: 'payloads',
  COUNTERSTEP_COORDINATION_TABLE: 'coordination',
  COUNTERSTEP_MACHINES: '{"base":"","prefix":"","sagas":[]}',
  COUNTERSTEP_ACCESS: '[]',
  COUNTERSTEP_EVENT_BUS: 'sagas',
};

test.each(['Toolholditem', 'Ledger', 'Sweep', 'Outbox', 'ApiHandler'])(
  '%s runs from its bundle alone',
  async (name) => {
    const script = `const { handler } = await import(${JSON.stringify(`file://${bundles.get(name)}`)});
console.log(typeof handler);`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script], {
      // Nothing to resolve packages from: what is not in the bundle is missing.
      cwd: outdir,
      env: ENVIRONMENT,
    });
    expect(stdout.trim()).toBe('function');
  },
);

test('a tool’s bundle holds the engine and its own code, but nothing that starts executions', () => {
  const tool = readFileSync(bundles.get('Toolholditem') ?? '', 'utf8');
  const ledger = readFileSync(bundles.get('Ledger') ?? '', 'utf8');
  for (const text of [tool, ledger]) expect(text).toContain('DynamoDB_20120810');
  expect(tool).toContain('hold-item');
  expect(ledger).toContain('AWSStepFunctions');
  expect(tool).not.toContain('AWSStepFunctions');
});

test('error names are data, so they survive minifying', () => {
  const tool = readFileSync(bundles.get('Toolholditem') ?? '', 'utf8');
  expect(tool).toContain('Counterstep.Terminal');
  expect(tool).toContain('Counterstep.InFlight');
});
