import { Annotations, App, CfnOutput, Stack } from 'aws-cdk-lib';
import { AccountPrincipal, type IRole, PolicyStatement, Role } from 'aws-cdk-lib/aws-iam';
import type { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import { chosenExamples, type ExampleName, exampleSaga } from '../examples/chosen.ts';
import * as document from '../examples/document/contracts.ts';
import * as order from '../examples/order/contracts.ts';
import * as refund from '../examples/refund/contracts.ts';
import { ExamplePartners, type PartnerUse } from './example-partners.ts';
import { type JwtFrontProps, SagaPlane } from './index.ts';

/**
 * The example sagas as a CDK app, with the partner systems they act on. From the context come
 * - `examples`, which of them: `refund`, `order`, `document`, with commas between them (default: all)
 * - `mailFrom`, the address that messages are sent from by SES, and `mailIdentity`, what SES has verified for
 *   it (default: its domain; several with commas)
 * - `jwtIssuer` and `jwtAudience`, whose tokens people bring, and `jwtTenantClaim` and `jwtRolesClaim`, where
 *   these say tenant and roles (default: `tenant` and `roles`)
 * - `partnersUrl` where partner systems elsewhere are to be used, which take requests without signatures
 * - `sagaType`, `EXPRESS` for all sagas on Express machines
 * - `stackName`, for another stack beside the first
 * - for stand-ins for AWS: `sesUrl`, an address of SES, and `httpApiAddress`, how HTTP APIs are reached there,
 *   with `{id}` for the API's id.
 */
export const app = new App({ analyticsReporting: false, treeMetadata: false });
const stack = new Stack(app, setting('stackName', 'Counterstep'), {
  description: 'Counterstep with its example sagas',
});

const sagaType = setting('sagaType', 'STANDARD') === 'EXPRESS' ? 'EXPRESS' : 'STANDARD';
const examples = chosenExamples(given('examples'));

const plane = new SagaPlane(stack, 'Sagas', {
  ledgerEntry: 'examples/ledger.lambda.ts',
  functionProps: { environment: { SAGA_TYPE: sagaType, EXAMPLES: examples.join() } },
});

type Contract = Parameters<SagaPlane['tool']>[0];
/** A tool that calls the partner systems, with what it uses there, and nothing else. */
type Caller = readonly [contract: Contract, uses: readonly PartnerUse[]];

/** Of a domain that stands for none. Context is not remembered: a deployment without it comes back to this. */
const UNVERIFIED_SENDER = 'refunds@shop.example';

const USES: Readonly<Record<ExampleName, readonly Caller[]>> = {
  refund: [
    [refund.reserveStock, [{ collection: '/stock/reservations', methods: ['POST'] }]],
    [refund.issueCreditNote, [{ collection: '/erp/credit-notes', methods: ['GET', 'POST'] }]],
  ],
  order: [
    [order.readCustomer, [{ collection: '/customers', methods: ['GET'] }]],
    [order.reserveInventory, [{ collection: '/stock/reservations', methods: ['POST'] }]],
    [
      order.chargePayment,
      [
        { collection: '/payments/charges', methods: ['POST'] },
        { collection: '/payments/refunds', methods: ['POST'] },
        { collection: '/payments/operations', methods: ['GET'] },
      ],
    ],
    [order.bookCourier, [{ collection: '/courier/bookings', methods: ['POST'] }]],
    [order.confirmBooking, [{ collection: '/courier/bookings', methods: ['GET'] }]],
  ],
  document: [
    [document.readIntake, [{ collection: '/documents/intake', methods: ['GET'] }]],
    [document.storeFile, [{ collection: '/documents/files', methods: ['POST'] }]],
    [document.extractText, [{ collection: '/documents/files', methods: ['GET'] }]],
    [document.classifyText, [{ collection: '/register/classes', methods: ['GET'] }]],
    [
      document.publishVersion,
      [
        { collection: '/register/entries', methods: ['POST'] },
        { collection: '/register/acts', methods: ['GET'] },
      ],
    ],
    [document.findDuplicates, [{ collection: '/search/duplicates', methods: ['GET'] }]],
    [document.readRetention, [{ collection: '/register/retention', methods: ['GET'] }]],
    [document.indexDocument, [{ collection: '/search/entries', methods: ['POST'] }]],
    [document.confirmEntry, [{ collection: '/search/entries', methods: ['GET'] }]],
    [document.confirmVersion, [{ collection: '/register/entries', methods: ['GET'] }]],
    [
      document.deliverDocument,
      [
        { collection: '/register/deliveries', methods: ['POST'] },
        { collection: '/register/acts', methods: ['GET'] },
      ],
    ],
  ],
};
/** What the chosen sagas use of the partner systems, each collection once. */
const collections = [...new Set(examples.flatMap((name) => USES[name].flatMap(collectionsOf)))];

const partnersUrl = setting('partnersUrl', '');
const httpApiAddress = setting('httpApiAddress', '');
const partners =
  partnersUrl === ''
    ? new ExamplePartners(stack, 'Partners', {
        entry: 'examples/partners/partners.lambda.ts',
        collections,
        records: [...new Set(collections.map(recordsOf))],
        ...(httpApiAddress === '' ? {} : { address: httpApiAddress }),
      })
    : undefined;

for (const name of examples) {
  for (const caller of USES[name]) partnersTool(name, caller);
  if (name === 'refund') mailTool();
  plane.saga(exampleSaga(name, sagaType));
}

const jwtIssuer = setting('jwtIssuer', '');
const api = plane.api({
  entry: 'examples/api.lambda.ts',
  ...(jwtIssuer === '' ? {} : { jwt: tokensOf(jwtIssuer) }),
});
const agent = accountRole(
  'Agent',
  'An agent of the tenant "acme", which starts sagas and reads them',
);
plane.grantAccess(agent, { tenant: 'acme', roles: ['starter', 'reader'] });
const operator = accountRole(
  'Operator',
  'Who decides reviews, resumes sagas and verifies ledgers of the tenant "acme"',
);
plane.grantAccess(operator, { tenant: 'acme', roles: ['reviewer', 'operator', 'auditor'] });
// Not the operator's: to rebuild is to read the ledgers of all tenants.
const rebuilder = accountRole('Rebuilder', 'Who rebuilds the projection from the ledgers');
plane.outbox.grantRebuild(rebuilder);

new CfnOutput(stack, 'ApiUrl', { value: api.iamApi.apiEndpoint });
new CfnOutput(stack, 'AgentRole', { value: agent.roleArn });
new CfnOutput(stack, 'OperatorRole', { value: operator.roleArn });
new CfnOutput(stack, 'RebuilderRole', { value: rebuilder.roleArn });
new CfnOutput(stack, 'LedgerTable', { value: plane.tables.ledger.tableName });
new CfnOutput(stack, 'CoordinationTable', { value: plane.tables.coordination.tableName });
new CfnOutput(stack, 'EventBus', { value: plane.eventBus.eventBusName });
if (api.jwtApi !== undefined) {
  new CfnOutput(stack, 'PeopleUrl', { value: api.jwtApi.apiEndpoint });
}

if (partners !== undefined) {
  const admin = accountRole(
    'PartnersAdmin',
    'Whoever looks at the records of the example partners, and makes them fail',
  );
  partners.grantAdmin(admin);
  new CfnOutput(stack, 'PartnersUrl', { value: partners.url });
  new CfnOutput(stack, 'PartnersAdminRole', { value: admin.roleArn });
}

/** A role that principals of the account may assume where their own policies let them. */
function accountRole(id: string, description: string): Role {
  return new Role(stack, id, { assumedBy: new AccountPrincipal(stack.account), description });
}

/** Whose tokens are taken, and which of their claims say tenant and roles. */
function tokensOf(issuer: string): JwtFrontProps {
  const [tenantClaim, rolesClaim] = [given('jwtTenantClaim'), given('jwtRolesClaim')];
  return {
    issuer,
    audience: setting('jwtAudience', '').split(','),
    ...(tenantClaim === undefined ? {} : { tenantClaim }),
    ...(rolesClaim === undefined ? {} : { rolesClaim }),
  };
}

/** Deploys a tool that calls partner systems: ours behind signatures, or those of others. */
function partnersTool(saga: ExampleName, [contract, uses]: Caller): void {
  const environment =
    partners === undefined
      ? { PARTNERS_URL: partnersUrl }
      : { PARTNERS_URL: partners.url, PARTNERS_AUTH: 'iam' };
  const fn = plane.tool(contract, { entry: entryOf(saga, contract.name), environment });
  partners?.grantUse(roleOf(fn), uses);
}

/** Deploys the tool that sends messages, by SES, as one address and as no other. */
function mailTool(): void {
  const mailFrom = setting('mailFrom', UNVERIFIED_SENDER);
  const sesUrl = setting('sesUrl', '');
  if (mailFrom === UNVERIFIED_SENDER && sesUrl === '') {
    Annotations.of(stack).addWarningV2(
      'counterstep:mailFrom',
      `messages go out as ${mailFrom}, which nobody can have verified: SES on AWS refuses them, and every refund is undone. Give \`-c mailFrom=…\` at every deployment, or leave \`refund\` out of \`-c examples=…\``,
    );
  }
  const sendEmail = plane.tool(refund.sendEmail, {
    entry: entryOf('refund', refund.sendEmail.name),
    environment: {
      MAIL_FROM: mailFrom,
      ...(sesUrl === '' ? {} : { AWS_ENDPOINT_URL_SESV2: sesUrl }),
    },
  });
  sendEmail.addToRolePolicy(
    new PolicyStatement({
      sid: 'Send',
      actions: ['ses:SendEmail'],
      resources: setting('mailIdentity', mailFrom.replace(/^.*@/, ''))
        .split(',')
        .map((name) =>
          stack.formatArn({ service: 'ses', resource: 'identity', resourceName: name }),
        ),
      conditions: { StringEquals: { 'ses:FromAddress': mailFrom } },
    }),
  );
}

function collectionsOf([, uses]: Caller): string[] {
  return uses.map(({ collection }) => collection);
}

/** Where the system of a collection shows what it did: `/stock/records` of `/stock/reservations`. */
function recordsOf(collection: string): string {
  return `/${collection.split('/')[1]}/records`;
}

function roleOf(fn: NodejsFunction): IRole {
  if (fn.role === undefined) throw new Error(`${fn.node.path} has no role`);
  return fn.role;
}

function entryOf(saga: ExampleName, tool: string): string {
  return `examples/${saga}/lambdas/${tool}.lambda.ts`;
}

function setting(name: string, otherwise: string): string {
  return given(name) ?? otherwise;
}

function given(name: string): string | undefined {
  const value: unknown = app.node.tryGetContext(name);
  return typeof value === 'string' ? value : undefined;
}
