import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { SMTPServer, type SMTPServerSession } from 'smtp-server';
import type { Face } from './face.ts';
import type { Mailbox, MailCall, MailFaultName, MailFaultRequest } from './mailbox.ts';

/** How a message is turned away. */
const REFUSALS = {
  refuse_recipient: { outcome: 'refused', responseCode: 550, reply: 'No such mailbox here' },
  temporary_refusal: { outcome: 'deferred', responseCode: 451, reply: 'Try again later' },
  drop_before_data: { outcome: 'dropped', responseCode: 421, reply: 'Closing' },
} as const;
type Refusal = keyof typeof REFUSALS;
const isRefusal = (fault: MailFaultName | undefined): fault is Refusal =>
  fault !== undefined && fault in REFUSALS;

/** The mailbox as an SMTP server on this machine. */
export async function openSmtp(mailbox: Mailbox, port: number): Promise<Face> {
  const sockets = new Map<number, Socket>();
  const drop = (session: SMTPServerSession): void => {
    sockets.get(session.remotePort)?.destroy();
  };
  const record = (
    session: SMTPServerSession,
    call: Pick<MailCall, 'outcome' | 'fault' | 'correlationId' | 'message' | 'to'>,
  ): void => {
    mailbox.record({ from: senderOf(session), ...call });
  };
  const turnAway = (
    session: SMTPServerSession,
    fault: Refusal,
    to: readonly string[],
    correlationId: string | null,
  ): Error => {
    const { outcome, responseCode, reply } = REFUSALS[fault];
    record(session, { outcome, fault, correlationId, message: null, to });
    if (fault === 'drop_before_data') drop(session);
    return Object.assign(new Error(reply), { responseCode });
  };

  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    closeTimeout: 100,
    onRcptTo({ address }, session, callback) {
      const early = mailbox.take(
        [address],
        ({ fault, match }) => isRefusal(fault) && match?.correlationId === undefined,
      )?.fault;
      callback(isRefusal(early) ? turnAway(session, early, [address], null) : null);
    },
    onData(stream, session, callback) {
      void receive(session, stream).then(
        (error) => callback(error),
        (error: Error) => callback(error),
      );
    },
  });
  server.on('error', () => {
    // Connections that were dropped on purpose end here; the records tell them.
  });
  server.server.on('connection', (socket: Socket) => {
    const { remotePort } = socket;
    if (remotePort === undefined) return;
    sockets.set(remotePort, socket);
    socket.once('close', () => sockets.delete(remotePort));
  });

  /** Answers the error to refuse the message with, or nothing where it was taken. */
  async function receive(
    session: SMTPServerSession,
    stream: NodeJS.ReadableStream,
  ): Promise<Error | null> {
    const { headers, body } = parse(await text(stream));
    const to = session.envelope.rcptTo.map(({ address }) => address);
    const correlationId = headers.get('x-correlation-id') ?? null;
    const wanted = ({ match }: MailFaultRequest): boolean =>
      match?.correlationId === undefined || match.correlationId === correlationId;
    const fault = mailbox.take(to, wanted);
    if (fault?.fault === 'slow') await sleep(fault.delayMs ?? 2_500);
    if (isRefusal(fault?.fault)) return turnAway(session, fault.fault, to, correlationId);
    const message = mailbox.accept({
      from: senderOf(session),
      to,
      subject: headers.get('subject') ?? '',
      messageId: headers.get('message-id') ?? '',
      correlationId,
      body,
    });
    const silent = fault?.fault === 'drop_after_data' || !sockets.has(session.remotePort);
    record(session, {
      outcome: silent ? 'accepted_unanswered' : 'accepted',
      fault: fault?.fault ?? null,
      correlationId,
      message: message.seq,
      to,
    });
    if (fault?.fault === 'drop_after_data') drop(session);
    return null;
  }

  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const address = server.server.address() as AddressInfo;
  return {
    port: address.port,
    stop: async () => {
      for (const socket of sockets.values()) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function senderOf(session: SMTPServerSession): string {
  const { mailFrom } = session.envelope;
  return mailFrom === false ? '' : mailFrom.address;
}

function parse(raw: string): { readonly headers: Map<string, string>; readonly body: string } {
  const end = raw.indexOf('\r\n\r\n');
  const head = end < 0 ? raw : raw.slice(0, end);
  const unfolded = head.replaceAll(/\r\n[ \t]+/g, ' ');
  const headers = new Map<string, string>();
  for (const line of unfolded.split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  return { headers, body: end < 0 ? '' : raw.slice(end + 4) };
}
