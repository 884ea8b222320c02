import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { AwsSolutionsChecks } from 'cdk-nag';
import { expect, test } from 'vitest';
import { tools } from '../statemachines/samples.ts';
import { exampleApp } from './example-app.ts';
import { planeIn, TOOL_ENTRY } from './synth.ts';

/**
 * AWS's own list of good practice (cdk-nag's AwsSolutions pack) over all that the example app
 * deploys. What is meant to be as it is says so beside its resource, by `accept` in
 * `infra/accept.ts`, finding by finding.
 */
test.each([
  ['as it is deployed by default', {}],
  [
    'on Express machines, with an API for people',
    { sagaType: 'EXPRESS', jwtIssuer: 'https://issuer.example', jwtAudience: 'people' },
  ],
])('nothing deviates from good practice without saying why, %s', async (_, context) => {
  const { app } = await exampleApp(context);
  const { violations } = new AwsSolutionsChecks(app).validateScope(app);
  const found = violations.flatMap(({ ruleName, description, violatingResources }) =>
    violatingResources.map(({ constructPath }) => `${constructPath}: ${ruleName}: ${description}`),
  );
  expect(found.sort()).toEqual([]);
});

test('what a user grants on every resource is still found', () => {
  const { stack, plane } = planeIn();
  const tool = plane.tool(tools.hold, { entry: TOOL_ENTRY });
  tool.addToRolePolicy(new PolicyStatement({ actions: ['s3:GetObject'], resources: ['*'] }));
  const { violations } = new AwsSolutionsChecks(stack).validateScope(stack);
  const found = violations.map(
    ({ ruleName, violatingResources }) =>
      `${ruleName} ${violatingResources.map(({ constructPath }) => constructPath).join()}`,
  );
  expect(found).toEqual([
    'AwsSolutions-IAM5[Resource::*] Test/Sagas/Tool-hold-stock/Role/DefaultPolicy/Resource',
  ]);
});
