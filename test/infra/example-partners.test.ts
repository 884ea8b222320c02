import { beforeAll, describe, expect, test, vi } from 'vitest';
import { exampleApp } from './example-app.ts';
import { may, roleOf, statementsOf } from './policies.ts';
import { idOf, ofType, type Resources, SYNTH_MS, textOf } from './synth.ts';

let resources: Resources;
let api: string;
beforeAll(async () => {
  ({ resources } = await exampleApp());
  api = idOf(resources, 'AWS::ApiGatewayV2::Api', /^Partners/);
}, SYNTH_MS);

/** The partner systems of the example app. Their faults and records are nobody's but the admin's. */
describe('the deployed partner systems', () => {
  const routes = () =>
    ofType(resources, 'AWS::ApiGatewayV2::Route')
      .map(([, { Properties }]) => Properties)
      .filter(({ ApiId }) => textOf(ApiId) === `\${${api}}`);

  test('no route is open: each takes signed requests only', () => {
    expect(routes().length).toBeGreaterThan(10);
    const open = routes().filter(({ AuthorizationType }) => AuthorizationType !== 'AWS_IAM');
    expect(open).toEqual([]);
    expect(routes().map(({ RouteKey }) => RouteKey)).not.toContain('$default');
    expect(ofType(resources, 'AWS::Lambda::Url')).toEqual([]);
  });

  test('nobody but that API may invoke the function', () => {
    const fn = idOf(resources, 'AWS::Lambda::Function', /^Partners/);
    const permissions = ofType(resources, 'AWS::Lambda::Permission')
      .map(([, { Properties }]) => Properties)
      .filter(({ FunctionName }) => textOf(FunctionName) === `\${${fn}.Arn}`);
    expect(permissions.length).toBeGreaterThan(0);
    for (const { Principal, SourceArn } of permissions) {
      expect(Principal).toBe('apigateway.amazonaws.com');
      expect(textOf(SourceArn)).toContain(`:\${${api}}/`);
    }
  });

  test('a tool may use its own system, and neither another’s nor faults nor records', () => {
    const statements = statementsOf(resources, roleOf(resources, 'Toolreservestock'));
    const calls = (method: string, path: string) => {
      const region = `\${AWS::Region}:\${AWS::AccountId}`;
      const arn = `arn:\${AWS::Partition}:execute-api:${region}:\${${api}}/$default/${method}${path}`;
      return may(statements, 'execute-api:Invoke', arn);
    };
    expect(calls('POST', '/stock/reservations')).toBe('allowed');
    expect(calls('POST', '/stock/reservations/RES-1/release')).toBe('allowed');
    expect(calls('GET', '/stock/reservations/RES-1')).toBe('not granted');
    expect(calls('POST', '/erp/credit-notes')).toBe('not granted');
    expect(calls('GET', '/stock/records')).toBe('not granted');
    expect(calls('POST', '/faults')).toBe('not granted');
    expect(calls('DELETE', '/faults')).toBe('not granted');
  });

  test('tools sign for them; the sender of messages is one address, and no mail server is named', () => {
    const environments = environmentsOf(resources);
    const users = environments.filter(([, { PARTNERS_URL }]) => PARTNERS_URL !== undefined);
    expect(users.length).toBe(18);
    for (const [id, { PARTNERS_URL, PARTNERS_AUTH }] of users) {
      expect([id, textOf(PARTNERS_URL), PARTNERS_AUTH]).toEqual([
        id,
        `\${${api}.ApiEndpoint}`,
        'iam',
      ]);
    }
    const [, mail] = environments.find(([id]) => id.includes('Toolsendemail')) ?? [];
    expect(mail).toMatchObject({ MAIL_FROM: 'refunds@shop.example' });
    expect(mail).not.toHaveProperty('AWS_ENDPOINT_URL_SESV2');
  });
});

/** What each function is told, by the function's id. */
function environmentsOf(all: Resources): (readonly [string, Record<string, unknown>])[] {
  return ofType(all, 'AWS::Lambda::Function').map(([id, { Properties }]) => [
    id,
    (Properties.Environment as { Variables: Record<string, unknown> }).Variables,
  ]);
}

test(
  'with partner systems elsewhere none are deployed, and nothing is signed for them',
  async () => {
    vi.resetModules();
    const elsewhere = { partnersUrl: 'https://partners.example.com', mailIdentity: 'a.b,c.d' };
    const { resources: others } = await exampleApp(elsewhere);
    expect(Object.keys(others).filter((id) => id.startsWith('Partners'))).toEqual([]);
    const [, stock] = environmentsOf(others).find(([id]) => id.includes('Toolreservestock')) ?? [];
    expect(stock).toMatchObject({ PARTNERS_URL: 'https://partners.example.com' });
    expect(stock).not.toHaveProperty('PARTNERS_AUTH');
    const statements = statementsOf(others, roleOf(others, 'Toolsendemail'));
    const [send] = statements.filter(({ actions }) => actions.includes('ses:SendEmail'));
    expect(send?.resources.map((arn) => arn.replace(/^.*:/, ''))).toEqual([
      'identity/a.b',
      'identity/c.d',
    ]);
  },
  SYNTH_MS,
);
