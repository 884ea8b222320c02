import { App, Stack } from 'aws-cdk-lib';
import * as order from '../examples/order/contracts.ts';
import { order as orderSaga } from '../examples/order/saga.ts';
import * as refund from '../examples/refund/contracts.ts';
import { refund as refundSaga } from '../examples/refund/saga.ts';
import { SagaPlane } from './index.ts';

/**
 * The example sagas as a CDK app. Where the partners are comes from the context:
 * `npx cdk synth -c partnersUrl=https://… -c smtpUrl=smtp://…`
 */
const app = new App({ analyticsReporting: false, treeMetadata: false });
const stack = new Stack(app, 'Counterstep', { description: 'Counterstep with its example sagas' });

const partners = { PARTNERS_URL: setting('partnersUrl', 'https://partners.example.com') };
const mail = { SMTP_URL: setting('smtpUrl', 'smtp://mail.example.com:587') };

const plane = new SagaPlane(stack, 'Sagas', { ledgerEntry: 'examples/ledger.lambda.ts' });

for (const contract of [refund.reserveStock, refund.issueCreditNote]) {
  plane.tool(contract, { entry: entryOf('refund', contract.name), environment: partners });
}
plane.tool(refund.sendEmail, {
  entry: entryOf('refund', refund.sendEmail.name),
  environment: mail,
});
plane.saga(refundSaga);

for (const contract of [
  order.readCustomer,
  order.reserveInventory,
  order.chargePayment,
  order.bookCourier,
  order.confirmBooking,
]) {
  plane.tool(contract, { entry: entryOf('order', contract.name), environment: partners });
}
plane.saga(orderSaga);

function entryOf(saga: string, tool: string): string {
  return `examples/${saga}/lambdas/${tool}.lambda.ts`;
}

function setting(name: string, otherwise: string): string {
  const given: unknown = app.node.tryGetContext(name);
  return typeof given === 'string' ? given : otherwise;
}
