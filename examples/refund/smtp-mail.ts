import { ambiguous, type Call, refused, retryable } from 'counterstep/lambda';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { Deliver, Email } from './email.ts';
import { mimeText } from './mime-text.ts';

const FROM = 'refunds@shop.example';

const NEVER_CONNECTED = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'EDNS'];

/**
 * By way of a mail server that speaks plain SMTP, such as the sink of these examples.
 * @param smtpUrl `smtp://host:port`
 */
export function bySmtp(smtpUrl: string): Deliver {
  return (email, call) => deliver(smtpUrl, email, call);
}

/**
 * Hands one message to the mail server and answers its `Message-ID`.
 * The connection serves this message only: a pool would hold its process open.
 */
async function deliver(smtpUrl: string, email: Email, call: Call): Promise<string> {
  const { hostname, port } = new URL(smtpUrl);
  const leftMs = Math.max(1, call.deadlineAt - Date.now());
  // Stable over attempts, so that a reader with two copies can at least see that they are one.
  const messageId = `<${call.correlationId}@shop.example>`;
  const text = mimeText(
    {
      From: FROM,
      To: email.to,
      Subject: email.subject,
      'Message-ID': messageId,
      Date: new Date().toUTCString().replace('GMT', '+0000'),
      'X-Correlation-Id': call.correlationId,
    },
    email.text,
  );
  // The connection alone: all of nodemailer would be most of the function's bundle.
  const connection = new SMTPConnection({
    host: hostname,
    port: Number(port || 25),
    // The sink speaks plain SMTP on this machine. Anything else deserves TLS.
    secure: false,
    ignoreTLS: true,
    connectionTimeout: leftMs,
    greetingTimeout: leftMs,
    socketTimeout: leftMs,
  });
  const sending = send(connection, email.to, text);
  try {
    await Promise.race([sending, aborted(call.signal)]);
    return messageId;
  } catch (error) {
    sending.catch(() => {});
    throw classified(error, call);
  } finally {
    connection.close();
  }
}

function send(connection: SMTPConnection, to: string, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    connection.once('error', reject);
    connection.once('end', () => reject(new Error('the server closed the connection')));
    connection.connect((failed) => {
      if (failed) return reject(failed);
      connection.send({ from: FROM, to: [to] }, text, (error) => {
        if (error) return reject(error);
        connection.quit();
        resolve();
      });
    });
  });
}

function classified(error: unknown, call: Call): Error {
  const responseCode = memberOf(error, 'responseCode');
  // A reply is clear, whatever it follows: 4yz is "not now", 5yz is "never" (RFC 5321, 4.2.1).
  if (typeof responseCode === 'number' && responseCode >= 500) {
    return refused(`smtp_${responseCode}`, 'the mail server refuses the message for good', error);
  }
  if (typeof responseCode === 'number' && responseCode >= 400) {
    const message = 'the mail server cannot take the message now';
    return retryable(`smtp_${responseCode}`, message, { cause: error });
  }
  // nodemailer keeps the network's own code under `originalCode`.
  const code = memberOf(error, 'originalCode') ?? memberOf(error, 'code');
  const label = typeof code === 'string' ? code.toLowerCase() : 'smtp';
  if (typeof code === 'string' && NEVER_CONNECTED.includes(code)) {
    return retryable(label, 'the mail server could not be reached', { cause: error });
  }
  if (call.signal.aborted) return ambiguous('timeout', 'no answer in time', error);
  // A lost connection is reported as command `CONN` whether or not the message was on its way, so
  // the stage proves nothing.
  return ambiguous(label, 'the connection was lost before the server answered', error);
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as Record<string, unknown>)[name];
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const give = (): void => reject(signal.reason as Error);
    if (signal.aborted) give();
    else signal.addEventListener('abort', give, { once: true });
  });
}
