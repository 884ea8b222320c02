import { fromAws, hold } from 'counterstep/lambda';
import { exchange, type JsonRequest, type Send, textOf, unreadable } from '../http.ts';
import type { Deliver } from './email.ts';

export interface Ses {
  /** Of the region's API, without a slash at its end. */
  readonly sesUrl: string;
  /** An address that SES has verified, or of a domain that it has. */
  readonly from: string;
  /** Signs for the service `ses`. */
  readonly send: Send;
}

/** The account may not send at all. That is so for every saga, and only a person can change it. */
const ACCOUNT_STOPPED = ['AccountSuspendedException', 'SendingPausedException'];

/**
 * By way of SES (API version 2, `SendEmail`), which keeps no idempotency key and cannot be asked what
 * became of a message: an answer that never comes is a question for a person.
 *
 * The request is written here rather than by AWS's SDK, whose client is larger than all else this function
 * needs, and sends again by itself what it heard nothing of.
 */
export function bySes({ sesUrl, from, send }: Ses): Deliver {
  return async ({ to, subject, text }, { correlationId, signal }) => {
    const request: JsonRequest = {
      method: 'POST',
      url: `${sesUrl}/v2/email/outbound-emails`,
      headers: { 'content-type': 'application/json' },
      body: {
        FromEmailAddress: from,
        Destination: { ToAddresses: [to] },
        Content: {
          Simple: {
            Subject: { Data: subject, Charset: 'UTF-8' },
            Body: { Text: { Data: text, Charset: 'UTF-8' } },
            Headers: [{ Name: 'X-Correlation-Id', Value: correlationId }],
          },
        },
      },
      signal,
      send,
    };
    const { status, headers, body } = await exchange(request);
    if (status < 200 || status >= 300) {
      throw failureOf(status, headers.get('x-amzn-errortype') ?? textOf(body, '__type'));
    }
    const messageId = textOf(body, 'MessageId');
    if (messageId === undefined) throw unreadable(request, status);
    return messageId;
  };
}

/**
 * SES's own words are left out: they name the recipient, whose address stays out of ledgers and logs.
 * @param type such as `MessageRejected`, with a name space before it or an address behind it
 */
function failureOf(status: number, type: string | null | undefined): Error {
  const name = /^(?:.*#)?([\w.]+)/.exec(type ?? '')?.[1] ?? `http_${status}`;
  if (ACCOUNT_STOPPED.includes(name)) {
    return hold(name, 'SES sends nothing for this account: see its console, then resume');
  }
  const answer = { name, $metadata: { httpStatusCode: status, attempts: 1 } };
  return fromAws(Object.assign(new Error(`SES answered ${status}`), answer), { writes: true });
}
