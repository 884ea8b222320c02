import { Logger } from '@aws-lambda-powertools/logger';
import { apiHandler, type LambdaContext, type LambdaHost, powertoolsLog } from 'counterstep/lambda';
import { beforeEach, describe, expect, test } from 'vitest';
import type { HttpAnswer, HttpEvent } from '../../../lambdas/aws/http-event.ts';
import { systemClock } from '../../../lambdas/ports/clock.ts';
import type { Drive } from '../../../lambdas/ports/drive-starter.ts';
import { systemEntropy } from '../../../lambdas/ports/entropy.ts';
import type { SagaView } from '../../../lambdas/service/wire.ts';
import { type MemoryStores, memoryStores } from '../../../lambdas/stores/memory/open.ts';
import { Projection } from '../../../local/projection.ts';
import { openRecord } from '../../../statemachines/ledger/chain.ts';
import { holdItem, small } from './small.ts';

const PREFIX = 'Test-Sagas';
const BASE = 'arn:aws:states:eu-central-1:111122223333:stateMachine:';
const ISSUER = 'https://issuer.example/pool';

const environment = {
  COUNTERSTEP_MACHINES: JSON.stringify({
    base: BASE,
    prefix: PREFIX,
    sagas: [['small', '7', small.plan.digest.slice(0, 8)]],
  }),
  COUNTERSTEP_ACCESS: JSON.stringify([
    ['', 'acme-agent', 'acme', 'starter reader'],
    ['444455556666', 'acme-agent', 'globex', 'starter reader'],
    ['', 'globex-agent', 'globex', 'starter reader'],
    ['', 'acme-operator', 'acme', 'operator auditor'],
    ['', 'mapped-twice', 'acme', 'reader'],
    ['', 'mapped-twice', 'globex', 'reader'],
    ['', 'odd-tenant', 'a/b', 'reader'],
    ['', 'odd-roles', 'acme', 'admin owner'],
  ]),
  COUNTERSTEP_CLAIMS: JSON.stringify({ tenant: 'custom:tenant', roles: 'cognito:groups' }),
};

const lines: Record<string, unknown>[] = [];
const drives: Drive[] = [];
let stores: MemoryStores;
let parts: { host: LambdaHost; index: Projection };
let handler: ReturnType<typeof apiHandler>;

beforeEach(() => {
  lines.length = 0;
  drives.length = 0;
  stores = memoryStores();
  const log = powertoolsLog(
    new (class extends Logger {
      override printLog(_level: number, item: { getAttributes(): object }): void {
        lines.push(item.getAttributes() as Record<string, unknown>);
      }
    })({ serviceName: 'test' }),
  );
  const index = new Projection(stores.openHeads(), log);
  const host: LambdaHost = {
    stores,
    clock: systemClock,
    entropy: systemEntropy,
    log,
    drives: { start: async (drive) => void drives.push(drive) },
    appended: (id, event, hash) => index.seen(id, event, hash),
  };
  parts = { host, index };
  handler = apiHandler({ sagas: [small], environment, parts });
});

const context: LambdaContext = { getRemainingTimeInMillis: () => 26_000 };

type Authorizer = HttpEvent['requestContext']['authorizer'];

/** What the gateway tells of an IAM caller. */
const iam = (userArn: string | null): Authorizer => ({
  iam: {
    accessKey: 'ASIAEXAMPLE',
    accountId: '111122223333',
    callerId: 'AROAEXAMPLE:session',
    cognitoIdentity: null,
    principalOrgId: null,
    userArn,
    userId: 'AROAEXAMPLE:session',
  },
});
const role = (name: string, session = 'session-1', account = '111122223333'): Authorizer =>
  iam(`arn:aws:sts::${account}:assumed-role/${name}/${session}`);

/** What the gateway tells of a token it verified. */
const jwt = (claims: Readonly<Record<string, unknown>>): Authorizer => ({
  jwt: { claims: { iss: ISSUER, sub: 'u-1', exp: '1900000000', ...claims }, scopes: null },
});
const person = (tenant: unknown, groups: unknown): Authorizer =>
  jwt({ 'custom:tenant': tenant, 'cognito:groups': groups });

const AGENT = role('acme-agent');

function event(
  method: string,
  path: string,
  authorizer: Authorizer,
  more: Partial<HttpEvent> = {},
): HttpEvent {
  const [rawPath = '', rawQueryString = ''] = path.split('?');
  return {
    rawPath,
    rawQueryString,
    requestContext: {
      http: { method },
      requestId: 'request-1',
      routeKey: `${method} /v1/{proxy+}`,
      ...(authorizer === undefined ? {} : { authorizer }),
    },
    ...more,
  };
}

const ask = (method: string, path: string, as: Authorizer, more: Partial<HttpEvent> = {}) =>
  handler(event(method, path, as, more), context);

const start = (as: Authorizer, key: string, more: Partial<HttpEvent> = {}): Promise<HttpAnswer> =>
  ask('POST', '/v1/sagas/small', as, {
    body: '{"id":"A-1"}',
    ...more,
    headers: { 'content-type': 'application/json', 'idempotency-key': key, ...more.headers },
  });

const saga = ({ body }: HttpAnswer): SagaView => JSON.parse(body) as SagaView;
const problem = ({ body }: HttpAnswer): string =>
  (JSON.parse(body) as { type: string }).type.replace('urn:counterstep:problem:', '');
function firstEvent({ id }: SagaView, tenant: string): unknown {
  const [record] = stores.held.ledgers.get(`${tenant}/${id}`) ?? [];
  return record === undefined ? undefined : openRecord(record);
}

describe('an agent with IAM credentials', () => {
  test('starts a saga on the machine version that is deployed, and reads it', async () => {
    const answer = await start(AGENT, 'k-1');
    expect(answer.statusCode).toBe(202);
    expect(answer.isBase64Encoded).toBe(false);
    const view = saga(answer);
    expect(answer.headers.location).toBe(`/v1/sagas/${view.id}`);
    const machine = `${BASE}${PREFIX}-small-standard:7`;
    expect(firstEvent(view, 'acme')).toMatchObject({
      tenant: 'acme',
      principal: 'arn:aws:iam::111122223333:role/acme-agent',
      actor: 'arn:aws:iam::111122223333:role/acme-agent',
      machine,
    });
    expect(drives).toEqual([{ tenant: 'acme', sagaId: view.id, epoch: 1, machine }]);
    const read = await ask('GET', `/v1/sagas/${view.id}`, AGENT);
    expect([read.statusCode, saga(read).id]).toEqual([200, view.id]);
    const list = await ask('GET', '/v1/sagas?state=running&limit=5', AGENT);
    expect(JSON.parse(list.body)).toMatchObject({ sagas: [{ id: view.id }] });
    const again = saga(await start(AGENT, 'k-1'));
    expect(again).toMatchObject({ id: view.id, replayed: true });
  });

  test('is the same whatever its session is called, and never anybody else', async () => {
    const { id } = saga(await start(role('acme-agent', 'one'), 'k-1'));
    for (const session of ['two', 'globex-agent', 'tenant=globex', 'acme-operator@globex']) {
      const answer = saga(await start(role('acme-agent', session), 'k-1'));
      expect(answer).toMatchObject({ id, replayed: true });
    }
    // Its roles are those of the role, too: it cannot read ledgers.
    const ledger = await ask('GET', `/v1/sagas/${id}/ledger`, role('acme-agent', 'acme-operator'));
    expect([ledger.statusCode, problem(ledger)]).toEqual([403, 'forbidden']);
    const operator = await ask('GET', `/v1/sagas/${id}/ledger`, role('acme-operator'));
    expect(operator.statusCode).toBe(200);
  });

  test('of the same name in another account is another', async () => {
    const mine = saga(await start(AGENT, 'k-1'));
    const theirs = saga(await start(role('acme-agent', 's1', '444455556666'), 'k-1'));
    expect(theirs.id).not.toBe(mine.id);
    expect(firstEvent(theirs, 'globex')).toMatchObject({ tenant: 'globex' });
    expect((await ask('GET', `/v1/sagas/${mine.id}`, role('globex-agent'))).statusCode).toBe(404);
    const third = await start(role('acme-agent', 's1', '777788889999'), 'k-1');
    expect([third.statusCode, problem(third)]).toEqual([403, 'forbidden']);
  });

  test.each([
    ['a role nobody mapped', role('stranger')],
    ['a role mapped to two tenants', role('mapped-twice')],
    ['a role mapped to what is no tenant', role('odd-tenant')],
    ['a role mapped to no role of ours', role('odd-roles')],
    ['a user', iam('arn:aws:iam::111122223333:user/acme-agent')],
    ['the root user', iam('arn:aws:iam::111122223333:root')],
    ['a federated user', iam('arn:aws:sts::111122223333:federated-user/acme-agent')],
    ['a role that is not assumed', iam('arn:aws:iam::111122223333:role/acme-agent')],
    ['a name with a path in it', iam('arn:aws:sts::111122223333:assumed-role/x/acme-agent/s1')],
    ['a session with a path in it', role('stranger', 'x:assumed-role/acme-agent/s1')],
    ['a second line', iam('x\narn:aws:sts::111122223333:assumed-role/acme-agent/s1')],
    ['an end of line', role('acme-agent', 'session\n')],
    ['no name', iam(null)],
  ])('%s may do nothing', async (_, caller) => {
    for (const answer of [
      await start(caller, 'k-1'),
      await ask('GET', '/v1/sagas', caller),
      await ask('GET', '/v1/tools', caller),
    ]) {
      expect([answer.statusCode, problem(answer)]).toEqual([403, 'forbidden']);
      expect(answer.headers['content-type']).toBe('application/problem+json');
    }
    expect(stores.held.ledgers.size).toBe(0);
  });
});

describe('a person with a token', () => {
  test('acts for the tenant and in the roles that the claims name', async () => {
    const started = saga(await start(person('acme', '[starter reader]'), 'k-1'));
    expect(firstEvent(started, 'acme')).toMatchObject({ principal: `${ISSUER}#u-1` });
    const path = `/v1/sagas/${started.id}`;
    for (const groups of ['[reader]', 'reader', ['reader'], '[staff reader billing-admins]']) {
      expect((await ask('GET', path, person('acme', groups))).statusCode).toBe(200);
      const cancel = await ask('POST', `${path}/cancel`, person('acme', groups), {
        body: '{"reason":"no"}',
        headers: { 'content-type': 'application/json' },
      });
      expect([cancel.statusCode, problem(cancel)]).toEqual([403, 'forbidden']);
    }
    expect((await ask('GET', path, person('globex', '[operator]'))).statusCode).toBe(404);
  });

  test('is another than an agent, and than a person of the same name elsewhere', async () => {
    const key = 'k-1';
    const callers = [
      person('acme', 'starter'),
      jwt({ 'custom:tenant': 'acme', 'cognito:groups': 'starter', sub: 'u-2' }),
      jwt({ 'custom:tenant': 'acme', 'cognito:groups': 'starter', iss: 'https://other.example' }),
      AGENT,
    ];
    const ids = new Set<string>();
    for (const caller of callers) ids.add(saga(await start(caller, key)).id);
    expect(ids.size).toBe(callers.length);
  });

  test.each([
    ['without a tenant', jwt({ 'cognito:groups': '[reader]' })],
    ['of an empty tenant', person('', '[reader]')],
    ['of a tenant with a slash', person('acme/x', '[reader]')],
    ['of several tenants', person('[acme globex]', '[reader]')],
    ['of a list of tenants', person(['acme'], '[reader]')],
    ['without roles', jwt({ 'custom:tenant': 'acme' })],
    ['with no role of ours', person('acme', '[admin Reader reader2 readers]')],
    ['with roles under the names that the default has', jwt({ tenant: 'acme', roles: 'reader' })],
    ['without a subject', jwt({ 'custom:tenant': 'acme', 'cognito:groups': 'reader', sub: '' })],
    ['without an issuer', jwt({ 'custom:tenant': 'acme', 'cognito:groups': 'reader', iss: 7 })],
  ])('%s may do nothing', async (_, caller) => {
    const answer = await ask('GET', '/v1/sagas', caller);
    expect([answer.statusCode, problem(answer)]).toEqual([403, 'forbidden']);
  });

  test('is nobody where no API for people is deployed', async () => {
    const { COUNTERSTEP_CLAIMS: _, ...without } = environment;
    const closed = apiHandler({ sagas: [small], environment: without, parts });
    const asked = event('GET', '/v1/sagas', person('acme', '[reader]'));
    const answer = await closed(asked, context);
    expect([answer.statusCode, problem(answer)]).toEqual([401, 'unauthenticated']);
  });
});

describe('what a caller says of itself counts for nothing', () => {
  const claims = { iss: ISSUER, sub: 'u-1', 'custom:tenant': 'acme', 'cognito:groups': 'reader' };
  const token = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from(
    JSON.stringify(claims),
  ).toString('base64url')}.`;

  test.each<[string, Authorizer]>([
    ['nothing', undefined],
    ['an empty authorizer', {}],
    ['null', { iam: null, jwt: null }],
    ['claims beside the verified ones', { claims, lambda: claims }],
    ['an authorizer that is a text', 'iam'],
    ['two authorizers', { ...(AGENT as object), ...(person('acme', 'reader') as object) }],
    ['claims that are a text', { jwt: { claims: JSON.stringify(claims) } }],
  ])('with %s from the gateway it is nobody, whatever its headers hold', async (_, authorizer) => {
    const headers = {
      authorization: `Bearer ${token}`,
      'x-amzn-oidc-data': token,
      'x-amz-security-token': 'arn:aws:sts::111122223333:assumed-role/acme-agent/s1',
      cookie: `token=${token}`,
    };
    const answer = await ask('GET', '/v1/sagas', authorizer, { headers });
    expect([answer.statusCode, problem(answer)]).toEqual([401, 'unauthenticated']);
  });

  test('a tenant in header, query or body changes nothing', async () => {
    const mine = saga(await start(AGENT, 'k-1'));
    const headers = {
      'x-tenant': 'acme',
      'x-tenant-id': 'acme',
      tenant: 'acme',
      authorization: `Bearer ${token}`,
      'x-forwarded-user': 'acme-agent',
    };
    const stranger = role('globex-agent');
    const read = await ask('GET', `/v1/sagas/${mine.id}`, stranger, { headers });
    expect(read.statusCode).toBe(404);
    const list = await ask('GET', '/v1/sagas', stranger, { headers });
    expect(JSON.parse(list.body)).toEqual({ sagas: [] });
    expect((await ask('GET', '/v1/sagas?tenant=acme', stranger)).statusCode).toBe(400);
    const body =
      '{"id":"A-1","tenant":"acme","principal":"arn:aws:iam::111122223333:role/acme-agent"}';
    const theirs = saga(await start(stranger, 'k-1', { headers, body }));
    expect(firstEvent(theirs, 'globex')).toMatchObject({ tenant: 'globex' });
    expect([...stores.held.ledgers.keys()].sort()).toEqual(
      [`acme/${mine.id}`, `globex/${theirs.id}`].sort(),
    );
  });

  test.each(['/v1/sagas/../../acme/x', '/v1/sagas/acme%2Fx', '//acme/v1/sagas', '/acme/v1/sagas'])(
    'the path %s leads to no other tenant',
    async (path) => {
      await start(AGENT, 'k-1');
      const answer = await ask('GET', path, role('globex-agent'));
      expect(answer.statusCode).toBe(404);
    },
  );
});

describe('the request arrives as it was sent', () => {
  test('a member given twice is seen, as text and in base64', async () => {
    const body = '{"id":"A-1","id":"A-2"}';
    for (const more of [
      { body },
      { body: Buffer.from(body).toString('base64'), isBase64Encoded: true },
    ]) {
      const answer = await start(AGENT, 'k-1', more);
      expect([answer.statusCode, problem(answer)]).toEqual([400, 'body-invalid']);
    }
    const good = { body: Buffer.from('{"id":"ä"}').toString('base64'), isBase64Encoded: true };
    expect(saga(await start(AGENT, 'k-2', good)).id).toBe(
      saga(await start(AGENT, 'k-2', { body: '{"id":"ä"}' })).id,
    );
  });

  test('bytes that are no UTF-8 are refused', async () => {
    const body = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]).toString('base64');
    const answer = await start(AGENT, 'k-1', { body, isBase64Encoded: true });
    expect([answer.statusCode, problem(answer)]).toEqual([400, 'body-invalid']);
  });

  test('a key beyond ASCII is one key, and is told from its escaped form', async () => {
    const first = saga(await start(AGENT, 'Schlüssel-1'));
    expect(saga(await start(AGENT, 'Schlüssel-1'))).toMatchObject({ id: first.id, replayed: true });
    expect(saga(await start(AGENT, 'Schl%C3%BCssel-1')).id).not.toBe(first.id);
  });

  test('a body too large, one of another type, and none', async () => {
    const large = await start(AGENT, 'k', { body: JSON.stringify({ id: 'x'.repeat(400_000) }) });
    expect([large.statusCode, problem(large)]).toEqual([413, 'input-too-large']);
    const text = await start(AGENT, 'k', { headers: { 'content-type': 'text/plain' } });
    expect([text.statusCode, problem(text)]).toEqual([415, 'content-type-unknown']);
    const { body: _, ...empty } = event('POST', '/v1/sagas/small', AGENT, {
      headers: { 'idempotency-key': 'k' },
    });
    const none = await handler(empty, context);
    expect([none.statusCode, problem(none)]).toEqual([400, 'body-invalid']);
  });

  test('routes and methods there are none of are told as such', async () => {
    expect(problem(await ask('GET', '/v2/sagas', AGENT))).toBe('route-unknown');
    const method = await ask('DELETE', '/v1/sagas', AGENT);
    expect([problem(method), method.headers.allow]).toEqual(['method-unknown', 'GET']);
  });

  test('another event than that of an HTTP API is an error of whoever calls', async () => {
    for (const given of [undefined, {}, { Records: [] }, { rawPath: '/', requestContext: {} }]) {
      await expect(handler(given as HttpEvent, context)).rejects.toThrow('payload format 2.0');
    }
  });
});

describe('the answer', () => {
  test('comes before the function ends, and says what to do', async () => {
    parts.host.stores.ledger.read = () => new Promise(() => {});
    const short: LambdaContext = { getRemainingTimeInMillis: () => 1_600 };
    const answer = await handler(event('GET', '/v1/sagas/abc', AGENT), short);
    expect([answer.statusCode, problem(answer)]).toEqual([503, 'store-unavailable']);
    expect(answer.headers['retry-after']).toBe('1');
    expect(JSON.parse(answer.body)).toMatchObject({ remedy: expect.stringContaining('same') });
  });

  test('larger than Lambda takes is a problem, not a broken one', async () => {
    const { id } = saga(await start(AGENT, 'k-1'));
    const { ledger } = parts.host.stores;
    const [record] = await ledger.read({ tenant: 'acme', sagaId: id });
    if (record === undefined) throw new Error('no ledger');
    const body = JSON.stringify({ text: '"'.repeat(340_000) });
    ledger.read = async () =>
      Array.from({ length: 6 }, (_, n) => ({ ...record, body, seq: n + 1 }));
    const whole = `/v1/sagas/${id}/ledger?format=ndjson`;
    const answer = await ask('GET', whole, role('acme-operator'));
    expect([answer.statusCode, problem(answer)]).toEqual([400, 'query-invalid']);
    const page = await ask('GET', `/v1/sagas/${id}/ledger?limit=1`, role('acme-operator'));
    expect(page.statusCode).toBe(200);
  });

  test('to a start is "in a moment" while definition and machine differ', async () => {
    const list = (entry: unknown) => ({
      ...environment,
      COUNTERSTEP_MACHINES: JSON.stringify({ base: BASE, prefix: PREFIX, sagas: [entry] }),
    });
    for (const entry of [
      ['small', '7', '00000000'],
      ['other', '7', small.plan.digest.slice(0, 8)],
    ]) {
      handler = apiHandler({ sagas: [small], environment: list(entry), parts });
      const answer = await start(AGENT, 'k-1');
      expect([answer.statusCode, problem(answer)]).toEqual([503, 'definition-unavailable']);
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    }
    expect(stores.held.ledgers.size).toBe(0);
  });

  test('is logged with tenant and caller, and without headers, query or body', async () => {
    const headers = { authorization: 'AWS4-HMAC-SHA256 Credential=SECRET' };
    await start(AGENT, 'k-secret', { headers, body: '{"id":"confidential"}' });
    await ask('GET', '/v1/sagas?name=secret-name', AGENT, { headers });
    const answered = lines.filter(({ message }) => message === 'answered');
    expect(
      answered.map(({ status, tenant, principal, requestId }) => [
        status,
        tenant,
        principal,
        requestId,
      ]),
    ).toEqual(
      [202, 200].map((status) => [
        status,
        'acme',
        'arn:aws:iam::111122223333:role/acme-agent',
        'request-1',
      ]),
    );
    const text = JSON.stringify(lines);
    for (const secret of ['SECRET', 'k-secret', 'confidential', 'secret-name']) {
      expect(text).not.toContain(secret);
    }
    lines.length = 0;
    await ask('GET', '/v1/sagas', role('stranger'));
    expect(lines.map(({ tenant }) => tenant)).toEqual([undefined]);
  });
});

describe('settings', () => {
  test('a role may be looked up elsewhere', async () => {
    const asked: unknown[] = [];
    handler = apiHandler({
      sagas: [small],
      environment,
      parts,
      accessOf: async (caller) => {
        asked.push(caller);
        return caller.name === 'from-a-table' ? { tenant: 'acme', roles: ['reader'] } : undefined;
      },
    });
    expect((await ask('GET', '/v1/tools', role('from-a-table'))).statusCode).toBe(200);
    expect((await ask('GET', '/v1/tools', AGENT)).statusCode).toBe(403);
    expect(asked[0]).toEqual({ account: '111122223333', name: 'from-a-table' });
  });

  test('a role that is mapped twice is told in the log', () => {
    expect(lines).toContainEqual(expect.objectContaining({ level: 'ERROR', role: 'mapped-twice' }));
  });

  test.each(['COUNTERSTEP_MACHINES', 'COUNTERSTEP_ACCESS'])(
    'without %s the function does not start, and says why',
    (variable) => {
      for (const value of [undefined, '', '{']) {
        const broken = { ...environment, [variable]: value };
        expect(() => apiHandler({ sagas: [small], environment: broken, parts })).toThrow(variable);
      }
    },
  );

  test('with the tables of a plane it starts as it is deployed', () => {
    const tables = {
      COUNTERSTEP_LEDGER_TABLE: 'ledger',
      COUNTERSTEP_PAYLOAD_TABLE: 'payloads',
      COUNTERSTEP_COORDINATION_TABLE: 'coordination',
    };
    const given = { ...environment, ...tables, COUNTERSTEP_ACCESS: '[]' };
    const deployed = () => apiHandler({ sagas: [small], environment: given });
    expect(deployed).not.toThrow();
    expect(() => apiHandler({ sagas: [small], environment })).toThrow('COUNTERSTEP_LEDGER_TABLE');
  });

  test('tools of the sagas are the registry', async () => {
    const tools = await ask('GET', '/v1/tools', AGENT);
    expect(JSON.parse(tools.body)).toMatchObject({ tools: [{ name: holdItem.name }] });
  });
});
