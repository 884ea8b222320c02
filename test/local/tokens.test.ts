import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  type LocalPlane,
  openLocalPlane,
  TokenInvalid,
  type TokenRequest,
  Tokens,
} from 'counterstep/local';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SagaPageView, SagaView } from '../../lambdas/service/wire.ts';
import { type Outside, toolsOver } from '../service/live.ts';
import { orderInput, sagas } from '../service/sagas.ts';

const run = promisify(execFile);

let folder: string;
let plane: LocalPlane;
let tokens: Tokens;

const outside: Outside = { charge: 'works', refund: 'works', mail: 'works', effects: [] };

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'counterstep-tokens-'));
  plane = await openLocalPlane({
    sagas,
    tools: toolsOver(outside),
    dataDir: folder,
    port: 0,
    auth: 'tokens',
  });
  tokens = Tokens.open(folder);
});
afterAll(async () => {
  await plane.close();
  rmSync(folder, { recursive: true });
});

const ALL = ['starter', 'reader', 'reviewer', 'operator', 'auditor'] as const;
const tokenOf = (tenant: string, more: Partial<TokenRequest> = {}): Promise<string> =>
  tokens.issue({ tenant, roles: ALL, ...more });

function call(path: string, token: string | undefined, init: RequestInit = {}): Promise<Response> {
  return fetch(`${plane.url}${path}`, {
    ...init,
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...init.headers,
    },
  });
}

const started = async (token: string, key: string): Promise<SagaView> => {
  const answer = await call('/v1/sagas/order', token, {
    method: 'POST',
    headers: { 'idempotency-key': key },
    body: JSON.stringify(orderInput),
  });
  expect(answer.status).toBe(202);
  return (await answer.json()) as SagaView;
};

async function until(token: string, id: string, state: string): Promise<SagaView> {
  for (;;) {
    const view = (await (await call(`/v1/sagas/${id}`, token)).json()) as SagaView;
    if (view.state === state) return view;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe('a request without a good token is refused', () => {
  const refused = async (authorization: string | undefined, detail: RegExp): Promise<void> => {
    const headers = authorization === undefined ? {} : { authorization };
    for (const path of ['/v1/sagas', '/v1/sagas/abc/ledger', '/v1/tools']) {
      const answer = await fetch(`${plane.url}${path}`, { headers });
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      expect(await answer.json()).toMatchObject({
        type: 'urn:counterstep:problem:unauthenticated',
        detail: expect.stringMatching(detail),
        remedy: expect.stringContaining('counterstep token'),
      });
    }
  };
  const encode = (value: unknown): string =>
    Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = (more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => ({
    iss: 'counterstep-local',
    aud: 'counterstep',
    sub: 'developer',
    tenant: 'acme',
    roles: ['reader'],
    exp: Math.floor(Date.now() / 1_000) + 600,
    ...more,
  });
  const signed = (
    payload: unknown,
    { key, alg = 'HS256', hash = 'sha256' }: { key?: Buffer; alg?: string; hash?: string } = {},
  ): string => {
    const own = Buffer.from(readFileSync(join(folder, 'token.key'), 'utf8').trim(), 'hex');
    const text = `${encode({ alg, typ: 'JWT' })}.${encode(payload)}`;
    return `${text}.${createHmac(hash, key ?? own)
      .update(text)
      .digest('base64url')}`;
  };

  test('none, an empty one, another scheme', async () => {
    for (const given of [undefined, '', 'Bearer', 'Bearer ', 'Basic YTpi', 'Bearer a b c']) {
      await refused(given, /no token/);
    }
  });

  test('control: one signed by hand with the key of the folder is good', async () => {
    expect((await call('/v1/sagas', signed(claims()))).status).toBe(200);
  });

  test('text that is none, and one that was changed', async () => {
    const good = await tokenOf('acme');
    const [head = '', body = '', signature = ''] = good.split('.');
    const other = encode({
      ...(JSON.parse(Buffer.from(body, 'base64url').toString()) as object),
      tenant: 'globex',
    });
    for (const given of [
      'nonsense',
      `${head}.${other}.${signature}`,
      `${head}.${body}.${[...signature].reverse().join('')}`,
      `${head}.${body}.`,
      `${head}.${body}`,
    ]) {
      await refused(`Bearer ${given}`, /none of this plane/);
    }
  });

  test('alg none, another algorithm, another key', async () => {
    const text = `${encode({ alg: 'none', typ: 'JWT' })}.${encode(claims())}`;
    for (const given of [
      `${text}.`,
      `${encode({ alg: 'NONE' })}.${encode(claims())}.`,
      `${text}.${createHmac('sha256', '').update(text).digest('base64url')}`,
      signed(claims(), { alg: 'HS512', hash: 'sha512' }),
      signed(claims(), { alg: 'RS256' }),
      signed(claims(), { key: Buffer.alloc(32) }),
      await Tokens.open(join(folder, 'elsewhere')).issue({ tenant: 'acme', roles: ['reader'] }),
    ]) {
      await refused(`Bearer ${given}`, /none of this plane/);
    }
  });

  test('an expired one, and one that never expires', async () => {
    const past = Tokens.open(folder, () => Date.now() - 3_600_000);
    const given = await past.issue({ tenant: 'acme', roles: ['reader'], lifetimeMs: 60_000 });
    await refused(`Bearer ${given}`, /expired/);
    const { exp: _, ...endless } = claims();
    await refused(`Bearer ${signed(endless)}`, /none of this plane/);
  });

  test.each([
    ['issuer', { iss: 'https://issuer.example' }],
    ['audience', { aud: 'another' }],
    ['subject', { sub: 7 }],
    ['tenant', { tenant: 'a/b' }],
    ['tenant', { tenant: undefined }],
    ['roles', { roles: 'reader' }],
    ['roles', { roles: ['admin'] }],
    ['time', { nbf: Math.floor(Date.now() / 1_000) + 600 }],
  ])('one of another %s: %o', async (_, more) => {
    await refused(`Bearer ${signed(claims(more))}`, /none of this plane/);
  });

  test('roles are those of the token', async () => {
    const reader = await tokenOf('acme', { roles: ['reader'] });
    const answer = await call('/v1/sagas/order', reader, {
      method: 'POST',
      headers: { 'idempotency-key': 'k', 'x-roles': 'starter' },
      body: JSON.stringify(orderInput),
    });
    expect(answer.status).toBe(403);
    expect((await call('/v1/sagas', reader)).status).toBe(200);
  });
});

describe('two tenants at once', () => {
  test('never see one another, by no call', async () => {
    const acme = await tokenOf('acme-1');
    const globex = await tokenOf('globex-1');
    outside.charge = 'unknown';
    const keys = Array.from({ length: 8 }, (_, n) => `same-key-${n}`);
    const [mine, theirs] = await Promise.all(
      [acme, globex].map((token) => Promise.all(keys.map((key) => started(token, key)))),
    );
    if (mine === undefined || theirs === undefined) throw new Error('nothing was started');
    const ids = [...mine, ...theirs].map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const view of theirs) expect(view.replayed).toBeUndefined();

    const held = await Promise.all(mine.map(({ id }) => until(acme, id, 'needs_review')));
    outside.charge = 'works';
    const review = held[0]?.review?.id ?? '';
    expect(review).not.toBe('');
    const before = await ledgerOf(acme, mine[0]?.id ?? '');
    await Promise.all(
      held.map(async ({ id, review: open }) => {
        const unknown = 'f'.repeat(32);
        for (const { path, body } of everyCall(id, open?.id ?? '')) {
          const answers = [path, path.replaceAll(id, unknown)].map(async (each) => {
            const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
            const answer = await call(each, globex, init);
            return [answer.status, await answer.text()];
          });
          const [theirView, nothing] = await Promise.all(answers);
          expect([path, theirView]).toEqual([path, nothing]);
          expect(theirView?.[0]).toBe(404);
        }
      }),
    );
    expect(await ledgerOf(acme, mine[0]?.id ?? '')).toBe(before);

    expect(await listed(acme)).toEqual(mine.map(({ id }) => id).sort());
    expect(await listed(globex)).toEqual(theirs.map(({ id }) => id).sort());
    const queue = await (await call('/v1/reviews', globex)).text();
    for (const { id } of mine) expect(queue).not.toContain(id);
  });

  test('a cursor of one is none for the other', async () => {
    const acme = await tokenOf('acme-2');
    const globex = await tokenOf('globex-2');
    for (const token of [acme, globex]) for (const key of ['a', 'b']) await started(token, key);
    const page = (await (await call('/v1/sagas?limit=1', acme)).json()) as SagaPageView;
    const cursor = encodeURIComponent(page.cursor ?? '');
    expect((await call(`/v1/sagas?limit=1&cursor=${cursor}`, acme)).status).toBe(200);
    expect((await call(`/v1/sagas?limit=1&cursor=${cursor}`, globex)).status).toBe(400);
  });

  test('two people of one tenant share its sagas, and not their keys', async () => {
    const ada = await tokenOf('acme-3', { id: 'ada' });
    const bob = await tokenOf('acme-3', { id: 'bob' });
    const first = await started(ada, 'k');
    const second = await started(bob, 'k');
    expect(second.id).not.toBe(first.id);
    expect((await call(`/v1/sagas/${first.id}`, bob)).status).toBe(200);
    const renewed = await tokenOf('acme-3', { id: 'ada', lifetimeMs: 60_000 });
    expect(await started(renewed, 'k')).toMatchObject({ id: first.id, replayed: true });
  });
});

describe('issuing', () => {
  test('the key is its owner’s alone, and one that others can read is not used', () => {
    const own = join(folder, 'own');
    Tokens.open(own);
    const key = join(own, 'token.key');
    expect(statSync(key).mode & 0o777).toBe(0o600);
    chmodSync(key, 0o640);
    expect(() => Tokens.open(own)).toThrow(/chmod 600/);
  });

  test('a folder has one key, however many open it', async () => {
    const own = join(folder, 'shared');
    const all = [Tokens.open(own), Tokens.open(own)];
    const [first] = all;
    const issued = await first?.issue({ tenant: 'acme', roles: ['reader'], id: 'ada' });
    const headers = { authorization: `Bearer ${issued}` };
    for (const each of all) {
      const who = await each.authenticate(new Request('http://plane/', { headers }));
      expect(who).toEqual({ tenant: 'acme', id: 'ada', roles: ['reader'] });
    }
  });

  test.each([
    [{ tenant: 'a/b', roles: ['reader'] }, /"\/"/],
    [{ tenant: '', roles: ['reader'] }, /empty/],
    [{ tenant: 'a', roles: [] }, /starter, reader/],
    [{ tenant: 'a', roles: ['admin'] }, /starter, reader/],
    [{ tenant: 'a', roles: ['reader'], id: ' ' }, /id is empty/],
  ])('%o is refused', async (request, message) => {
    const attempt = tokens.issue(request as TokenRequest);
    await expect(attempt).rejects.toThrow(message);
    await expect(attempt).rejects.toBeInstanceOf(TokenInvalid);
  });

  test('a mode of authentication that there is none of is refused, not taken for open', async () => {
    const auth = 'token' as 'tokens';
    const attempt = openLocalPlane({
      sagas: [],
      tools: [],
      dataDir: join(folder, 'x'),
      port: 0,
      auth,
    });
    await expect(attempt).rejects.toThrow(/'open' or 'tokens'/);
  });

  test('by the command line', async () => {
    const cli = (...args: string[]) => run(process.execPath, ['bin/counterstep.js', ...args]);
    const { stdout } = await cli(
      ...['token', '--tenant', 'acme', '--roles', 'starter,reader', '--data', folder],
      ...['--id', 'ada', '--expires', '5m'],
    );
    const who = await tokens.authenticate(
      new Request('http://plane/', { headers: { authorization: `Bearer ${stdout.trim()}` } }),
    );
    expect(who).toEqual({ tenant: 'acme', id: 'ada', roles: ['starter', 'reader'] });
    const wrong = cli('token', '--tenant', 'acme', '--roles', 'admin', '--data', folder);
    await expect(wrong).rejects.toMatchObject({
      stderr: expect.stringContaining('use starter, reader'),
    });
  });
});

/** Every call that names a saga or a review. */
function everyCall(id: string, review: string): { path: string; body?: unknown }[] {
  return [
    { path: `/v1/sagas/${id}` },
    { path: `/v1/sagas/${id}/ledger` },
    { path: `/v1/sagas/${id}/ledger?format=ndjson` },
    { path: `/v1/sagas/${id}/verification` },
    { path: `/v1/sagas/${id}/standing` },
    { path: `/v1/sagas/${id}/cancel`, body: { reason: 'mine now' } },
    { path: `/v1/sagas/${id}/resume`, body: {} },
    { path: `/v1/sagas/${id}/suggestions`, body: { advice: 'refund it to me' } },
    { path: `/v1/sagas/${id}/erasure`, body: { reason: 'gone' } },
    { path: `/v1/reviews/${review}` },
    { path: `/v1/reviews/${review}/decision`, body: { decision: 'retry' } },
  ];
}

async function ledgerOf(token: string, id: string): Promise<string> {
  return (await call(`/v1/sagas/${id}/ledger?format=ndjson`, token)).text();
}

/** All sagas a token can list, page by page. */
async function listed(token: string): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const query = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page = (await (await call(`/v1/sagas?limit=3${query}`, token)).json()) as SagaPageView;
    ids.push(...page.sagas.map(({ id }) => id));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return ids.sort();
}
