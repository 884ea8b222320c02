import { App, CfnOutput, Stack } from 'aws-cdk-lib';
import { SagaPlane } from 'counterstep/cdk';
import { one } from './one.ts';
import { two } from './two.ts';

/**
 * The trips in one of their two releases: `-c release=1`, or 2. Everything else is as a user would deploy
 * it, with the plane's own defaults.
 */
const app = new App({ analyticsReporting: false, treeMetadata: false });
const stack = new Stack(app, setting('stackName'));
const number = setting('release');
const release = number === '2' ? two : one;

const plane = new SagaPlane(stack, 'Sagas', {
  ledgerEntry: 'test/e2e/release/ledger.lambda.ts',
  watching: false,
  functionProps: {
    environment: { PARTNER_URL: setting('partnerUrl') },
    bundling: { define: { 'process.env.RELEASE': JSON.stringify(number) } },
  },
});
for (const { contract } of release.tools) {
  plane.tool(contract, {
    entry: 'test/e2e/release/tool.lambda.ts',
    environment: { TOOL: contract.name },
  });
}
for (const saga of release.sagas) plane.saga(saga);
const { jwtApi } = plane.api({
  entry: 'test/e2e/release/api.lambda.ts',
  jwt: { issuer: setting('jwtIssuer'), audience: [setting('jwtAudience')] },
});
if (jwtApi === undefined) throw new Error('the API takes no tokens');
new CfnOutput(stack, 'PeopleUrl', { value: jwtApi.apiEndpoint });

function setting(name: string): string {
  const given: unknown = app.node.tryGetContext(name);
  if (typeof given === 'string' && given !== '') return given;
  throw new Error(`the context "${name}" is not set`);
}
