import { App, CfnOutput, Stack } from 'aws-cdk-lib';
import { AccountPrincipal, Role } from 'aws-cdk-lib/aws-iam';
import * as order from '../examples/order/contracts.ts';
import { orderOf } from '../examples/order/saga.ts';
import * as refund from '../examples/refund/contracts.ts';
import { refundOf } from '../examples/refund/saga.ts';
import { SagaPlane } from './index.ts';

/**
 * The example sagas as a CDK app. Where the partners are, and whose tokens people bring, comes from the
 * context: `npx cdk synth -c partnersUrl=https://… -c smtpUrl=smtp://… -c jwtIssuer=https://… -c jwtAudience=…`
 * With `-c sagaType=EXPRESS` both sagas run on Express machines.
 */
export const app = new App({ analyticsReporting: false, treeMetadata: false });
const stack = new Stack(app, 'Counterstep', { description: 'Counterstep with its example sagas' });

const partners = { PARTNERS_URL: setting('partnersUrl', 'https://partners.example.com') };
const mail = { SMTP_URL: setting('smtpUrl', 'smtp://mail.example.com:587') };

const sagaType = setting('sagaType', 'STANDARD') === 'EXPRESS' ? 'EXPRESS' : 'STANDARD';

const plane = new SagaPlane(stack, 'Sagas', {
  ledgerEntry: 'examples/ledger.lambda.ts',
  functionProps: { environment: { SAGA_TYPE: sagaType } },
});

for (const contract of [refund.reserveStock, refund.issueCreditNote]) {
  plane.tool(contract, { entry: entryOf('refund', contract.name), environment: partners });
}
plane.tool(refund.sendEmail, {
  entry: entryOf('refund', refund.sendEmail.name),
  environment: mail,
});
plane.saga(refundOf(sagaType));

for (const contract of [
  order.readCustomer,
  order.reserveInventory,
  order.chargePayment,
  order.bookCourier,
  order.confirmBooking,
]) {
  plane.tool(contract, { entry: entryOf('order', contract.name), environment: partners });
}
plane.saga(orderOf(sagaType));

const jwtIssuer = setting('jwtIssuer', '');
const api = plane.api({
  entry: 'examples/api.lambda.ts',
  ...(jwtIssuer === ''
    ? {}
    : { jwt: { issuer: jwtIssuer, audience: setting('jwtAudience', '').split(',') } }),
});
const agent = new Role(stack, 'Agent', {
  assumedBy: new AccountPrincipal(stack.account),
  description: 'An agent of the tenant "acme", which starts sagas and reads them',
});
plane.grantAccess(agent, { tenant: 'acme', roles: ['starter', 'reader'] });

new CfnOutput(stack, 'ApiUrl', { value: api.iamApi.apiEndpoint });
new CfnOutput(stack, 'AgentRole', { value: agent.roleArn });
if (api.jwtApi !== undefined) {
  new CfnOutput(stack, 'PeopleUrl', { value: api.jwtApi.apiEndpoint });
}

function entryOf(saga: string, tool: string): string {
  return `examples/${saga}/lambdas/${tool}.lambda.ts`;
}

function setting(name: string, otherwise: string): string {
  const given: unknown = app.node.tryGetContext(name);
  return typeof given === 'string' ? given : otherwise;
}
