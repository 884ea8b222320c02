import { readFileSync } from 'node:fs';
import { type App, Stack } from 'aws-cdk-lib';
import { vi } from 'vitest';
import { final } from './synth.ts';

/**
 * The example app as `cdk synth` makes it, with the context of `cdk.json` and what is given beside it;
 * nothing is bundled.
 */
export async function exampleApp(
  given: Readonly<Record<string, string>> = {},
): Promise<{ readonly app: App; readonly stack: Stack } & ReturnType<typeof final>> {
  const { context } = JSON.parse(readFileSync('cdk.json', 'utf8')) as {
    readonly context: Readonly<Record<string, unknown>>;
  };
  const withoutBundling = { ...context, ...given, 'aws:cdk:bundling-stacks': [] };
  vi.resetModules();
  vi.stubEnv('CDK_CONTEXT_JSON', JSON.stringify(withoutBundling));
  const { app } = await import('../../infra/app.ts');
  vi.unstubAllEnvs();
  const stack = app.node.findChild('Counterstep');
  if (!Stack.isStack(stack)) throw new Error('the example app has no stack Counterstep');
  return { app, stack, ...final(stack) };
}
