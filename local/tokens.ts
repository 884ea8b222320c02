import { linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jwtVerify, SignJWT } from 'jose';
import { type Entropy, systemEntropy } from '../lambdas/ports/entropy.ts';
import type { Principal } from '../lambdas/service/principal.ts';
import { Problem } from '../lambdas/service/problems.ts';
import { isRole, ROLES, type Role, tenantFault } from '../statemachines/access.ts';

/** Who a token stands for. */
export interface TokenRequest {
  readonly tenant: string;
  readonly roles: readonly Role[];
  /** Name of the person or agent: part of the ids of the sagas it starts. Default `developer`. */
  readonly id?: string;
  /** Default: twelve hours. */
  readonly lifetimeMs?: number;
}

/** What was asked for cannot be put into a token; the message says what to change. */
export class TokenInvalid extends Error {
  override readonly name = 'Counterstep.TokenInvalid';
}

export const DEFAULT_LIFETIME_MS = 12 * 3_600_000;

const ISSUER = 'counterstep-local';
const AUDIENCE = 'counterstep';
/** One, named: a token never chooses how it is checked. */
const ALGORITHM = 'HS256';

/**
 * Tokens of one data folder, signed with a key that is kept there. Whoever can read the folder can
 * issue them; nobody else can.
 */
export class Tokens {
  readonly #key: Uint8Array;
  readonly #now: () => number;

  private constructor(key: Uint8Array, now: () => number) {
    this.#key = key;
    this.#now = now;
  }

  /**
   * Makes the key where there is none.
   * @throws Error where others than its owner may read it
   */
  static open(
    dataDir: string,
    now: () => number = Date.now,
    entropy: Entropy = systemEntropy,
  ): Tokens {
    return new Tokens(keyIn(dataDir, entropy), now);
  }

  /** @throws TokenInvalid */
  async issue(request: TokenRequest): Promise<string> {
    const { tenant, roles, id = 'developer', lifetimeMs = DEFAULT_LIFETIME_MS } = request;
    const fault = tenantFault(tenant);
    if (fault !== undefined) throw new TokenInvalid(`the tenant ${fault}: name another one`);
    if (roles.length === 0 || !roles.every(isRole)) {
      throw new TokenInvalid(`a token needs one role or more of ${ROLES.join(', ')}`);
    }
    if (id.trim() === '') throw new TokenInvalid('the id is empty: name the person or agent');
    const issuedAt = Math.floor(this.#now() / 1_000);
    return new SignJWT({ tenant, roles: [...new Set(roles)] })
      .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setSubject(id)
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + Math.ceil(lifetimeMs / 1_000))
      .sign(this.#key);
  }

  /** @throws Problem `unauthenticated` */
  async authenticate(request: Request): Promise<Principal> {
    const header = request.headers.get('authorization') ?? '';
    const token = /^Bearer +(\S+)$/i.exec(header)?.[1];
    if (token === undefined) throw refused('the request brings no token');
    const { sub, tenant, roles } = await this.#claimsOf(token);
    const known = Array.isArray(roles) ? roles.filter(isRole) : [];
    if (typeof sub !== 'string' || typeof tenant !== 'string') throw refused(FOREIGN);
    if (tenantFault(tenant) !== undefined || known.length === 0) throw refused(FOREIGN);
    return { tenant, id: sub, roles: known };
  }

  async #claimsOf(token: string): Promise<Readonly<Record<string, unknown>>> {
    try {
      const { payload } = await jwtVerify(token, this.#key, {
        algorithms: [ALGORITHM],
        issuer: ISSUER,
        audience: AUDIENCE,
        requiredClaims: ['exp', 'sub', 'tenant', 'roles'],
        currentDate: new Date(this.#now()),
      });
      return payload;
    } catch (error) {
      const expired = error instanceof Error && 'code' in error && error.code === 'ERR_JWT_EXPIRED';
      throw refused(expired ? 'the token has expired' : FOREIGN);
    }
  }
}

const FOREIGN = 'the token is none of this plane';

function refused(detail: string): Problem {
  return new Problem(
    'unauthenticated',
    detail,
    'get one with "counterstep token" and send it as a bearer token (COUNTERSTEP_TOKEN)',
    { at: 'authorization' },
  );
}

const KEY_FILE = 'token.key';
const KEY_BYTES = 32;

function keyIn(dataDir: string, entropy: Entropy): Uint8Array {
  mkdirSync(dataDir, { recursive: true });
  const path = join(dataDir, KEY_FILE);
  makeKey(path, entropy);
  // Where the system has no such modes, the folder's own protection is all there is.
  if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0) {
    throw new Error(
      `${path} can be read by others, who could then issue tokens: chmod 600 it, or remove it (tokens issued so far end with it)`,
    );
  }
  const key = Buffer.from(readFileSync(path, 'utf8').trim(), 'hex');
  if (key.length === KEY_BYTES) return key;
  throw new Error(`${path} is no key: remove it, and a new one is made`);
}

/** Written aside and linked into place, so that whoever finds the key finds all of it. */
function makeKey(path: string, entropy: Entropy): void {
  const aside = `${path}.${entropy.nonce()}`;
  const key = entropy.nonce() + entropy.nonce();
  writeFileSync(aside, `${key}\n`, { mode: 0o600, flag: 'wx' });
  try {
    linkSync(aside, path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    rmSync(aside);
  }
}
