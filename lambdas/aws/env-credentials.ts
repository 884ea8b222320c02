/**
 * Stands in bundles for `@aws-sdk/credential-provider-node`, whose places to look for credentials
 * (profiles, single sign-on, processes, other machines) are a quarter of a bundle and never searched
 * in a Lambda: it hands each function its role's credentials in the environment, for as long as the
 * sandbox lives. Exports what that package exports.
 */

interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly expiration?: Date;
}

/** Called by the SDK's clients where they are given no credentials. */
export function defaultProvider(): () => Promise<Credentials> {
  return async () => {
    const {
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
      AWS_SESSION_TOKEN: sessionToken,
    } = process.env;
    if (accessKeyId && secretAccessKey) {
      return { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) };
    }
    throw new Error(
      'no AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment, where Lambda puts them: run this bundle as a Lambda, set them, or pass `credentials` to the client',
    );
  };
}

export function credentialsWillNeedRefresh(credentials: Partial<Credentials> | undefined): boolean {
  return credentials?.expiration !== undefined;
}

/** Renewed five minutes early, as the SDK does. */
const EARLY_MS = 5 * 60_000;

export function credentialsTreatedAsExpired(
  credentials: Partial<Credentials> | undefined,
  now: () => number = Date.now,
): boolean {
  const { expiration } = credentials ?? {};
  return expiration !== undefined && expiration.getTime() - now() < EARLY_MS;
}
