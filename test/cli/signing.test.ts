import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { authoriserOf } from '../../local/cli/credentials.ts';
import { closeServer, listenLocally } from '../support/dynalite.ts';
import { signatureOf } from '../support/signature.ts';
import { bundle, type Environment, runProgram } from './program.ts';

const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';
const CREDENTIALS = {
  AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
  AWS_SECRET_ACCESS_KEY: SECRET,
  AWS_SESSION_TOKEN: 'a-session',
} as const;
const GATEWAY = 'https://abc123.execute-api.eu-central-1.amazonaws.com';

/** The name of whoever signed, where the signature is right; else what API Gateway answers. */
async function signer(request: Request): Promise<string | undefined> {
  const given = request.headers.get('authorization') ?? '';
  const scope = /Credential=(\S+)\/\d{8}\/(\S+)\/execute-api\/aws4_request,/.exec(given);
  const right = given.endsWith(`Signature=${await signatureOf(request, SECRET)}`);
  return right ? `${scope?.[1]} ${scope?.[2]}` : undefined;
}

describe('a command against an API that takes signatures', () => {
  const seen: Request[] = [];
  let endpoint: string;
  let folder: string;
  let program: string;

  const server = createServer(async (message, response) => {
    const body: Uint8Array[] = [];
    for await (const chunk of message) body.push(chunk as Uint8Array);
    const request = new Request(`${endpoint}${message.url}`, {
      method: message.method ?? 'GET',
      headers: message.headers as Record<string, string>,
      ...(body.length === 0 ? {} : { body: Buffer.concat(body) }),
    });
    seen.push(request);
    const allowed = (await signer(request)) !== undefined;
    response.writeHead(allowed ? 200 : 403, { 'content-type': 'application/json' });
    response.end(JSON.stringify(allowed ? { sagas: [] } : { message: 'Forbidden' }));
  });
  beforeAll(async () => {
    endpoint = await listenLocally(server);
    folder = mkdtempSync(join(tmpdir(), 'counterstep-signing-'));
    program = await bundle(folder);
  });
  beforeEach(() => {
    seen.length = 0;
  });
  afterAll(async () => {
    await closeServer(server);
    rmSync(folder, { recursive: true });
  });

  function run(args: readonly string[], env: Environment, stdin?: string) {
    const clean = { AWS_REGION: 'eu-central-1', COUNTERSTEP_TOKEN: '', ...env };
    return runProgram(
      [program, ...args],
      { url: endpoint },
      {
        env: clean,
        ...(stdin === undefined ? {} : { stdin }),
      },
    );
  }

  test('signs query, headers and body with the credentials of the environment', async () => {
    const list = await run(['--sigv4', 'list', '--state', 'needs_review,incident'], CREDENTIALS);
    expect(list).toMatchObject({ code: 0, err: '' });
    const iam = { ...CREDENTIALS, COUNTERSTEP_AUTH: 'iam' };
    const input = JSON.stringify({ name: 'Grüße' });
    expect(await run(['start', 'order', '-i', '-', '-k', 'k-1'], iam, input)).toMatchObject({
      code: 0,
    });
    const [, start] = seen;
    expect(await Promise.all(seen.map(signer))).toEqual([
      'AKIDEXAMPLE eu-central-1',
      'AKIDEXAMPLE eu-central-1',
    ]);
    expect(await start?.clone().text()).toBe(input);
    expect(start?.headers.get('x-amz-security-token')).toBe('a-session');
    expect(start?.headers.get('authorization')).toMatch(/SignedHeaders=\S*idempotency-key/);
  });

  test('says what to do where the gateway refuses', async () => {
    const wrong = { ...CREDENTIALS, AWS_SECRET_ACCESS_KEY: 'another' };
    const ran = await run(['--sigv4', 'list'], wrong);
    expect(ran).toMatchObject({ code: 1, out: '' });
    expect(ran.err).toMatch(
      /^error: the gateway .* refused the request \(403\)\n.*COUNTERSTEP_TOKEN/,
    );
    expect(ran.err).not.toContain('another');
  });

  test('is sent nowhere without credentials or a region, and says what to set', async () => {
    const none = { AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '', AWS_SESSION_TOKEN: '' };
    const nobody = await run(['--sigv4', 'list'], none);
    expect(nobody).toMatchObject({ code: 1, err: expect.stringContaining('AWS_ACCESS_KEY_ID') });
    const nowhere = await run(['--sigv4', 'list'], {
      ...CREDENTIALS,
      AWS_REGION: '',
      AWS_DEFAULT_REGION: '',
    });
    expect(nowhere).toMatchObject({ code: 1, err: expect.stringContaining('set AWS_REGION') });
    const other = await run(['list'], { ...CREDENTIALS, COUNTERSTEP_AUTH: 'basic' });
    expect(other).toMatchObject({ code: 1, err: expect.stringContaining('"iam"') });
    expect(seen).toEqual([]);
  });
});

describe('what is sent along', () => {
  const sent = async (endpoint: string, env: Environment, sigv4?: boolean): Promise<string> => {
    const request = await authoriserOf(endpoint, env, sigv4)(`${endpoint}/v1/sagas`, {});
    return request.headers.get('authorization') ?? 'nothing';
  };

  test('to a host of API Gateway is a signature for its region, whatever the environment says', async () => {
    const request = await authoriserOf(
      GATEWAY,
      { ...CREDENTIALS, AWS_REGION: 'us-east-1' },
      undefined,
    )(`${GATEWAY}/v1/sagas?limit=2`, {});
    expect(await signer(request)).toBe('AKIDEXAMPLE eu-central-1');
  });

  test('is the token where one is set, and nothing to hosts that look like one', async () => {
    const token = { ...CREDENTIALS, COUNTERSTEP_TOKEN: 'a.b.c' };
    expect(await sent(GATEWAY, token)).toBe('Bearer a.b.c');
    expect(await sent(GATEWAY, token, true)).toMatch(/^AWS4-HMAC-SHA256 /);
    expect(await sent('http://127.0.0.1:4570', CREDENTIALS)).toBe('nothing');
    const like = 'https://x.execute-api.eu-central-1.amazonaws.com.example.com';
    expect(await sent(like, CREDENTIALS)).toBe('nothing');
  });
});
