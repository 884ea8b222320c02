import { apiHandler } from 'counterstep/lambda';
import { expect, test } from 'vitest';
import { awsToolHost } from '../../../lambdas/aws/host.ts';
import type { HttpEvent } from '../../../lambdas/aws/http-event.ts';
import { powertoolsLog } from '../../../lambdas/aws/powertools-log.ts';
import { DEFINITION_ERROR } from '../../../statemachines/language/problems.ts';
import type { TenantBudgetBook } from '../../../statemachines/rules/tenant-budget.ts';
import { World } from '../../service/world.ts';
import { small } from './small.ts';

const handlerWith = (tenants: TenantBudgetBook) => {
  const { stores, clock, host, projection } = new World();
  const { entropy, appended } = host;
  return apiHandler({
    sagas: [small],
    environment: {
      COUNTERSTEP_MACHINES: JSON.stringify({
        base: 'arn:aws:states:eu-central-1:111122223333:stateMachine:',
        prefix: 'Test',
        sagas: [['small', '7', small.plan.digest.slice(0, 8)]],
      }),
      COUNTERSTEP_ACCESS: '[]',
      COUNTERSTEP_CLAIMS: '{"tenant":"tenant","roles":"roles"}',
      COUNTERSTEP_TENANTS: JSON.stringify(tenants),
    },
    parts: {
      host: {
        stores,
        clock,
        entropy,
        log: powertoolsLog(),
        ...(appended === undefined ? {} : { appended }),
      },
      index: projection,
    },
  });
};

const start = (tenant: string, key: string): HttpEvent => ({
  rawPath: '/v1/sagas/small',
  rawQueryString: '',
  headers: { 'content-type': 'application/json', 'idempotency-key': key },
  body: '{"id":"A-1"}',
  requestContext: {
    http: { method: 'POST' },
    authorizer: {
      jwt: {
        claims: { iss: 'https://i.example', sub: 'u', tenant, roles: 'starter' },
        scopes: null,
      },
    },
  },
});

test('a deployed function keeps to the budgets that the stack wrote', async () => {
  const handler = handlerWith({ acme: { openSagas: 1 }, '*': { openSagas: 0 } });
  const context = { getRemainingTimeInMillis: () => 26_000 };
  const statusOf = async (tenant: string, key: string) =>
    (await handler(start(tenant, key), context)).statusCode;
  expect(await statusOf('acme', 'k-1')).toBe(202);
  expect(await statusOf('acme', 'k-1')).toBe(202);
  expect(await statusOf('umbra', 'k-1')).toBe(429);
  const refused = await handler(start('acme', 'k-2'), context);
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '10']);
});

test('and does not start with budgets that make no sense', () => {
  expect(() => handlerWith({ acme: { openSagas: -1 } })).toThrow(
    expect.objectContaining({ name: DEFINITION_ERROR }) as Error,
  );
});

test('the function of a tool reaches no budget', async () => {
  const host = awsToolHost({
    AWS_REGION: 'eu-central-1',
    COUNTERSTEP_LEDGER_TABLE: 'ledger',
    COUNTERSTEP_PAYLOAD_TABLE: 'payloads',
    COUNTERSTEP_COORDINATION_TABLE: 'coordination',
  });
  const id = { tenant: 'acme', sagaId: 's' };
  const { charge, giveBack, isCharged, usage } = host.stores.budgets;
  for (const call of [charge(id, {}), giveBack(id), isCharged(id), usage('acme')]) {
    await expect(call).rejects.toThrow('reaches no budget');
  }
});
