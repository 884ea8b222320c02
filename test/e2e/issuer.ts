import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { ROLES } from '../../statemachines/access.ts';

/** An OpenID Connect issuer, as far as a gateway asks one: where its keys are, and the keys. */
export interface Issuer {
  readonly url: string;
  readonly audience: string;
  /** A token of a person with every role. */
  token(tenant: string): Promise<string>;
  close(): Promise<void>;
}

const KEY_ID = 'e2e';
const AUDIENCE = 'counterstep-e2e';

export async function startIssuer(): Promise<Issuer> {
  const { publicKey, privateKey } = await generateKeyPair('RS256');
  const jwk = { ...(await exportJWK(publicKey)), kid: KEY_ID, alg: 'RS256', use: 'sig' };
  const server = createServer((request, response) => {
    const body = request.url?.endsWith('/openid-configuration')
      ? { issuer: url, jwks_uri: `${url}/keys` }
      : { keys: [jwk] };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    audience: AUDIENCE,
    token: (tenant) =>
      new SignJWT({ tenant, roles: ROLES.join(' ') })
        .setProtectedHeader({ alg: 'RS256', kid: KEY_ID })
        .setIssuer(url)
        .setAudience(AUDIENCE)
        .setSubject('tester')
        // The emulator refuses a token that was made in this very second of a faster clock.
        .setIssuedAt(Math.floor(Date.now() / 1_000) - 5)
        .setExpirationTime('2h')
        .sign(privateKey),
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}
