import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Send } from '../../examples/http.ts';
import { type MailSink, startMailSink } from '../../examples/mail/sink.ts';
import { deployedPartners, deployedSes } from '../../examples/outside.ts';
import { bySes } from '../../examples/refund/ses-mail.ts';
import { sendEmailTool } from '../../examples/refund/tools/send-email.ts';
import { signatureOf } from '../support/signature.ts';
import { failureOf, fakeCall } from './support.ts';

const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY';
const email = { to: 'ann@example.com', subject: 'Grüße', text: 'A line.' };

let sink: MailSink;
beforeAll(async () => {
  sink = await startMailSink();
});
afterAll(() => sink.stop());

/** The environment of a deployed function, as far as it says where the outside is. */
beforeEach(() => {
  vi.stubEnv('AWS_REGION', 'eu-central-1');
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', SECRET);
  vi.stubEnv('AWS_SESSION_TOKEN', 'a-session');
  vi.stubEnv('AWS_ENDPOINT_URL_SESV2', sink.sesUrl);
  vi.stubEnv('MAIL_FROM', 'refunds@shop.example');
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  sink.clearFaults();
});

const send = (call = fakeCall()) => bySes(deployedSes())(email, call);

describe('a message by SES', () => {
  it('is taken, with the correlation id in a header', async () => {
    const call = fakeCall();
    const { forward } = sendEmailTool(bySes(deployedSes()));
    const sent = (await forward(email, call)) as { messageId: string };
    expect(sink.messages().at(-1)).toEqual({
      seq: expect.any(Number) as number,
      at: expect.any(Number) as number,
      from: 'refunds@shop.example',
      to: [email.to],
      subject: email.subject,
      body: email.text,
      correlationId: call.correlationId,
      messageId: sent.messageId,
    });
    expect(sink.records().calls.at(-1)).toMatchObject({ outcome: 'accepted', fault: null });
  });

  it.each([
    ['refuse_recipient', 'terminal_compensate', 'MessageRejected', 0, 'refused'],
    ['temporary_refusal', 'retryable', 'TooManyRequestsException', 0, 'deferred'],
    ['drop_before_data', 'ambiguous', expect.any(String), 0, 'dropped'],
    ['drop_after_data', 'ambiguous', expect.any(String), 1, 'accepted_unanswered'],
  ] as const)('%s: %s', async (fault, failure, code, taken, outcome) => {
    const before = sink.messages().length;
    sink.fault({ fault, match: { to: email.to, correlationId: `m-${fault}` } });
    const call = fakeCall({ correlationId: `m-${fault}` });
    expect(await failureOf(send(call))).toMatchObject({ failure, code });
    expect(sink.messages()).toHaveLength(before + taken);
    expect(sink.records().calls.at(-1)).toMatchObject({ outcome, fault });
  });

  it('an answer that does not come in time is a question', async () => {
    sink.fault({ fault: 'slow', delayMs: 1_000 });
    const failure = await failureOf(send(fakeCall({ timeoutMs: 200 })));
    expect(failure).toMatchObject({ failure: 'ambiguous', code: 'timeout' });
    while (sink.records().calls.at(-1)?.fault !== 'slow') {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(sink.records().calls.at(-1)).toMatchObject({ outcome: 'accepted_unanswered' });
  });

  it('nobody at the address is retryable: nothing was sent', async () => {
    const gone = await startMailSink();
    vi.stubEnv('AWS_ENDPOINT_URL_SESV2', gone.sesUrl);
    await gone.stop();
    expect(await failureOf(send())).toMatchObject({ failure: 'retryable', code: 'econnrefused' });
  });

  it('without a signature is refused by the sink as by SES', async () => {
    const unsigned = bySes({ ...deployedSes(), send: fetch });
    expect(await failureOf(unsigned(email, fakeCall()))).toMatchObject({
      failure: 'terminal_hold',
      code: 'MissingAuthenticationTokenException',
    });
  });
});

describe('what SES answers', () => {
  /** SES with one answer. */
  function answering(status: number, body: string, type?: string) {
    const headers = type === undefined ? {} : { 'x-amzn-errortype': type };
    const only: Send = async () => new Response(body, { status, headers });
    return bySes({ sesUrl: 'https://ses.example', from: 'a@shop.example', send: only });
  }

  it.each([
    // Not sent, and never will be.
    [400, 'MessageRejected', 'terminal_compensate'],
    [400, 'MailFromDomainNotVerifiedException', 'terminal_compensate'],
    [400, 'BadRequestException', 'terminal_compensate'],
    [404, 'NotFoundException', 'terminal_compensate'],
    // Not sent yet: too fast, or the day's quota is used up.
    [429, 'TooManyRequestsException', 'retryable'],
    [400, 'ThrottlingException', 'retryable'],
    [400, 'LimitExceededException', 'retryable'],
    // Not sent for anybody, until a person mends it.
    [400, 'AccountSuspendedException', 'terminal_hold'],
    [400, 'SendingPausedException', 'terminal_hold'],
    [403, 'AccessDeniedException', 'terminal_hold'],
    [403, 'SignatureDoesNotMatch', 'terminal_hold'],
    [403, 'ExpiredTokenException', 'terminal_hold'],
    // Nobody knows.
    [500, 'InternalServiceErrorException', 'ambiguous'],
    [503, 'ServiceUnavailable', 'ambiguous'],
    [408, 'RequestTimeoutException', 'ambiguous'],
  ])('%i %s: %s', async (status, type, failure) => {
    const failed = await failureOf(answering(status, '{}', type)(email, fakeCall()));
    expect(failed).toMatchObject({ failure, code: type });
    const inBody = answering(status, JSON.stringify({ __type: `com.amazon#${type}` }));
    expect(await failureOf(inBody(email, fakeCall()))).toMatchObject({ failure, code: type });
    const withAddress = answering(status, '{}', `${type}:http://internal.amazon.com/`);
    expect(await failureOf(withAddress(email, fakeCall()))).toMatchObject({ failure, code: type });
  });

  it.each([
    [502, '<html>', 'ambiguous'],
    [200, '<html>', 'ambiguous'],
    [200, '{}', 'ambiguous'],
  ])('%i with "%s" from whoever stands in between: %s', async (status, body, failure) => {
    expect(await failureOf(answering(status, body)(email, fakeCall()))).toMatchObject({ failure });
  });

  it('keeps the recipient out of what is recorded', async () => {
    const words = `Email address is not verified: ${email.to}`;
    const failed = await failureOf(
      answering(400, JSON.stringify({ message: words }), 'MessageRejected')(email, fakeCall()),
    );
    expect(String(failed.message)).not.toContain(email.to);
  });
});

/** What one request looked like on the wire. */
async function sentBy(act: () => Promise<unknown>): Promise<Request> {
  const requests: Request[] = [];
  vi.stubGlobal('fetch', async (request: Request) => {
    requests.push(request.clone());
    return Response.json({ MessageId: 'one' });
  });
  await act();
  const [request] = requests;
  if (request === undefined || requests.length > 1) throw new Error(`${requests.length} requests`);
  return request;
}

describe('the signature', () => {
  it('is SES’s own, of this region and session, and covers the body', async () => {
    vi.stubEnv('AWS_ENDPOINT_URL_SESV2', '');
    const request = await sentBy(() => send());
    expect(request.url).toBe('https://email.eu-central-1.amazonaws.com/v2/email/outbound-emails');
    expect(request.headers.get('x-amz-security-token')).toBe('a-session');
    const authorization = request.headers.get('authorization') ?? '';
    expect(authorization).toMatch(/Credential=AKIDEXAMPLE\/\d{8}\/eu-central-1\/ses\/aws4_request/);
    expect(authorization).toMatch(/SignedHeaders=\S*host;\S*x-amz-date;\S*x-amz-security-token/);
    expect(authorization).toContain(`Signature=${await signatureOf(request, SECRET)}`);
  });

  it('goes to the partners only where they stand behind an API that asks for it', async () => {
    vi.stubEnv('PARTNERS_URL', 'https://partners.example.com');
    expect(deployedPartners()).toEqual({ partnersUrl: 'https://partners.example.com' });
    vi.stubEnv('PARTNERS_AUTH', 'iam');
    const { send: signed } = deployedPartners();
    const path = 'https://partners.example.com/erp/credit-notes?correlationId=c%2F1&action=create';
    const request = await sentBy(async () => signed?.(path, { method: 'GET' }));
    expect(request.headers.get('authorization')).toMatch(
      /\/eu-central-1\/execute-api\/aws4_request/,
    );
    expect(request.headers.get('authorization')).toContain(await signatureOf(request, SECRET));
  });

  it('of a function without region, keys or sender is missed at its start', () => {
    for (const name of ['MAIL_FROM', 'AWS_SECRET_ACCESS_KEY', 'AWS_REGION']) {
      vi.stubEnv(name, '');
      expect(() => deployedSes()).toThrow(`${name} is not set`);
      vi.stubEnv(name, 'anything');
    }
  });
});
