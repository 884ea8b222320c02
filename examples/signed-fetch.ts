import { AwsClient } from 'aws4fetch';
import { region, required } from './environment.ts';
import type { Send } from './http.ts';

/**
 * Sends requests signed for one AWS service (Signature Version 4) with the function's own credentials.
 * Each is sent once: whether to send again is decided where it is known what a second one would do.
 * @param service as signatures name it: `execute-api`, `ses`
 * @throws Error at the function's start, where region or credentials are missing
 */
export function signedFetch(service: string): Send {
  const sessionToken = process.env.AWS_SESSION_TOKEN;
  const client = new AwsClient({
    accessKeyId: required('AWS_ACCESS_KEY_ID'),
    secretAccessKey: required('AWS_SECRET_ACCESS_KEY'),
    ...(sessionToken ? { sessionToken } : {}),
    service,
    region: region(),
  });
  return async (url, { signal = null, ...init }) => fetch(await client.sign(url, init), { signal });
}
