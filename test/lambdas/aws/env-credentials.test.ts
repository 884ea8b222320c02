import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import * as standIn from '../../../lambdas/aws/env-credentials.ts';

beforeEach(() => {
  for (const name of ['ACCESS_KEY_ID', 'SECRET_ACCESS_KEY', 'SESSION_TOKEN']) {
    vi.stubEnv(`AWS_${name}`, undefined);
  }
});
afterEach(() => vi.unstubAllEnvs());

test('exports what the package exports that it stands in for', async () => {
  const package_: object = await import('@aws-sdk/credential-provider-node');
  expect(Object.keys(standIn).sort()).toEqual(
    Object.keys(package_)
      // Node adds both to what CommonJS exports, the second from Node 23 on.
      .filter((name) => name !== 'default' && name !== 'module.exports')
      .sort(),
  );
});

test('hands out the credentials of the environment as they are at each call', async () => {
  const provide = standIn.defaultProvider();
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIA1');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
  expect(await provide()).toEqual({ accessKeyId: 'AKIA1', secretAccessKey: 'secret' });
  vi.stubEnv('AWS_SESSION_TOKEN', 'token');
  expect(await provide()).toMatchObject({ sessionToken: 'token' });
});

test('says what to do where there are none', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIA1');
  await expect(standIn.defaultProvider()()).rejects.toThrow(/AWS_SECRET_ACCESS_KEY.*pass `cred/);
});

test('credentials that expire are renewed five minutes early', () => {
  const at = 1_700_000_000_000;
  const expired = (ms: number) =>
    standIn.credentialsTreatedAsExpired({ expiration: new Date(at + ms) }, () => at);
  expect([expired(299_999), expired(300_000)]).toEqual([true, false]);
  expect(standIn.credentialsTreatedAsExpired({})).toBe(false);
  expect(standIn.credentialsWillNeedRefresh({ expiration: new Date(at) })).toBe(true);
  expect(standIn.credentialsWillNeedRefresh({})).toBe(false);
});
