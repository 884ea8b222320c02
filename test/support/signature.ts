import { createHash, createHmac } from 'node:crypto';

/**
 * The signature (Signature Version 4) by the steps of AWS's documentation, from what was sent and the
 * secret: a second implementation, to hold the one that ships against.
 */
export async function signatureOf(request: Request, secret: string): Promise<string> {
  const authorization = request.headers.get('authorization') ?? '';
  const [, scope = '', signed = ''] =
    /Credential=[^/]+\/([^,]+), SignedHeaders=([^,]+),/.exec(authorization) ?? [];
  const url = new URL(request.url);
  url.searchParams.sort();
  const header = (name: string): string =>
    name === 'host' ? url.host : (request.headers.get(name) ?? '').trim();
  const canonical = [
    request.method,
    url.pathname,
    url.searchParams.toString(),
    ...signed.split(';').map((name) => `${name}:${header(name)}`),
    '',
    signed,
    sha256(await request.clone().text()),
  ].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', header('x-amz-date'), scope, sha256(canonical)].join('\n');
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secret}`);
  return hmac(key, toSign).toString('hex');
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
