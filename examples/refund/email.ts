import { ambiguous, type Call, refused, retryable } from 'counterstep/lambda';
import { createTransport } from 'nodemailer';

export interface Email {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

const FROM = 'refunds@shop.example';

const NEVER_CONNECTED = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'EDNS'];

/**
 * Hands one message to the mail server and answers its `Message-ID`.
 * The connection serves this message only: a pool would hold its process open.
 * @throws a classified failure
 */
export async function deliver(smtpUrl: string, email: Email, call: Call): Promise<string> {
  const { hostname, port } = new URL(smtpUrl);
  const leftMs = Math.max(1, call.deadlineAt - Date.now());
  const transport = createTransport({
    host: hostname,
    port: Number(port || 25),
    // The sink speaks plain SMTP on this machine. Anything else deserves TLS.
    secure: false,
    ignoreTLS: true,
    connectionTimeout: leftMs,
    greetingTimeout: leftMs,
    socketTimeout: leftMs,
  });
  // Stable over attempts, so that a reader with two copies can at least see that they are one.
  const messageId = `<${call.correlationId}@shop.example>`;
  const sending = transport.sendMail({
    from: FROM,
    to: email.to,
    subject: email.subject,
    text: email.text,
    messageId,
    headers: { 'X-Correlation-Id': call.correlationId },
  });
  try {
    await Promise.race([sending, aborted(call.signal)]);
    return messageId;
  } catch (error) {
    sending.catch(() => {});
    throw classified(error, call);
  } finally {
    transport.close();
  }
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
