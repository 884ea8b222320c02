import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAdaptorServer, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { type Context, Hono } from 'hono';
import * as z from 'zod/mini';
import type { Face } from './face.ts';
import type { Mailbox, MailCall, MailFaultRequest, MailMessage } from './mailbox.ts';

/** Of SES's `SendEmail` (API version 2), the part that a plain message needs. */
const sendEmail = z.object({
  FromEmailAddress: z.string(),
  Destination: z.object({ ToAddresses: z.array(z.string()) }),
  Content: z.object({
    Simple: z.object({
      Subject: z.object({ Data: z.string() }),
      Body: z.object({ Text: z.object({ Data: z.string() }) }),
      Headers: z._default(z.array(z.object({ Name: z.string(), Value: z.string() })), []),
    }),
  }),
});

type SesContext = Context<{ Bindings: HttpBindings }>;

/** The mailbox as SES, on this machine: one call of its API, with SES's own names for errors. */
export async function openSes(mailbox: Mailbox, port: number): Promise<Face> {
  const app = new Hono<{ Bindings: HttpBindings }>();
  app.post('/v2/email/outbound-emails', async (c) => {
    // Nobody's keys are known here, so the signature is asked for and not checked.
    if (!/^AWS4-HMAC-SHA256 .*\/ses\/aws4_request/.test(c.req.header('authorization') ?? '')) {
      return failure(403, 'MissingAuthenticationTokenException');
    }
    const parsed = sendEmail.safeParse(await c.req.json().catch(() => null));
    if (!parsed.success) return failure(400, 'BadRequestException');
    return receive(mailbox, c, messageOf(parsed.data));
  });
  const server = createAdaptorServer({ fetch: app.fetch, hostname: '127.0.0.1' });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    stop: async () => {
      const closed = once(server, 'close');
      server.close();
      if ('closeAllConnections' in server) server.closeAllConnections();
      await closed;
    },
  };
}

type Incoming = Omit<MailMessage, 'seq' | 'at' | 'messageId'>;

function messageOf({ FromEmailAddress, Destination, Content }: z.output<typeof sendEmail>) {
  const { Subject, Body, Headers } = Content.Simple;
  const correlation = Headers.find(({ Name }) => Name.toLowerCase() === 'x-correlation-id');
  return {
    from: FromEmailAddress,
    to: Destination.ToAddresses,
    subject: Subject.Data,
    correlationId: correlation?.Value ?? null,
    body: Body.Text.Data,
  };
}

async function receive(mailbox: Mailbox, c: SesContext, message: Incoming): Promise<Response> {
  const { from, to, correlationId } = message;
  const wanted = ({ match }: MailFaultRequest): boolean =>
    match?.correlationId === undefined || match.correlationId === correlationId;
  const fault = mailbox.take(to, wanted);
  const record = (outcome: MailCall['outcome'], taken: number | null): void =>
    mailbox.record({
      ...{ from, to, correlationId, outcome },
      ...{ fault: fault?.fault ?? null, message: taken },
    });
  const accept = (outcome: MailCall['outcome']): string => {
    const messageId = `ses-${mailbox.messages().length + 1}`;
    record(outcome, mailbox.accept({ ...message, messageId }).seq);
    return messageId;
  };
  switch (fault?.fault) {
    case 'refuse_recipient':
      record('refused', null);
      return failure(400, 'MessageRejected');
    case 'temporary_refusal':
      record('deferred', null);
      return failure(429, 'TooManyRequestsException');
    case 'drop_before_data':
      record('dropped', null);
      return cutOff(c);
    case 'drop_after_data':
      accept('accepted_unanswered');
      return cutOff(c);
    case 'slow': {
      await sleep(fault.delayMs ?? 2_500);
      const { destroyed } = c.env.incoming.socket;
      return taken(accept(destroyed ? 'accepted_unanswered' : 'accepted'));
    }
    case undefined:
      return taken(accept('accepted'));
  }
}

function taken(messageId: string): Response {
  return Response.json({ MessageId: messageId });
}

function failure(status: number, type: string): Response {
  const headers = { 'x-amzn-ErrorType': type };
  return Response.json({ message: 'The sink was told to say so.' }, { status, headers });
}

function cutOff(c: SesContext): Response {
  c.env.incoming.socket.destroy();
  return RESPONSE_ALREADY_SENT;
}
