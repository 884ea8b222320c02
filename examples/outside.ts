import { partnersUrl, region, required } from './environment.ts';
import type { Partners } from './http.ts';
import type { Ses } from './refund/ses-mail.ts';
import { signedFetch } from './signed-fetch.ts';

/** How a deployed function reaches the outside systems. */

/**
 * The partner systems at `PARTNERS_URL`. With `PARTNERS_AUTH=iam` requests are signed for the HTTP API they
 * stand behind; without it they are not, since a signed request shows its receiver the function's session.
 */
export function deployedPartners(): Partners {
  const url = { partnersUrl: partnersUrl() };
  return process.env.PARTNERS_AUTH === 'iam' ? { ...url, send: signedFetch('execute-api') } : url;
}

/**
 * SES of the function's own region, sending as `MAIL_FROM`. As with the SDKs, `AWS_ENDPOINT_URL_SESV2` or
 * `AWS_ENDPOINT_URL` name another address of it.
 */
export function deployedSes(): Ses {
  const { AWS_ENDPOINT_URL_SESV2, AWS_ENDPOINT_URL } = process.env;
  const named = AWS_ENDPOINT_URL_SESV2 || AWS_ENDPOINT_URL;
  return {
    sesUrl: (named || `https://email.${region()}.amazonaws.com`).replace(/\/$/, ''),
    from: required('MAIL_FROM'),
    send: signedFetch('ses'),
  };
}
